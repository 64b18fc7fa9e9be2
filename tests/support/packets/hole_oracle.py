"""What must become of the frames in a capture, worked out from its bytes alone.

It shares no code with the receiver, the models or the writers of captures: offsets are those of the pcap format
(classic, microseconds or nanoseconds), IEEE 802.3, RFC 791, RFC 768 and InfiniBand vol. 1, 9 with annex A17; the ring,
its trailers and which frame is over are as docs/architecture.md and docs/decisions/host/0005 say. It knows what UC can
do to a session with enough slots: no frame is overwritten.
"""

import json
import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HOLE = b"\x00\x80"
FIRST, MIDDLE, LAST, LAST_IMM, ONLY, ONLY_IMM = range(0x26, 0x2C)


@dataclass(frozen=True)
class Fate:
    """A frame's fate ("complete", "incomplete" or "missing") and the image it must have, with 0x8000 in holes."""

    kind: str
    image: bytes


def records(capture: bytes) -> Iterator[bytes]:
    """The frames of a classic pcap file."""
    order = {b"\xd4\xc3\xb2\xa1": "<", b"\x4d\x3c\xb2\xa1": "<", b"\xa1\xb2\xc3\xd4": ">", b"\xa1\xb2\x3c\x4d": ">"}
    form = order[capture[:4]] + "IIII"
    at = 24
    while at < len(capture):
        size = struct.unpack_from(form, capture, at)[2]
        yield capture[at + 16 : at + 16 + size]
        at += 16 + size


def has_icrc(packet: bytes) -> bool:
    """Whether it ends with the CRC of annex A17.3.3: over ones for what changes on the way."""
    covered = bytearray(b"\xff" * 8 + packet[14:-4])
    for place in (1, 8, 10, 11, 26, 27, 32):
        covered[8 + place] = 0xFF
    return zlib.crc32(covered) == int.from_bytes(packet[-4:], "little")


class Oracle:
    """Follows the packets of one session, as `session.json` says it."""

    def __init__(self, session: Path) -> None:
        self._session: dict[str, Any] = json.loads(session.read_text())
        s = self._session
        self._image_bytes, self._slot_bytes = s["rows"] * s["columns"] * 2, s["slot_bytes"]
        self._memory = bytearray(HOLE * (s["n_slots"] * s["slot_bytes"] // 2))
        self._message: tuple[int, int, int] | None = None
        """The open message: where it goes on, how many bytes are to come, its next PSN."""
        self._over: int | None = None
        """PSN of the last trailer."""
        self._next = 0
        self._newest = [-1] * s["sources"]
        self._named: set[int] = set()
        """Open frames of which a trailer was told."""
        self.fates: list[Fate] = []

    def follow(self, capture: Path) -> list[Fate]:
        """The fates of all frames up to the last of which anything came."""
        for packet in records(capture.read_bytes()):
            self._take(packet)
        open_frames = range(self._next, self._next + self._session["n_slots"])
        written = [n for n in open_frames if n in self._named or (len(self._newest) == 1 and self._came(n))]
        self._close(max(written, default=-1) + 1)
        return self.fates

    def _take(self, packet: bytes) -> None:
        s = self._session
        if len(packet) < 58 or packet[12:14] != b"\x08\x00" or not has_icrc(packet):
            return
        opcode, flags, _, word, psn = struct.unpack_from(">BBHII", packet, 42)
        psn &= 0xFFFFFF
        if not FIRST <= opcode <= ONLY_IMM or word & 0xFFFFFF != s["qpn"]:
            return
        if s["sources"] == 1 and self._over is not None and not 0 < (psn - self._over) % (1 << 24) < 1 << 23:
            return
        at = 54
        if opcode in (FIRST, ONLY, ONLY_IMM):
            address, _, length = struct.unpack_from(">QII", packet, at)
            self._message, at = (address - s["base"], length, psn), at + 16
        if self._message is None or self._message[2] != psn:
            self._message = None
            return
        imm = None
        if opcode in (LAST_IMM, ONLY_IMM):
            (imm,), at = struct.unpack_from(">I", packet, at), at + 4
        payload = packet[at : len(packet) - 4 - (flags >> 4 & 3)]
        place, left, _ = self._message
        self._memory[place : place + len(payload)] = payload
        left -= len(payload)
        self._message = (place + len(payload), left, psn + 1 & 0xFFFFFF) if left else None
        if imm is not None:
            self._over = psn
            self._told(imm >> 24, imm & 0xFFFFFF)

    def _told(self, source: int, number: int) -> None:
        """A trailer has come. The frames that all sources have passed are over."""
        if number < self._next or self._trailer(number, source) != number:
            return
        assert number < self._next + self._session["n_slots"], "the ring is too small for this test"
        self._named.add(number)
        self._newest[source] = max(self._newest[source], number)
        self._close(min(self._newest) + 1)

    def _close(self, stop: int) -> None:
        while self._next < stop:
            number = self._next
            slot = number % self._session["n_slots"] * self._slot_bytes
            image = bytes(self._memory[slot : slot + self._image_bytes])
            trailers = [self._trailer(number, source) for source in range(len(self._newest))]
            whole = trailers == [number] * len(trailers) and HOLE not in _words(image)
            kind = "complete" if whole else "incomplete" if self._came(number) else "missing"
            self.fates.append(Fate(kind, image))
            self._memory[slot : slot + self._slot_bytes] = HOLE * (self._slot_bytes // 2)
            self._named.discard(number)
            self._next += 1

    def _came(self, number: int) -> bool:
        """Whether anything of it lies in its slot: beside the trailer of another frame, pixels are of that one."""
        trailers = [self._trailer(number, source) for source in range(len(self._newest))]
        if number in trailers:
            return True
        slot = number % self._session["n_slots"] * self._slot_bytes
        pixels = _words(bytes(self._memory[slot : slot + self._image_bytes]))
        return trailers == [None] * len(trailers) and set(pixels) != {HOLE}

    def _trailer(self, number: int, source: int) -> int | None:
        """The frame that the trailer at this place is of, if one is there."""
        slot = number % self._session["n_slots"]
        place = (slot + 1) * self._slot_bytes - 64 * (len(self._newest) - source)
        magic, version, of, where, _, frame = struct.unpack_from("<4sHHIIQ", self._memory, place)
        return frame if (magic, version, of, where) == (b"FLT1", 1, source, slot) else None


def _words(data: bytes) -> list[bytes]:
    return [data[at : at + 2] for at in range(0, len(data), 2)]
