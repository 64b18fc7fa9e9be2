"""Where a frame goes: its destination among those of the flow, its slot, its addresses; or why it is not sent."""

from collections.abc import Callable
from dataclasses import dataclass, field

from framelane.models.cells import serial
from framelane.models.placement.flow import Destination, Flow, FrameEvent, Refusal
from framelane.models.placement.trailer import TRAILER_BYTES


@dataclass(frozen=True, slots=True)
class Placed:
    """A rectangle with all its addresses: `rows` runs of `row_bytes`, one where they are contiguous on both sides.

    `number` is the destination's own, `detector_frame` that of the frame; `frames_dropped` those that this destination
    did not get before.
    """

    flow: Flow
    destination: Destination
    destination_index: int
    source: int
    address: int
    trailer_at: int
    rows: int
    row_bytes: int
    number: int
    slot: int
    frames_dropped: int


@dataclass(slots=True)
class _State:
    """What is known of one destination since the start: its next frame, and the frames that it did not get."""

    next: int = 0
    dropped: int = 0


@dataclass(slots=True)
class PlaceCounts:
    """Frames by flow and by destination; `skipped` are numbers that never came."""

    selected: dict[int, int] = field(default_factory=dict)
    refused: dict[int, int] = field(default_factory=dict)
    dropped: dict[int, int] = field(default_factory=dict)
    skipped: dict[int, int] = field(default_factory=dict)


def _add(counts: dict[int, int], key: int, amount: int = 1) -> None:
    if amount:
        counts[key] = counts.get(key, 0) + amount


def receiver(index: int, bunch: int, destinations: int) -> tuple[int, int]:
    """The destination, counted from the flow's first, and its own frame number, of the flow's frame `index`.

    Frames go round in bunches (`docs/architecture.md`, Credit).
    """
    bunches, within = serial.divide(index, bunch)
    rounds, place = serial.divide(bunches, destinations)
    return place, serial.scale(rounds, bunch, within)


Room = Callable[[int, int], bool]
"""Whether a QP has room for so many descriptors."""


def _always(qp: int, descriptors: int) -> bool:
    return True


class BdPlace:
    """`bd_place.sv`, frame by frame. `destinations` is their table, None an entry that is not enabled."""

    def __init__(self, destinations: tuple[Destination | None, ...]) -> None:
        self._destinations = destinations
        self._states = [_State() for _ in destinations]
        self.counts = PlaceCounts()
        self.refusals: list[tuple[Refusal, int, int, int]] = []
        """Reason, flow, destination, and number of the detector, of every refused frame."""

    def refuse(self, reason: Refusal, flow_id: int, destination: int, event: FrameEvent) -> None:
        """Count a frame that cannot be served."""
        _add(self.counts.refused, flow_id)
        self.refusals.append((reason, flow_id, destination, event.number))

    def place(
        self, flow: Flow, flow_id: int, index: int, event: FrameEvent, window_ends: list[int], room: Room = _always
    ) -> Placed | None:
        """Place the flow's frame `index`; None where it is dropped for want of credit or `room`, or refused."""
        _add(self.counts.selected, flow_id)
        place, number = receiver(index, flow.bunch, flow.destinations)
        entry = flow.first_destination + place
        known = self._destinations[entry] if entry < len(self._destinations) else None
        if known is None:
            self.refuse(Refusal.BAD_DESTINATION, flow_id, entry & 0xFF, event)
            return None
        state = self._states[entry]
        if number < state.next:
            self.refuse(Refusal.BACKWARDS, flow_id, entry, event)
            return None
        skipped = number - state.next
        _add(self.counts.skipped, entry, skipped)
        state.next = number + 1 & serial.MASK
        before = state.dropped + skipped
        state.dropped = before + 1  # of this frame, unless it is sent
        offset = serial.scale(flow.destination_pitch, flow.y1, flow.x1 * flow.pixel_bytes)
        end = serial.scale(flow.destination_pitch, flow.height - 1, offset + flow.row_bytes)
        if end > known.slot_bytes or known.trailer_offset + TRAILER_BYTES > known.slot_bytes:
            self.refuse(Refusal.OUTSIDE, flow_id, entry, event)
            return None
        if number >= window_ends[entry] or not room(known.qp, flow.descriptors):
            _add(self.counts.dropped, entry)
            return None
        state.dropped = before
        slot = number % known.n_slots
        at = serial.scale(known.slot_bytes, slot, known.base)
        rows, row_bytes = flow.runs
        first_pixel = event.address + flow.source_offset + flow.x0 * flow.pixel_bytes
        return Placed(
            flow=flow,
            destination=known,
            destination_index=entry,
            source=serial.scale(flow.source_pitch, flow.y0, first_pixel),
            address=at + offset & serial.MASK,
            trailer_at=at + known.trailer_offset & serial.MASK,
            rows=rows,
            row_bytes=row_bytes,
            number=number,
            slot=slot,
            frames_dropped=before,
        )
