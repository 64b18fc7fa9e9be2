"""The Verilated transmitter over PCIe as a board, `hw/rtl/pcie_tx.sv`; its root complex writes into this process."""

import ctypes
from typing import Any

import numpy as np
from numpy.typing import NDArray

from framelane.base.errors import InputError
from framelane.driver.board.board import Board
from framelane.driver.board.network import Network
from framelane.driver.simulated import ports
from framelane.driver.simulated.pcie_host import PcieHost, host_design
from framelane.driver.simulated.simulation import words
from framelane.driver.simulated.verilated_board import POINTER, U8, U64, give_credit
from framelane.models.memory.frame_store import KINDS, FrameInfo
from framelane.models.placement.slots import SLOT_ALIGN
from framelane.models.tx import TxConfig

DESIGN = host_design("pcie_tx", {"offer": (None, [POINTER]), "packet": (None, [POINTER, U64, U8, ctypes.c_bool, U64])})
_PLACES = 4
"""Frames that its memory has at once."""


class PcieSimulator(PcieHost):
    """A simulated transmitter with two engines, whose frames lie in its memory; `board` drives what is not an engine.

    Its other arguments: `PcieHost`.
    """

    def __init__(self, width: int = 512, **simulation: Any) -> None:
        super().__init__(DESIGN, width, **simulation)
        self.board = Board(self)
        self._frames = [0] * KINDS

    def start(self, config: TxConfig, window_end: int) -> None:
        """Configure flows and destinations (see `over_pcie`), give them credit, and arm. The engine comes first."""
        self.board.configure(config, network=Network(unacknowledged=True))
        give_credit(self.board, config, window_end)
        self.board.arm()

    def frame(self, info: FrameInfo, image: NDArray[np.uint16]) -> None:
        """Put a raw image, uint16 of any shape, into its memory, not where the three before lie, and queue it."""
        address = sum(self._frames) % _PLACES * -(-image.nbytes // SLOT_ALIGN) * SLOT_ALIGN
        self.write_memory(address, image)
        before = self._frames[info.kind]
        self._frames[info.kind] += 1
        event = info.event(address, before)
        self._act("offer", words(ports.frame_t(event), ports.FRAME_T.width))

    def packet(self, data: bytes, engine: int = 0, *, bad: bool = False, gap: int = 0) -> None:
        """Queue a packet for an engine's posted buffers, `gap` clock cycles behind the one before.

        `bad`: its source calls it wrong. InputError where it has no bytes.
        """
        if not data:
            raise InputError("a packet of no bytes cannot be sent: give one at least")
        self._act("packet", np.frombuffer(data, np.uint8).ctypes.data, len(data), engine, bad, gap)
