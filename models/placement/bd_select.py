"""Which frames a flow takes, and their number among those that it takes."""

from framelane.models.cells import serial
from framelane.models.placement.flow import Flow, FrameEvent


def select(flow: Flow, event: FrameEvent) -> int | None:
    """The index of the frame among those that the flow takes, None where it does not take it."""
    if flow.kind is not None and flow.kind != event.kind:
        return None
    number = event.number if flow.kind is None else event.kind_index
    if number < flow.first:
        return None
    periods, phase = serial.divide(number - flow.first, flow.period)
    if phase >= flow.burst:
        return None
    index = serial.scale(periods, flow.burst, phase)
    return index if not flow.count or index < flow.count else None
