"""The Verilated transmitter behind its frame store, `hw/rtl/tx_stream.sv`: a detector's pixels in, packets out."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from framelane.base.errors import InputError
from framelane.driver.board.board import Board
from framelane.driver.registers.entries import FrameRing
from framelane.driver.simulated import ports
from framelane.driver.simulated.simulation import words
from framelane.driver.simulated.verilated_board import POINTER, U64, SimulatedBoard, board_design, give_credit
from framelane.models.jungfrau import jf_constants
from framelane.models.jungfrau.jf_fixed import FixedCalibration
from framelane.models.memory.frame_store import FrameInfo
from framelane.models.memory.image_writer import Correction
from framelane.models.placement.slots import FREE_RUNNING, SLOT_ALIGN
from framelane.models.tx import TxConfig

DESIGN = board_design("tx_stream", {"frame": (None, [POINTER, POINTER, U64])})


def lay_out(fixed: FixedCalibration, slots: int = 4) -> tuple[FrameRing, Correction]:
    """A memory from address 0 on: slots for raw and corrected images, then the constants."""
    image_bytes = fixed.pedestal[0].size * 2
    offset = -(-image_bytes // SLOT_ALIGN) * SLOT_ALIGN
    ring = FrameRing(0, 2 * offset, slots)
    return ring, Correction(fixed, offset, slots * ring.slot_bytes, jf_constants.needed_pitch(image_bytes))


class SimulatedStream(SimulatedBoard):
    """A simulated transmitter that takes pixels, as after power-up. Arguments: see `SimulatedBoard`."""

    def __init__(self, width: int = 512, **simulation: Any) -> None:
        super().__init__(DESIGN, width, **simulation)

    def frame(self, info: FrameInfo, image: NDArray[np.uint16]) -> None:
        """Queue a raw image, uint16 of any shape: the detector sends it, beat by beat, behind the one before.

        InputError where it has no pixels.
        """
        if not image.size:
            raise InputError(f"frame {info.number} has no pixels: a detector sends at least one")
        pixels = np.ascontiguousarray(image, "<u2")
        bits = words(ports.frame_info_t(info), ports.FRAME_INFO_T.width)
        self._act("frame", bits, pixels.ctypes.data, pixels.nbytes)


class TxStreamSimulator(SimulatedStream):
    """A simulated transmitter with its frame store at `ring`, configured through its registers and armed.

    With a `correction`, whose constants are put into its memory, frames are corrected on their way there. Every
    destination has credit up to `window_end`. The other arguments are those of `SimulatedStream`.
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
