"""Descriptors of frames: where every byte comes from and goes to, and which frames are not sent."""

from framelane.models.placement import bd_rows
from framelane.models.placement.bd_place import BdPlace
from framelane.models.placement.bd_rows import Descriptor
from framelane.models.placement.bd_select import select
from framelane.models.placement.flow import Destination, Flow, FrameEvent
from framelane.models.placement.slots import FREE_RUNNING
from framelane.models.placement.trailer import Trailer

Job = tuple[list[Descriptor], Trailer]
"""One frame for one destination: its descriptors, the last one the trailer's, and the trailer."""


class BdGen:
    """`bd_gen.sv`, frame by frame.

    `destinations` is their table and `mtus` the path MTU of each one's QP in bytes; `window_ends`, the credit of each,
    may be changed between frames. `flows` may have entries that are not enabled: None.
    """

    def __init__(
        self, flows: tuple[Flow | None, ...], destinations: tuple[Destination | None, ...], mtus: tuple[int, ...]
    ) -> None:
        self._flows = flows
        self._mtus = mtus
        self.placer = BdPlace(destinations)
        self.window_ends = [FREE_RUNNING] * len(destinations)
        self.frames = 0

    def frame(self, event: FrameEvent) -> list[Job]:
        """What is sent of one frame, flow after flow."""
        self.frames += 1
        jobs = []
        for flow_id, flow in enumerate(self._flows):
            index = select(flow, event) if flow else None
            if flow is None or index is None:
                continue
            placed = self.placer.place(flow, flow_id, index, event, self.window_ends)
            if placed:
                jobs.append(bd_rows.descriptors(placed, event, self._mtus[placed.destination_index]))
        return jobs
