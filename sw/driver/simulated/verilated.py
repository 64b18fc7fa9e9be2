"""The Verilated transmitter as a board: `hw/rtl/tx.sv` compiled by Verilator and driven from Python, no hardware."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from framelane.driver.board.board import Board
from framelane.driver.board.board_readings import Counters
from framelane.driver.board.network import Network
from framelane.driver.simulated import ports
from framelane.driver.simulated.library import Design, Signature
from framelane.driver.simulated.simulation import words
from framelane.driver.simulated.verilated_board import POINTER, U64, SimulatedBoard, board_design, give_credit
from framelane.models.memory.frame_store import KINDS, FrameInfo
from framelane.models.placement.flow import FrameEvent
from framelane.models.placement.slots import FREE_RUNNING, SLOT_ALIGN
from framelane.models.tx import TxConfig

OFFERING: dict[str, Signature] = {"offer": (None, [POINTER]), "released": (U64, [])}
"""C functions of a transmitter that finds its frames in memory."""

DESIGN = board_design("tx", OFFERING)


class SimulatedRegisters(SimulatedBoard):
    """A simulated transmitter that finds its frames in memory, as after power-up. Its arguments: `SimulatedBoard`."""

    def __init__(self, width: int = 512, *, design: Design = DESIGN, **simulation: Any) -> None:
        super().__init__(design, width, **simulation)

    def offer(self, event: FrameEvent) -> None:
        """Queue a frame that lies in the memory."""
        self._act("offer", words(ports.frame_t(event), ports.FRAME_T.width))

    @property
    def released(self) -> int:
        """Frames of which the memory is free again, since power-up."""
        count: int = self._act("released")
        return count


class TxSimulator(SimulatedRegisters):
    """A simulated transmitter that is configured through its registers and armed; `board` drives it.

    QPs of RC have their packets made, and nothing is sent again (`SimulatedRcBoard` does that).

    Every destination has credit up to `window_end` (default: without limit), and may be given more
    (`Board.publish_credit`). The other arguments are those of `SimulatedRegisters`.
    """

    def __init__(
        self, config: TxConfig, width: int = 512, *, window_end: int = FREE_RUNNING, **simulation: Any
    ) -> None:
        super().__init__(width, **simulation)
        self.board = Board(self)
        self.board.configure(config, network=Network(unacknowledged=True))
        give_credit(self.board, config, window_end)
        self.board.arm()
        self._frames = [0] * KINDS

    def frame(self, info: FrameInfo, image: NDArray[np.uint16]) -> None:
        """Put a raw image, uint16 of any shape, into memory, not where the one before lies, and queue it."""
        address = sum(self._frames) % 2 * -(-image.nbytes // SLOT_ALIGN) * SLOT_ALIGN
        self.write_memory(address, image)
        before = self._frames[info.kind]
        self._frames[info.kind] += 1
        self.offer(info.event(address, before))

    def counters(self) -> Counters:
        """Read the counters."""
        return self.board.counters()
