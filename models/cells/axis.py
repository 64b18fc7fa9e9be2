"""AXI4-Stream beats of any width (design: `docs/architecture.md`, Streams; AMBA IHI 0051).

Byte 0 of a packet is lane 0 (bits 7:0) of its first beat; `keep` is contiguous from lane 0, and full except on the last
beat.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from framelane.base.errors import InputError


@dataclass(frozen=True, slots=True)
class Beat:
    """One transfer: `data` (width bits, disabled lanes 0), `keep` (one bit a lane), `last`."""

    data: int
    keep: int
    last: bool


def beats(packet: bytes, width: int) -> Iterator[Beat]:
    """Yield the beats of `packet` (at least 1 byte) on a bus of `width` bits (a multiple of 8)."""
    lanes = width // 8
    if not packet or width % 8:
        raise InputError(f"cannot lay {len(packet)} bytes on a bus of {width} bits: need 1 byte and whole lanes")
    for start in range(0, len(packet), lanes):
        part = packet[start : start + lanes]
        yield Beat(int.from_bytes(part, "little"), (1 << len(part)) - 1, start + lanes >= len(packet))


def n_beats(length: int, width: int) -> int:
    """Number of beats of `length` bytes on a bus of `width` bits."""
    return -(-length * 8 // width)


def packets(stream: Iterable[Beat], width: int) -> Iterator[bytes]:
    """Invert `beats`: yield the packets of `stream`; raise InputError where a beat breaks the stream's contract."""
    lanes = width // 8
    full = (1 << lanes) - 1
    buffer = bytearray()
    for index, beat in enumerate(stream):
        size = beat.keep.bit_length()
        if beat.keep != (1 << size) - 1 or not size or (beat.keep != full and not beat.last):
            raise InputError(f"beat {index}: tkeep {beat.keep:#x} has holes, is empty, or is partial before tlast")
        buffer += beat.data.to_bytes(lanes, "little")[:size]
        if beat.last:
            yield bytes(buffer)
            buffer.clear()
    if buffer:
        raise InputError(f"the stream ends inside a packet, after {len(buffer)} of its bytes")
