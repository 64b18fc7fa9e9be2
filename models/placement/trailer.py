"""The trailer: 64 bytes that a source writes behind the last pixel of every frame (`docs/architecture.md`, Trailer)."""

import struct
from dataclasses import dataclass, fields
from operator import attrgetter

TRAILER_BYTES = 64
MAGIC = int.from_bytes(b"FLT1", "little")
VERSION = 1
_FORMAT = struct.Struct("<IHHIIQQQIIQQ")


@dataclass(frozen=True, slots=True)
class Trailer:
    """One frame of one source. `packets` and `payload_bytes` count the image without this trailer.

    `frame_number` is the destination's own; `frames_dropped` counts those that it did not get from this source since
    its reset: dropped for want of credit, refused, or lost before. `detector_frame` is the detector's own number.
    `time_flags` says what `timestamp_ns` is worth (`framelane.models.time.time_flags`): 0 where nobody knows.
    """

    source: int
    slot: int
    frame_number: int
    timestamp_ns: int
    bunch_id: int
    payload_bytes: int
    packets: int
    frames_dropped: int
    detector_frame: int = 0
    time_flags: int = 0

    def pack(self) -> bytes:
        """The 64 bytes, little endian."""
        return _FORMAT.pack(MAGIC, VERSION, self.source, self.slot, self.time_flags, *_counts(self))


_counts = attrgetter(*(field.name for field in fields(Trailer)[2:-1]))


def unpack(data: bytes) -> Trailer | None:
    """The trailer in 64 bytes of a slot, or None where none was written: wrong magic or version."""
    magic, version, source, slot, flags, number, time, bunch, size, packets, dropped, detector = _FORMAT.unpack(data)
    if (magic, version) != (MAGIC, VERSION):
        return None
    return Trailer(source, slot, number, time, bunch, size, packets, dropped, detector, flags)


def immediate(source: int, frame_number: int) -> int:
    """The 32-bit immediate of a trailer's packet: `source[31:24] | frame_number[23:0]`."""
    return (source & 0xFF) << 24 | frame_number & 0xFFFFFF


def split_immediate(imm: int) -> tuple[int, int]:
    """Invert `immediate`: the source and the low 24 bits of the frame number."""
    return imm >> 24, imm & 0xFFFFFF
