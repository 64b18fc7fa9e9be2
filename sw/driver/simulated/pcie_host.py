"""What simulated PCIe endpoints share: registers, frame memory, and a root complex that writes into this process.

The root complex (`sim/dpi/pcie/root_complex.cpp`) puts what arrives where it is mapped, as an IOMMU does.
"""

import ctypes
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from framelane.base.errors import BoardError, ConfigError, SimulationError
from framelane.driver.registers.registers import check_access
from framelane.driver.simulated.library import Design, Signature
from framelane.driver.simulated.simulation import Simulation, stall_share
from framelane.driver.simulated.verilated_board import MAP_BYTES, POINTER, U8, U32, U64
from framelane.models.pcie.tlp_split import MPS

_BOOL = ctypes.c_bool
WIDTHS = (128, 256, 512)
"""Bus widths of an engine, in bits."""
_PATIENCE = 100_000
_READY = 1300
"""Cycles from power-up until counters are cleared."""
_COUNTS = ("tlps", "payload_bytes", "nullified", "malformed", "faults", "first_fault")


def host_design(name: str, own: Mapping[str, Signature], parameters: Mapping[str, int] | None = None) -> Design:
    """The design `<name>_board` with its C library: its `own` functions, and those of every endpoint."""
    functions: dict[str, Signature] = {
        "select": (None, []),
        "reset": (None, []),
        "write": (_BOOL, [U32, U32]),
        "read": (_BOOL, [U32, POINTER]),
        "run": (_BOOL, [U64]),
        "step": (None, [U64]),
        "link": (None, [U8, U8, U8, U64]),
        "run_promptly": (_BOOL, [U64]),
        "window": (None, [U64, U64, POINTER, _BOOL]),
        "delay": (None, [U32, U32]),
        "complete": (None, [U8, U8, _BOOL]),
        "unmap": (None, []),
        "mute": (None, [_BOOL]),
        "counts": (None, [POINTER]),
        **own,
    }
    return Design(
        name,
        f"{name}_board",
        ("board.cpp", "pcie/root_complex.cpp", f"pcie/{name}_library.cpp"),
        {f"{name}_{function}": signature for function, signature in functions.items()}
        | {
            "board_configure": (None, [U32, U8, U8, U64]),
            "board_write": (None, [U64, POINTER, U64]),
            "board_last_activity": (U64, []),
            "board_cycle": (U64, []),
        },
        parameters or {},
    )


@dataclass(frozen=True, slots=True)
class LinkCounts:
    """What the root complex has seen since power-up.

    `tlps` memory writes with `payload_bytes` have arrived; those against the specification are `malformed`, to no
    memory `faults`, the first at bus address `first_fault`; `nullified` had wrong bytes.
    """

    tlps: int
    payload_bytes: int
    nullified: int
    malformed: int
    faults: int
    first_fault: int


