"""The stream from `bd_place` to `bd_rows`: its packed struct, made of what the models say."""

from framelane.driver.simulated.ports import PLACED_T, TRAILER_T
from framelane.models.placement.bd_place import Placed
from framelane.models.placement.flow import Flow, FrameEvent


def placed_t(placed: Placed, flow: Flow, event: FrameEvent) -> int:
    """The frame `event` of `flow` at its place, as the port has it."""
    trailer = {
        **{"detector_frame": event.number, "frames_dropped": placed.frames_dropped, "packets": 0},
        **{"payload_bytes": flow.payload_bytes, "bunch_id": event.bunch_id, "timestamp_ns": event.timestamp_ns},
        **{"time_flags": event.time_flags, "frame_number": placed.number, "slot": placed.slot, "source": flow.source},
    }
    return PLACED_T.pack(
        {
            **{"over": 0, "destination_index": placed.destination_index, "qp": placed.destination.qp},
            **{"max_length": flow.max_length, "rows": placed.rows, "row_bytes": placed.row_bytes},
            **{"source_pitch": flow.source_pitch, "destination_pitch": flow.destination_pitch},
            **{"source": placed.source, "destination": placed.address, "trailer_at": placed.trailer_at},
            "trailer": TRAILER_T.pack(trailer),
        }
    )
