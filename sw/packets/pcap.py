"""Capture files in pcap format with Ethernet frames (https://www.ietf.org/archive/id/draft-ietf-opsawg-pcap-05.html)."""

import contextlib
import mmap
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Self

import numpy as np
from numpy.typing import NDArray

from framelane.base.claim import Kind
from framelane.base.documents import open_regular
from framelane.base.errors import InputError
from framelane.base.part_file import PartFile
from framelane.models.roce_tx.packet_batch import Batch
from framelane.packets._pcap_records import RECORD_BYTES, find_records

_FILE_HEADER = struct.Struct("=IHHiIII")
_HEADER_BYTES = 24
_MICROSECONDS, _NANOSECONDS, _PCAPNG = 0xA1B2C3D4, 0xA1B23C4D, 0x0A0D0D0A
_LINKTYPE_ETHERNET = 1
_MAX_FRAME_BYTES = 1 << 18
"""Longest packet of any capture (libpcap's MAXIMUM_SNAPLEN)."""
_RECORDS_AT_ONCE = 1 << 16
_AGAIN = "the capture is damaged, make it again"


def read(path: Path) -> Iterator[bytes]:
    """The packets of a capture: Ethernet frames. See `load`; nothing is copied before its turn."""
    return iter(load(path))


def load(path: Path) -> Batch:
    """All packets of a capture, either byte order, micro- or nanoseconds, where they lie in the file: Ethernet frames.

    The whole file is checked: InputError names it, and for a record that is cut off or impossible its number, counted
    from 1, and its byte offset.
    """
    try:
        with open_regular(path, "capture") as file:
            data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY)
    except OSError as error:
        raise InputError(f"cannot read the capture {path}: {error.strerror}") from error
    except ValueError as error:  # an empty file cannot be mapped
        raise InputError(f"{path} is empty: not a pcap capture") from error
    if len(data) < _HEADER_BYTES:
        raise InputError(f"{path} has {len(data)} bytes, too few for the header of a pcap capture")
    order = _byte_order(path, data[:4])
    linktype = struct.unpack_from(order + "I", data, 20)[0] & 0xFFFF
    if linktype != _LINKTYPE_ETHERNET:
        raise InputError(f"{path} holds packets of link type {linktype}: capture on an Ethernet interface (type 1)")
    memory = np.frombuffer(data, np.uint8)
    parts: list[NDArray[np.int64]] = []
    at, count = _HEADER_BYTES, 0
    while at < len(data):
        part = np.empty((2, _RECORDS_AT_ONCE), np.int64)
        found, at = find_records(memory, at, order == ">", _MAX_FRAME_BYTES, *part)
        parts.append(part[:, :found])
        count += found
        if found < _RECORDS_AT_ONCE and at < len(data):
            raise _damage(f"{path}: packet {count + 1} at byte offset {at}", data, at, struct.Struct(order + "8xII"))
    starts, sizes = np.concatenate(parts, axis=1) if parts else np.empty((2, 0), np.int64)
    return Batch(memory, starts, sizes)


def _damage(where: str, data: mmap.mmap, at: int, record: struct.Struct) -> InputError:
    """What is wrong with the record at `at`."""
    if at + RECORD_BYTES > len(data):
        return InputError(f"{where} is cut off in its header: {_AGAIN}")
    size, wire_size = record.unpack_from(data, at)
    if size > _MAX_FRAME_BYTES:
        return InputError(f"{where} announces {size} bytes: {_AGAIN}")
    if size < wire_size:
        return InputError(f"{where} is {size} bytes of {wire_size}: capture whole packets (tcpdump -s 0)")
    return InputError(f"{where} is cut off after {len(data) - at - RECORD_BYTES} of {size} bytes: {_AGAIN}")


def _byte_order(path: Path, magic: bytes) -> str:
    for order in "<>":
        (value,) = struct.unpack(order + "I", magic)
        if value in (_MICROSECONDS, _NANOSECONDS):
            return order
        if value == _PCAPNG:
            raise InputError(f"{path} is a pcapng capture: convert it with `editcap -F pcap {path} OUT.pcap`")
    raise InputError(f"{path} is not a pcap capture: it starts with {magic.hex()}")


def _is_capture(path: Path) -> bool:
    with path.open("rb") as file:
        magic = file.read(4)
    try:
        return bool(_byte_order(path, magic))
    except (InputError, struct.error):
        return False


_CAPTURE = Kind("a pcap capture", _is_capture)


class PcapWriter:
    """Write Ethernet frames to the capture `path`, with times in nanoseconds.

    It appears under its name when it is closed, whole; a `with` block that raises leaves nothing behind. An older
    capture is replaced only with `force`. InputError when the file cannot be made, or the disk takes not all of it.
    """

    def __init__(self, path: Path, *, force: bool = False) -> None:
        self._path = path
        self._part = PartFile(path, force=force, kind=_CAPTURE)
        self._file = self._part.path.open("wb")
        self._file.write(_FILE_HEADER.pack(_NANOSECONDS, 2, 4, 0, 0, _MAX_FRAME_BYTES, _LINKTYPE_ETHERNET))

    def write(self, frame: bytes, timestamp_ns: int = 0) -> None:
        """Append one frame; `timestamp_ns` since 1970."""
        seconds, nanoseconds = divmod(timestamp_ns, 10**9)
        try:
            self._file.write(struct.pack("=IIII", seconds, nanoseconds, len(frame), len(frame)) + frame)
        except OSError as error:
            raise self._failure(error) from error

    def close(self) -> None:
        """End the file and give it its name."""
        try:
            self._file.close()
            self._part.keep()
        except OSError as error:
            raise self._failure(error) from error

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, *error: object) -> None:
        try:
            if kind is None:
                self.close()
        finally:
            with contextlib.suppress(OSError):
                self._file.close()
            self._part.discard()

    def _failure(self, error: OSError) -> InputError:
        return InputError(f"cannot write {self._path}: {error.strerror}: make room there, or give another file")
