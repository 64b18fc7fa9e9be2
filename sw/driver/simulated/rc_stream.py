"""The transmitter with RC, which finds its frames in memory, as one that takes them from a detector."""

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from framelane.driver.board.lonely_board import LonelyBoard
from framelane.driver.simulated.verilated_rc import SLOW_HZ
from framelane.models.memory.frame_store import FrameInfo
from framelane.models.placement.flow import FrameEvent
from framelane.models.placement.slots import SLOT_ALIGN

SLOTS = 16
"""Frames that wait in its memory, from address 0 on."""


class SimulatedRcStream(LonelyBoard):
    """A simulated transmitter with RC and `SLOTS` frames of memory, of a slow clock (`SLOW_HZ`): for short time-outs.

    A frame that finds no slot free is `lost`, whole: here the software is the frame store. Who is at the other end
    answers nothing but packets of RC, which are brought by `hear`.
    """

    def __init__(self, width: int = 512, **simulation: Any) -> None:
        super().__init__(width, clock_hz=SLOW_HZ, **simulation)
        self.lost = 0
        self._offered = 0

    def frame(self, info: FrameInfo, image: NDArray[np.uint16]) -> None:
        """Put a raw image into memory, uint16 of any shape, the same in all frames, and queue it."""
        if self._offered - self.released >= SLOTS:
            self.lost += 1
            return
        address = self._offered % SLOTS * -(-image.nbytes // SLOT_ALIGN) * SLOT_ALIGN
        self.write_memory(address, np.ascontiguousarray(image, "<u2"))
        self.offer(FrameEvent(info.number, info.timestamp_ns, info.bunch_id, address, info.kind, info.number))
        self._offered += 1

    def hear(self, frames: Iterable[bytes]) -> None:
        """Ethernet frames without FCS have come."""
        for frame in frames:
            self.receive(frame)
