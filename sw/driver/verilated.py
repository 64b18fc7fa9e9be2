"""The Verilated transmitter as a board: `hw/rtl/tx.sv` compiled by Verilator and driven from Python, no hardware."""

import ctypes
from typing import Any

import numpy as np
from numpy.typing import NDArray

from framelane.driver import ports
from framelane.driver.board import Board
from framelane.driver.board_readings import Counters
from framelane.driver.library import Design
from framelane.driver.registers import check_access
from framelane.driver.simulation import Simulation, split, stall_share, words
from framelane.models.errors import BoardError, SimulationError
from framelane.models.flow import FrameEvent
from framelane.models.slots import FREE_RUNNING
from framelane.models.tx import TxConfig

_U8, _U32, _U64, _POINTER = ctypes.c_uint8, ctypes.c_uint32, ctypes.c_uint64, ctypes.c_void_p

DESIGN = Design(
    "tx",
    "tx_board",
    ("board.cpp", "tx_library.cpp"),
    {
        "tx_select": (None, []),
        "tx_reset": (None, []),
        "tx_write": (ctypes.c_bool, [_U32, _U32]),
        "tx_read": (ctypes.c_bool, [_U32, _POINTER]),
        "tx_offer": (None, [_POINTER]),
        "tx_run": (ctypes.c_bool, [_U64]),
        "tx_step": (None, [_U64]),
        "tx_released": (_U64, []),
        "board_configure": (None, [_U32, _U8, _U8, _U64]),
        "board_write": (None, [_U64, _POINTER, _U64]),
        "board_packet_count": (_U64, []),
        "board_packet_bytes": (_U64, []),
        "board_take": (None, [_POINTER, _POINTER]),
        "board_last_activity": (_U64, []),
        "board_cycle": (_U64, []),
    },
)
MAP_BYTES = 1 << 16
_READY = 300
"""Cycles from power-up until the counters are cleared."""


class SimulatedRegisters(Simulation):
    """One simulated transmitter as after power-up, with its registers (see `Registers`) and its frame memory.

    `latency` of the memory in cycles; `memory_stall` and `sink_stall` are the shares of cycles (0..1) in which each
    side pauses, drawn with `seed`. The clock runs in an access, in `run` and in `step`, and stands still between. Not
    for use by several threads at once.
    """

    def __init__(
        self,
        width: int = 512,
        *,
        latency: int = 0,
        memory_stall: float = 0.0,
        sink_stall: float = 0.0,
        seed: int = 1,
    ) -> None:
        stalls = stall_share(memory_stall), stall_share(sink_stall)
        super().__init__(DESIGN, width)
        self._patience = 100_000 + 2 * latency
        self.cycles = 0
        """Clock cycles from the first frame's offer to the last beat, summed over the runs."""
        self._call("board_configure", latency, *stalls, seed)
        self._call("tx_reset")
        self._call("tx_step", _READY)

    def _call(self, function: str, *arguments: Any) -> Any:
        super()._call("tx_select")
        return super()._call(function, *arguments)

    def read(self, offset: int) -> int:
        """The register at byte `offset`."""
        check_access(offset, MAP_BYTES)
        value = ctypes.c_uint32()
        if not self._call("tx_read", offset, ctypes.addressof(value)):
            raise BoardError(f"the simulated transmitter does not answer a read of {offset:#x}")
        return value.value

    def write(self, offset: int, value: int) -> None:
        """Write the register at byte `offset`."""
        check_access(offset, MAP_BYTES, value)
        if not self._call("tx_write", offset, value):
            raise BoardError(f"the simulated transmitter does not answer a write to {offset:#x}")

    def write_memory(self, address: int, data: NDArray[Any] | bytes) -> None:
        """Put `data` (any dtype, C order, little endian) at `address` of the frame memory, which grows as needed."""
        array = np.ascontiguousarray(np.frombuffer(data, np.uint8) if isinstance(data, bytes) else data)
        self._call("board_write", address, array.ctypes.data, array.nbytes)

    def offer(self, event: FrameEvent) -> None:
        """Queue a frame that lies in the frame memory."""
        self._call("tx_offer", words(ports.frame_t(event), ports.FRAME_T.width))

    def run(self) -> list[bytes]:
        """Run until all offered frames are sent or dropped; the packets that left, as Ethernet frames without FCS.

        Raises SimulationError where work is left and nothing moves any more.
        """
        start = self._call("board_cycle")
        if not self._call("tx_run", self._patience):
            raise SimulationError(f"the transmitter is stuck: nothing moved for {self._patience} cycles")
        self.cycles += max(0, self._call("board_last_activity") - start)
        return self.take()

    def step(self, cycles: int) -> None:
        """Run for some clock cycles, whatever is under way."""
        self._call("tx_step", cycles)

    def take(self) -> list[bytes]:
        """The packets that have left and were not taken before."""
        lengths = np.empty(self._call("board_packet_count"), np.uint32)
        data = np.empty(self._call("board_packet_bytes"), np.uint8)
        self._call("board_take", data.ctypes.data, lengths.ctypes.data)
        return split(data, lengths)

    @property
    def released(self) -> int:
        """Frames of which the memory is free again, since power-up."""
        count: int = self._call("tx_released")
        return count


class TxSimulator(SimulatedRegisters):
    """A simulated transmitter that is configured through its registers and armed; `board` drives it.

    Every destination has credit up to `window_end` (default: without limit), and may be given more
    (`Board.publish_credit`). The other arguments are those of `SimulatedRegisters`.
    """

    def __init__(
        self, config: TxConfig, width: int = 512, *, window_end: int = FREE_RUNNING, **surroundings: Any
    ) -> None:
        super().__init__(width, **surroundings)
        self.board = Board(self)
        self.board.configure(config)
        for destination in range(len(config.destinations)):
            self.board.publish_credit(destination, window_end)
        self.board.arm()

    def counters(self) -> Counters:
        """Read the counters."""
        return self.board.counters()
