"""What is sent for packets that were placed: one WRITE each, and of a frame that is over its mask and its trailer."""

import struct
from collections.abc import Iterator
from dataclasses import dataclass

from framelane.models.detector.det_place import End, Item, Kind, Target
from framelane.models.placement.slots import HOLE_WORD
from framelane.models.placement.trailer import TRAILER_BYTES, Trailer, immediate

MASK_BYTES = 64
MASK_MAGIC = int.from_bytes(b"FLM1", "little")
_MASK = struct.Struct("<IHHHHHHQQ32s")


@dataclass(frozen=True, slots=True)
class Write:
    """One WRITE; with `bad` its payload ends in a poisoned packet. `imm` is None without an immediate."""

    address: int
    payload: bytes
    imm: int | None = None
    bad: bool = False


def mask_record(end: End, first_source: int) -> bytes:
    """The 64 bytes that say which packets of a module's frame have been placed."""
    source, mask = first_source + end.module_number & 0xFF, end.mask.to_bytes(32, "little")
    numbers = end.frame_number, end.detector_frame
    return _MASK.pack(MASK_MAGIC, 1, source, end.slot, 0, end.packets, 0, *numbers, mask)


def end_trailer(end: End, first_source: int, module_bytes: int) -> Trailer:
    """The trailer of a module's frame: the module is the source, a packet one of the detector's."""
    return Trailer(
        source=first_source + end.module_number & 0xFF,
        slot=end.slot,
        frame_number=end.frame_number,
        timestamp_ns=end.timestamp_ns,
        bunch_id=end.bunch_id,
        payload_bytes=module_bytes,
        packets=end.packets,
        frames_dropped=end.frames_dropped,
        detector_frame=end.detector_frame,
    )


def writes(
    item: Item, pixels: bytes, bad: bool, target: Target, packet_bytes: int, module_bytes: int
) -> Iterator[Write]:
    """What is sent for an item of a packet with these `pixels`, which was `bad` where it was not whole."""
    if item.kind is Kind.PIXELS:
        yield Write(item.address, pixels, bad=bad)
    elif item.kind is Kind.HOLES:
        yield Write(item.address, HOLE_WORD.to_bytes(2, "little") * (packet_bytes // 2))
    elif item.end:
        end = item.end
        yield Write(
            item.address + target.mask_offset + MASK_BYTES * end.module_number, mask_record(end, target.first_source)
        )
        trailer = end_trailer(end, target.first_source, module_bytes)
        yield Write(
            item.address + target.trailer_offset + TRAILER_BYTES * end.module_number,
            trailer.pack(),
            immediate(trailer.source, end.frame_number),
        )
