"""The descriptor generator alone, `bd_gen.sv` by Verilator: flows and frames in, descriptors and cycles out."""

import ctypes
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from framelane.base.errors import ConfigError, SimulationError
from framelane.driver.simulated import ports
from framelane.driver.simulated.library import Design
from framelane.driver.simulated.simulation import Simulation, words
from framelane.models.placement.bd_rows import Descriptor
from framelane.models.placement.flow import Destination, Flow, FrameEvent
from framelane.models.placement.slots import FREE_RUNNING

_U8, _U64, _POINTER = ctypes.c_uint8, ctypes.c_uint64, ctypes.c_void_p

DESIGN = Design(
    "bd_gen",
    "bd_gen",
    ("bd_gen_library.cpp",),
    {
        "bd_gen_reset": (None, []),
        "bd_gen_write_flow": (None, [_U8, _POINTER]),
        "bd_gen_write_destination": (None, [_U8, _POINTER]),
        "bd_gen_offer": (None, [_POINTER]),
        "bd_gen_run": (ctypes.c_bool, [_U64]),
        "bd_gen_count": (_U64, []),
        "bd_gen_take": (None, [_POINTER, _POINTER]),
    },
)
MAX_FLOWS, MAX_DESTINATIONS = 4, 16
"""Places in the tables: what the block has by default."""

PATIENCE = 10_000
"""Cycles without a frame taken or a descriptor given after which the generator counts as stuck."""

_WORDS = -(-ports.BD_T.width // 32)


@dataclass(frozen=True, slots=True)
class Placement:
    """What left the generator: `words`, one bd_t of 32-bit words a row (n, 7), and the cycle (n) in which each left."""

    words: NDArray[np.uint32]
    cycles: NDArray[np.uint64]

    def descriptors(self) -> list[Descriptor]:
        """The same as the model gives them."""
        found = []
        for row in self.words:
            bits = int.from_bytes(row.astype("<u4").tobytes(), "little")
            fields: dict[str, Any] = ports.BD_T.unpack(bits)
            found.append(Descriptor(**fields | {"last": bool(fields["last"])}))
        return found


class BdGenSimulator(Simulation):
    """One simulated generator, armed; its sinks are always ready. Not for use by several threads at once."""

    def __init__(self) -> None:
        super().__init__(DESIGN, None)

    def run(
        self, flows: Sequence[Flow], destinations: Sequence[Destination], events: Iterable[FrameEvent]
    ) -> Placement:
        """Reset the generator and place `events`, all offered at once, with credit without limit.

        Raises ConfigError where the tables are too small, SimulationError where work is left and nothing moves.
        """
        if len(flows) > MAX_FLOWS or len(destinations) > MAX_DESTINATIONS:
            raise ConfigError(
                f"{len(flows)} flows to {len(destinations)} destinations do not fit the tables: "
                f"{MAX_FLOWS} and {MAX_DESTINATIONS} at most"
            )
        self._call("bd_gen_reset")
        for k, flow in enumerate(flows):
            self._call("bd_gen_write_flow", k, words(ports.flow_t(flow), ports.FLOW_T.width))
        for k, destination in enumerate(destinations):
            bits = ports.destination_t(destination, FREE_RUNNING)
            self._call("bd_gen_write_destination", k, words(bits, ports.DESTINATION_T.width))
        for event in events:
            self._call("bd_gen_offer", words(ports.frame_t(event), ports.FRAME_T.width))
        if not self._call("bd_gen_run", PATIENCE):
            raise SimulationError(f"the descriptor generator is stuck: nothing moved for {PATIENCE} cycles")
        count = self._call("bd_gen_count")
        found = Placement(np.empty((count, _WORDS), np.uint32), np.empty(count, np.uint64))
        self._call("bd_gen_take", found.words.ctypes.data, found.cycles.ctypes.data)
        return found
