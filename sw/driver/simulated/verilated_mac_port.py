"""The port to a MAC alone, `mac_port.sv` by Verilator: packets in, when each passes, and what is between them."""

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from framelane.base.errors import ConfigError, SimulationError
from framelane.driver.simulated.library import Design
from framelane.driver.simulated.simulation import Simulation

_U16, _U64, _POINTER = ctypes.c_uint16, ctypes.c_uint64, ctypes.c_void_p

MAC_WIDTH = 512
"""Bits of the MAC's bus."""

DESIGN = Design(
    "mac_port",
    "mac_port",
    ("mac/mac_port_library.cpp",),
    {
        "mac_port_reset": (None, [_U64, _U64, _U16]),
        "mac_port_send": (None, [_POINTER, _U64]),
        "mac_port_run": (ctypes.c_bool, [_U64]),
        "mac_port_counts": (None, [_POINTER]),
        "mac_port_take": (None, [_POINTER]),
    },
    {"MacW": MAC_WIDTH},
)

PATIENCE_FS = 100_000_000_000
"""Time without a beat after which the port counts as stuck."""

PASSED = np.dtype([(name, np.uint64) for name in ("in_first", "in_last", "out_first", "out_last", "bytes")])
"""A packet, in fs: its first and its last beat taken from the core, and by the MAC; then its bytes at the MAC."""


@dataclass(frozen=True, slots=True)
class Passage:
    """What passed in one run: `packets` an array of PASSED, one entry each.

    `gaps` are the MAC's cycles without a beat inside a packet, `underruns` packets that were spoiled by a threshold.
    """

    packets: NDArray[np.void]
    gaps: int
    underruns: int


class MacPortSimulator(Simulation):
    """One simulated port, from reset on, between buses of `width` and MAC_WIDTH bits. Periods of both clocks in fs.

    The core offers a beat each cycle, the MAC always takes. With `threshold` beats inside a packet starts; 0: once it
    is whole. ConfigError for a period of 0.
    """

    def __init__(self, core_fs: int, line_fs: int, width: int = 512, threshold: int = 0) -> None:
        if min(core_fs, line_fs) <= 0:
            raise ConfigError(f"periods of {core_fs} and {line_fs} fs cannot be: give 1 or more")
        super().__init__(DESIGN, width)
        self._call("mac_port_reset", core_fs, line_fs, threshold)

    def run(self, lengths: Sequence[int]) -> Passage:
        """Send packets of so many bytes, one behind the other, until all are at the MAC.

        SimulationError where nothing moves any more, or other bytes come out than went in.
        """
        sent = np.asarray(lengths, np.uint64)
        self._call("mac_port_send", sent.ctypes.data, len(sent))
        if not self._call("mac_port_run", PATIENCE_FS):
            raise SimulationError(f"the port is stuck: nothing moved for {PATIENCE_FS / 1e9:g} us")
        counts = np.empty(4, np.uint64)
        self._call("mac_port_counts", counts.ctypes.data)
        n_packets, gaps, underruns, wrong = counts.tolist()
        packets = np.empty(n_packets, PASSED)
        self._call("mac_port_take", packets.ctypes.data)
        if not underruns and (wrong or packets["bytes"].tolist() != list(lengths)):
            raise SimulationError("the port gave other bytes than it took: a fault of the gateware")
        return Passage(packets, gaps, underruns)
