"""The Verilated gateware, `hw/rtl/framelane_top.sv`: a detector's pixels in, packets at the MAC out, six clocks."""

from dataclasses import asdict, dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from framelane.base.errors import ConfigError, InputError
from framelane.driver.board.board import Board
from framelane.driver.registers.entries import FrameRing
from framelane.driver.simulated import ports
from framelane.driver.simulated.library import Design
from framelane.driver.simulated.simulation import words
from framelane.driver.simulated.verilated_board import POINTER, U64, board_design, give_credit
from framelane.driver.simulated.verilated_rc import LINKING, RC_AHEAD, RC_DEPTH, RC_QPS, LinkedBoard
from framelane.models.jungfrau import jf_constants
from framelane.models.jungfrau.jf_fixed import FixedCalibration
from framelane.models.memory.frame_store import FrameInfo
from framelane.models.memory.image_writer import Correction
from framelane.models.placement.slots import FREE_RUNNING, SLOT_ALIGN
from framelane.models.tx import TxConfig


def _design(**parameters: int) -> Design:
    return board_design(
        "framelane_top",
        LINKING | {"clocks": (None, [POINTER]), "frame": (None, [POINTER, POINTER, U64]), "gaps": (U64, [])},
        parameters={"RcQps": RC_QPS, "RcDepth": RC_DEPTH, "RcAhead": RC_AHEAD, **parameters},
    )


DESIGN, TIMED = _design(), _design(Time=1)
_SECOND_PS = 10**12


def lay_out(fixed: FixedCalibration, slots: int = 4) -> tuple[FrameRing, Correction]:
    """A memory from address 0 on: slots for raw and corrected images, then the constants."""
    image_bytes = fixed.pedestal[0].size * 2
    offset = -(-image_bytes // SLOT_ALIGN) * SLOT_ALIGN
    ring = FrameRing(0, 2 * offset, slots)
    return ring, Correction(fixed, offset, slots * ring.slot_bytes, jf_constants.needed_pitch(image_bytes))


@dataclass(frozen=True, slots=True, kw_only=True)
class Clocks:
    """Periods of the sides' clocks, in ps. The board's timers take the core's for one of 250 MHz, whatever it is."""

    core: int = 4000
    pixel: int = 5203
    memory: int = 4409
    register: int = 4703
    tx: int = 4211
    rx: int = 4217

    def __post_init__(self) -> None:
        """ConfigError for a clock that cannot be."""
        for name, period in asdict(self).items():
            if not 1 < period < _SECOND_PS:
                raise ConfigError(f"the clock {name} cannot have a period of {period} ps: give 2 to {_SECOND_PS - 1}")


class SimulatedTop(LinkedBoard):
    """The simulated gateware as after power-up, each side with its own clock, all pieces in it, its link down.

    Cycles are the core's. With `timed` it has a clock of TAI, of its own, simulated time. The other arguments are those
    of `SimulatedBoard`.
    """

    def __init__(self, width: int = 512, *, clocks: Clocks = Clocks(), timed: bool = False, **simulation: Any) -> None:
        self._clocks = clocks
        super().__init__(TIMED if timed else DESIGN, width, **simulation)

    def _power_up(self) -> None:
        self._act("clocks", (U64 * len(fields(Clocks)))(*asdict(self._clocks).values()))
        super()._power_up()

    @property
    def gaps(self) -> int:
        """Cycles in which the MAC has lacked a beat inside a packet."""
        count: int = self._act("gaps")
        return count

    def frame(self, info: FrameInfo, image: NDArray[np.uint16]) -> None:
        """Queue a raw image, uint16 of any shape: the detector sends it, beat by beat, behind the one before.

        InputError where it has no pixels.
        """
        if not image.size:
            raise InputError(f"frame {info.number} has no pixels: a detector sends at least one")
        pixels = np.ascontiguousarray(image, "<u2")
        bits = words(ports.frame_info_t(info), ports.FRAME_INFO_T.width)
        self._act("frame", bits, pixels.ctypes.data, pixels.nbytes)


class TopSimulator(SimulatedTop):
    """The simulated gateware with its frame store at `ring`, configured through its registers and armed.

    With a `correction`, whose constants are put into its memory, frames are corrected on their way there. Every
    destination has credit up to `window_end`. The other arguments are those of `SimulatedTop`.
    """

    def __init__(
        self,
        config: TxConfig,
        ring: FrameRing,
        correction: Correction | None = None,
        width: int = 512,
        *,
        window_end: int = FREE_RUNNING,
        **simulation: Any,
    ) -> None:
        super().__init__(width, **simulation)
        self.write_memory(ring.base + ring.slots * ring.slot_bytes - 1, bytes(1))  # now there is all of it
        if correction:
            self.write_memory(correction.base, jf_constants.pack(correction.fixed, correction.pitch))
        self.board = Board(self)
        self.board.configure(config, ring, correction)
        give_credit(self.board, config, window_end)
        self.board.arm()
