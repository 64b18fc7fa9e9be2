"""Rows to descriptors: one transfer a row, longer ones split, and the trailer's at the end."""

from dataclasses import dataclass

from framelane.models.cells import serial
from framelane.models.placement import trailer
from framelane.models.placement.bd_place import Placed
from framelane.models.placement.flow import FrameEvent
from framelane.models.placement.trailer import TRAILER_BYTES, Trailer


@dataclass(frozen=True, slots=True)
class Descriptor:
    """`bd_t`: one transfer. `last` ends a frame: it is the trailer, which carries `imm` and is not read from memory."""

    source: int
    destination: int
    length: int
    qp: int
    destination_index: int
    last: bool
    imm: int


def descriptors(placed: Placed, event: FrameEvent, mtu: int) -> tuple[list[Descriptor], Trailer]:
    """The descriptors of a placed frame, and its trailer; `mtu` is the path MTU of the destination's QP in bytes."""
    flow, destination = placed.flow, placed.destination
    found = []
    for row in range(placed.rows):
        source = placed.source + row * flow.source_pitch
        address = placed.address + row * flow.destination_pitch
        for done in range(0, placed.row_bytes, flow.max_length):
            length = min(flow.max_length, placed.row_bytes - done)
            at, to = source + done & serial.MASK, address + done & serial.MASK
            found.append(Descriptor(at, to, length, destination.qp, placed.destination_index, last=False, imm=0))
    end = Trailer(
        source=flow.source,
        slot=placed.slot,
        frame_number=placed.number,
        timestamp_ns=event.timestamp_ns,
        bunch_id=event.bunch_id,
        payload_bytes=flow.payload_bytes,
        packets=sum(-(-bd.length // mtu) for bd in found),
        frames_dropped=placed.frames_dropped,
        detector_frame=event.number,
        time_flags=event.time_flags,
    )
    imm = trailer.immediate(flow.source, placed.number)
    last = Descriptor(0, placed.trailer_at, TRAILER_BYTES, destination.qp, placed.destination_index, True, imm)
    return [*found, last], end
