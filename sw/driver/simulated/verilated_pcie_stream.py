"""The Verilated transmitter over PCIe behind its frame store, `hw/rtl/pcie_stream.sv`: a detector's pixels in."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from framelane.base.errors import InputError
from framelane.driver.board.board import Board
from framelane.driver.board.network import Network
from framelane.driver.registers.entries import FrameRing
from framelane.driver.simulated import ports
from framelane.driver.simulated.pcie_host import PcieHost, host_design
from framelane.driver.simulated.simulation import words
from framelane.driver.simulated.verilated_board import POINTER, U64, give_credit
from framelane.models.jungfrau import jf_constants
from framelane.models.memory.frame_store import FrameInfo
from framelane.models.memory.image_writer import Correction
from framelane.models.tx import TxConfig

DESIGN = host_design("pcie_stream", {"frame": (None, [POINTER, POINTER, U64])})


class PcieStreamSimulator(PcieHost):
    """A simulated transmitter with two engines and a frame store at `ring`; `board` drives what is not an engine.

    With a `correction`, whose constants are put into its memory, frames are corrected on their way there. Its other
    arguments: `PcieHost`.
    """

    def __init__(
        self, ring: FrameRing, correction: Correction | None = None, width: int = 512, **simulation: Any
    ) -> None:
        super().__init__(DESIGN, width, **simulation)
        self.write_memory(ring.base + ring.slots * ring.slot_bytes - 1, np.zeros(1, np.uint8))  # now there is all of it
        if correction:
            constants = jf_constants.pack(correction.fixed, correction.pitch)
            self.write_memory(correction.base, np.frombuffer(constants, np.uint8))
        self._ring, self._correction = ring, correction
        self.board = Board(self)

    def start(self, config: TxConfig, window_end: int) -> None:
        """Configure flows and destinations (see `over_pcie`), give them credit, and arm. The engine comes first."""
        self.board.configure(config, self._ring, self._correction, network=Network(unacknowledged=True))
        give_credit(self.board, config, window_end)
        self.board.arm()

    def frame(self, info: FrameInfo, image: NDArray[np.uint16]) -> None:
        """Queue a raw image, uint16 of any shape: the detector sends it, beat by beat, behind the one before.

        InputError where it has no pixels.
        """
        if not image.size:
            raise InputError(f"frame {info.number} has no pixels: a detector sends at least one")
        pixels = np.ascontiguousarray(image, "<u2")
        bits = words(ports.frame_info_t(info), ports.FRAME_INFO_T.width)
        self._act("frame", bits, pixels.ctypes.data, pixels.nbytes)