class PcieHost(Simulation):
    """One simulated endpoint from power-up on, with its registers (see `Registers`).

    Its links have Max_Payload_Size `mps`. `latency` of its frame memory in cycles; `memory_stall` and `link_stall` are
    the shares of cycles (0..1) in which memory and links pause, drawn with `seed`. The clock runs in an access, in
    `run` and in `step`, and stands still between. Not for use by several threads at once.
    """

    pause_s = 0.0
    """Whoever waits for it looks again at once: between accesses no time passes."""

    def __init__(
        self,
        design: Design,
        width: int = 512,
        *,
        mps: int = 256,
        latency: int = 0,
        memory_stall: float = 0.0,
        link_stall: float = 0.0,
        seed: int = 1,
    ) -> None:
        if width not in WIDTHS:
            raise ConfigError(f"a PCIe engine of {width} bits cannot be: choose one of {', '.join(map(str, WIDTHS))}")
        if mps not in MPS:
            raise ConfigError(f"Max_Payload_Size {mps} cannot be: choose one of {', '.join(map(str, MPS))}")
        self._link = MPS.index(mps), stall_share(link_stall), seed
        stalls = stall_share(memory_stall)
        super().__init__(design, width)
        self._windows: list[NDArray[np.uint8]] = []
        self.cycles = 0
        """Clock cycles from the first beat of work to the last, summed over the runs."""
        self._call("board_configure", latency, stalls, 0, seed)
        self.link_up()
        self._act("reset")
        self.step(_READY)

    def _call(self, function: str, *arguments: Any) -> Any:
        super()._call(f"{self._design.name}_select")
        return super()._call(function, *arguments)

    def _act(self, function: str, *arguments: Any) -> Any:
        """Call a function of the design itself."""
        return self._call(f"{self._design.name}_{function}", *arguments)

    def read(self, offset: int) -> int:
        """See `Registers`."""
        check_access(offset, MAP_BYTES)
        value = ctypes.c_uint32()
        if not self._act("read", offset, ctypes.addressof(value)):
            raise BoardError(f"the simulated endpoint does not answer a read of {offset:#x}")
        return value.value

    def write(self, offset: int, value: int) -> None:
        """See `Registers`."""
        check_access(offset, MAP_BYTES, value)
        if not self._act("write", offset, value):
            raise BoardError(f"the simulated endpoint does not answer a write to {offset:#x}")

    def map(self, memory: NDArray[np.uint8], address: int, *, late: bool = False) -> None:
        """Let the device write `memory` (uint8, C-contiguous) at bus address `address`, until `unmap`.

        `late`: it lies behind the port of a switch that keeps TLPs waiting, as `delay` says.
        """
        if not (memory.flags.c_contiguous and memory.flags.writeable):
            raise ConfigError("this memory cannot be mapped: it is read-only, or has gaps")
        self._windows.append(memory)
        self._act("window", address, memory.nbytes, memory.ctypes.data, late)

    def unmap(self) -> None:
        """Take all memory away from the device: what it writes from now on is lost, and counted as faults."""
        self._act("unmap")
        self._windows.clear()

    def link_up(self, *, up: bool = True) -> None:
        """From now on, whether the links are up."""
        mps, stall, seed = self._link
        self._act("link", 3 if up else 0, mps, stall, seed)

    def retrain(self, mps: int) -> None:
        """From now on, another Max_Payload_Size."""
        self._link = MPS.index(mps), *self._link[1:]
        self.link_up()

    def mute(self, *, muted: bool = True) -> None:
        """From now on, whether no read is answered."""
        self._act("mute", muted)

    def delay(self, tlps: int = 0, completions: int = 0) -> None:
        """From now on, so many cycles at most, drawn for each: that TLPs to late memory wait, and completions."""
        self._act("delay", tlps, completions)

    def complete(self, tag: int, *, bad: bool = False, engine: int = 0) -> None:
        """Give an engine a completion with this tag that it has not asked for; `bad`: one that is an error."""
        self._act("complete", engine, tag, bad)

    def close(self) -> None:
        """See `Simulation`."""
        if self._handle is not None:
            self.unmap()
        super().close()

    def run(self) -> None:
        """Run until all that was given is served, and its bytes have arrived.

        SimulationError where work is left and nothing moves, or a TLP was against the specification.
        """
        start = self._call("board_cycle")
        if not self._act("run", _PATIENCE):
            raise SimulationError(f"the endpoint is stuck: nothing moved for {_PATIENCE} cycles")
        self.cycles += max(0, self._call("board_last_activity") - start)
        if malformed := self.counts.malformed:
            raise SimulationError(f"{malformed} TLPs were against the specification: a fault of the gateware")

    def run_promptly(self, cycles: int) -> bool:
        """Run until a write has arrived in memory that is not late; False where none does in so many cycles."""
        return bool(self._act("run_promptly", cycles))

    def step(self, cycles: int) -> None:
        """Run for some clock cycles, whatever is under way."""
        self._act("step", cycles)

    @property
    def clock(self) -> int:
        """Clock cycles since power-up."""
        return int(self._call("board_cycle"))

    @property
    def counts(self) -> LinkCounts:
        """What has arrived."""
        found = np.zeros(len(_COUNTS), np.uint64)
        self._act("counts", found.ctypes.data)
        return LinkCounts(**dict(zip(_COUNTS, found.tolist(), strict=True)))

    def write_memory(self, address: int, data: NDArray[Any]) -> None:
        """Put `data` (any dtype, little endian) at `address` of the frame memory, which grows as needed."""
        array = np.ascontiguousarray(data)
        self._call("board_write", address, array.ctypes.data, array.nbytes)
