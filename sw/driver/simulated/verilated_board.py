"""What the simulated transmitters share: registers, a memory, a sink of packets, and a clock that runs when told."""

import ctypes
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from framelane.base.errors import BoardError, SimulationError
from framelane.driver.board.board import Board
from framelane.driver.registers.register_file import RegisterFile
from framelane.driver.registers.registers import check_access
from framelane.driver.simulated.library import Design, Signature
from framelane.driver.simulated.simulation import Simulation, split, stall_share
from framelane.models.tx import TxConfig

U8, U32, U64, POINTER = ctypes.c_uint8, ctypes.c_uint32, ctypes.c_uint64, ctypes.c_void_p

MAP_BYTES = 1 << 16
_WAIT_CYCLES = 1_000_000
_READY = 1300
"""Cycles from power-up until counters are cleared, and RC can follow frames: 1,024 of them."""


def board_design(
    name: str, own: Mapping[str, Signature], top: str | None = None, parameters: Mapping[str, int] | None = None
) -> Design:
    """The design `top` (default: `<name>_board`) with its C library: its `own` functions, and those of every board."""
    functions: dict[str, Signature] = {
        "select": (None, []),
        "reset": (None, []),
        "write": (ctypes.c_bool, [U32, U32]),
        "read": (ctypes.c_bool, [U32, POINTER]),
        "run": (ctypes.c_bool, [U64]),
        "interrupt": (ctypes.c_bool, [U64]),
        "step": (None, [U64]),
        **own,
    }
    return Design(
        name,
        top or f"{name}_board",
        ("board.cpp", f"{name}_library.cpp"),
        {f"{name}_{function}": signature for function, signature in functions.items()}
        | {
            "board_configure": (None, [U32, U8, U8, U64]),
            "board_write": (None, [U64, POINTER, U64]),
            "board_packet_count": (U64, []),
            "board_packet_bytes": (U64, []),
            "board_hold": (None, [ctypes.c_bool, ctypes.c_bool]),
            "board_take": (None, [POINTER, POINTER]),
            "board_ends": (None, [POINTER]),
            "board_last_activity": (U64, []),
            "board_cycle": (U64, []),
        },
        parameters or {},
    )


def give_credit(board: Board, config: TxConfig, window_end: int) -> None:
    """Let every destination have the frames below `window_end`."""
    for destination in range(len(config.destinations)):
        board.publish_credit(destination, window_end)


class SimulatedBoard(Simulation):
    """One simulated transmitter as after power-up, with its registers (see `Registers`) and its memory.

    `latency` of the memory in cycles; `memory_stall` and `sink_stall` are the shares of cycles (0..1) in which each
    side pauses, drawn with `seed`. The clock runs in an access, in `run` and in `step`, and stands still between. Not
    for use by several threads at once.
    """

    pause_s = 0.0
    """Whoever waits for it looks again at once: between accesses no time passes."""

    def __init__(
        self,
        design: Design,
        width: int = 512,
        *,
        latency: int = 0,
        memory_stall: float = 0.0,
        sink_stall: float = 0.0,
        seed: int = 1,
    ) -> None:
        stalls = stall_share(memory_stall), stall_share(sink_stall)
        super().__init__(design, width)
        self._patience = 100_000 + 2 * latency
        self.cycles = 0
        """Clock cycles from the first frame's offer to the last beat, summed over the runs."""
        self._call("board_configure", latency, *stalls, seed)
        self._power_up()

    def _power_up(self) -> None:
        self._act("reset")
        self.step(_READY)

    def _call(self, function: str, *arguments: Any) -> Any:
        super()._call(f"{self._design.name}_select")
        return super()._call(function, *arguments)

    def _act(self, function: str, *arguments: Any) -> Any:
        """Call a function of the design itself."""
        return self._call(f"{self._design.name}_{function}", *arguments)

    def read(self, offset: int) -> int:
        """The register at byte `offset`."""
        check_access(offset, MAP_BYTES)
        value = ctypes.c_uint32()
        if not self._act("read", offset, ctypes.addressof(value)):
            raise BoardError(f"the simulated transmitter does not answer a read of {offset:#x}")
        return value.value

    def write(self, offset: int, value: int) -> None:
        """Write the register at byte `offset`."""
        check_access(offset, MAP_BYTES, value)
        if not self._act("write", offset, value):
            raise BoardError(f"the simulated transmitter does not answer a write to {offset:#x}")

    def wait_interrupt(self, timeout_s: float) -> bool:
        """Run until the interrupt is up, so long at most by the board's clock, and a million cycles; whether it is."""
        cycles = min(timeout_s * RegisterFile(self)["clock_hz"], _WAIT_CYCLES)
        up: bool = self._act("interrupt", max(1, int(cycles)))
        return up

    def interrupt(self) -> bool:
        """Whether it is up."""
        up: bool = self._act("interrupt", 0)
        return up

    def hold(self, *, reads: bool = False, sink: bool = False) -> None:
        """From now on, whether the memory answers no reads, and the sink takes no packets."""
        self._call("board_hold", reads, sink)

    def write_memory(self, address: int, data: NDArray[Any] | bytes) -> None:
        """Put `data` (any dtype, C order, little endian) at `address` of the memory, which grows as needed."""
        array = np.ascontiguousarray(np.frombuffer(data, np.uint8) if isinstance(data, bytes) else data)
        self._call("board_write", address, array.ctypes.data, array.nbytes)

    def run(self) -> list[bytes]:
        """Run until all offered frames are sent or dropped; the packets that left, as Ethernet frames without FCS.

        Raises SimulationError where work is left and nothing moves any more.
        """
        start = self._call("board_cycle")
        if not self._act("run", self._patience):
            raise SimulationError(f"the transmitter is stuck: nothing moved for {self._patience} cycles")
        self.cycles += max(0, self._call("board_last_activity") - start)
        return self.take()

    @property
    def cycle(self) -> int:
        """Clock cycles since power-up."""
        count: int = self._call("board_cycle")
        return count

    def step(self, cycles: int) -> None:
        """Run for some clock cycles, whatever is under way."""
        self._act("step", cycles)

    def take(self) -> list[bytes]:
        """The packets that have left and were not taken before."""
        lengths = np.empty(self._call("board_packet_count"), np.uint32)
        data = np.empty(self._call("board_packet_bytes"), np.uint8)
        self._call("board_take", data.ctypes.data, lengths.ctypes.data)
        return split(data, lengths)
