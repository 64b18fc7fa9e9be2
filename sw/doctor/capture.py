"""Captures as they come from the field: pcap or pcapng, with times, cut-off packets and all.

`framelane.packets.pcap` is strict, so that a replay is whole. Here a capture that was stopped while it was written, or
made with a snap length, is still worth a diagnosis. Formats: draft-ietf-opsawg-pcap, draft-ietf-opsawg-pcapng.
"""

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from framelane.base.documents import open_regular
from framelane.base.errors import InputError

Captured = tuple[int, bytes, int]
"""Time in ns since 1970, the frame as far as it was captured, its bytes on the wire."""

_ETHERNET = 1
_LONGEST = 1 << 18
_PCAP = {0xA1B2C3D4: 1000, 0xA1B23C4D: 1}
"""Nanoseconds of a fraction's unit, by the magic number."""
_SECTION, _INTERFACE, _SIMPLE, _ENHANCED = 0x0A0D0D0A, 1, 3, 6
_BYTE_ORDER = 0x1A2B3C4D
_RESOLUTION_OPTION = 9
_LINK_ADVICE = {
    113: "it was made on `any`: capture on the one interface, so that the MAC addresses are there",
    276: "it was made on `any`: capture on the one interface, so that the MAC addresses are there",
    101: "it holds no Ethernet headers: capture on an Ethernet interface",
    247: "it was made on an InfiniBand link: RoCE needs an Ethernet one",
}


@dataclass(slots=True)
class Capture:
    """The packets of `data`, a whole file, up to where it is cut off. InputError where they are not of Ethernet.

    `unit_ns`: of the times of a pcap; 0 for a pcapng. `cut_at` is known when all packets were taken: the byte from
    which on nothing can be read, None for a file that is whole.
    """

    path: Path
    data: memoryview
    order: str
    unit_ns: int
    cut_at: int | None = None

    def __iter__(self) -> Iterator[Captured]:
        """From the first packet on."""
        self.cut_at = None
        return self._pcap() if self.unit_ns else self._pcapng()

    def _pcap(self) -> Iterator[Captured]:
        data = self.data
        record = struct.Struct(self.order + "IIII")
        at = 24
        while at + record.size <= len(data):
            seconds, fraction, size, wire_bytes = record.unpack_from(data, at)
            start, stop = at + record.size, at + record.size + size
            if size > _LONGEST:
                self.cut_at = at
                return
            if stop > len(data):
                break
            yield seconds * 10**9 + fraction * self.unit_ns, bytes(data[start:stop]), max(size, wire_bytes)
            at = stop
        self.cut_at = len(data) if at < len(data) else None

    def _pcapng(self) -> Iterator[Captured]:
        data = self.data
        order, units, at = "<", list[int](), 0
        while at + 12 <= len(data):
            kind = struct.unpack_from(order + "I", data, at)[0]
            if kind == _SECTION:
                order = "<" if struct.unpack_from("<I", data, at + 8)[0] == _BYTE_ORDER else ">"
                units = []
            size = struct.unpack_from(order + "I", data, at + 4)[0]
            if size < 12:
                self.cut_at = at
                return
            if at + size > len(data):
                break
            body = data[at + 8 : at + size - 4]
            at += size
            if kind == _INTERFACE and len(body) >= 8:
                _check_link(self.path, struct.unpack_from(order + "H", body)[0])
                units.append(_per_second(body[8:], order))
            elif kind == _ENHANCED and len(body) >= 20:
                interface, high, low, captured, wire_bytes = struct.unpack_from(order + "IIIII", body)
                if interface < len(units) and captured <= len(body) - 20:
                    time_ns = (high << 32 | low) * 10**9 // units[interface]
                    yield time_ns, bytes(body[20 : 20 + captured]), wire_bytes
            elif kind == _SIMPLE and len(body) >= 4:
                (wire_bytes,) = struct.unpack_from(order + "I", body)
                yield 0, bytes(body[4 : 4 + wire_bytes]), wire_bytes
        self.cut_at = len(data) if at < len(data) else None


def read(path: Path) -> Capture:
    """A capture. InputError for no capture, or not of Ethernet."""
    try:
        with open_regular(path, "capture") as file:
            data = memoryview(file.read())
    except OSError as error:
        raise InputError(f"cannot read the capture {path}: {error.strerror}") from error
    if len(data) < 24:
        raise InputError(f"{path} has {len(data)} bytes, too few for a capture")
    for order in "<>":
        magic = struct.unpack_from(order + "I", data)[0]
        if magic in _PCAP:
            _check_link(path, struct.unpack_from(order + "I", data, 20)[0] & 0xFFFF)
            return Capture(path, data, order, _PCAP[magic])
        if magic == _SECTION:
            return Capture(path, data, order, 0)
    raise InputError(f"{path} is not a pcap or pcapng capture: it starts with {bytes(data[:4]).hex()}")


def _per_second(options: memoryview, order: str) -> int:
    """Units of time in a second (option if_tsresol)."""
    at = 0
    while at + 4 <= len(options):
        code, size = struct.unpack_from(order + "HH", options, at)
        if code == _RESOLUTION_OPTION and size and at + 4 < len(options):
            value = options[at + 4]
            return int((2 if value & 0x80 else 10) ** (value & 0x7F))
        at += 4 + (size + 3 & ~3)
    return 10**6


def _check_link(path: Path, link: int) -> None:
    if link != _ETHERNET:
        advice = _LINK_ADVICE.get(link, "capture on an Ethernet interface (type 1)")
        raise InputError(f"{path} holds packets of link type {link}: {advice}")
