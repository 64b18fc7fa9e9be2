"""The station without data, `sim/dpi/neighbour_board.sv` by Verilator: frames in, frames out, clock by clock."""

import ctypes
from dataclasses import dataclass

import numpy as np

from framelane.driver.library import Design
from framelane.driver.neighbour_ports import (
    NEIGHBOUR_CONFIG_T,
    NEIGHBOUR_EVENTS_T,
    RESOLVE_T,
    NeighbourConfig,
    resolve_t,
)
from framelane.driver.simulation import Simulation, split, words
from framelane.models.arp import Resolved
from framelane.models.errors import InputError
from framelane.models.rx_filter import RxDrop

_BOOL, _U64, _POINTER, _BYTES = ctypes.c_bool, ctypes.c_uint64, ctypes.c_void_p, ctypes.c_char_p

DESIGN = Design(
    "neighbour",
    "neighbour_board",
    ("neighbour_library.cpp",),
    {
        "neighbour_configure": (None, [_BYTES, _BOOL]),
        "neighbour_receive": (None, [_BYTES, _U64, _BOOL]),
        "neighbour_resolve": (_BOOL, [_BYTES]),
        "neighbour_run": (None, [_U64]),
        "neighbour_sizes": (None, [_POINTER]),
        "neighbour_take": (None, [_POINTER, _POINTER, _POINTER]),
        "neighbour_counters": (None, [_POINTER]),
    },
)

COUNTERS = (*reversed(NEIGHBOUR_EVENTS_T.fields), *(f"drop_{reason.name.lower()}" for reason in RxDrop))
"""Names of the counters: events of `neighbour_events_t`, frames that the receive path has dropped."""


@dataclass(frozen=True, slots=True)
class Sent:
    """What the station has sent since the last time: `frames` without FCS, and how its questions `resolved`."""

    frames: list[bytes]
    resolved: list[Resolved]


class NeighbourSimulator(Simulation):
    """One simulated station with a bus of `width` bits (128 or more). Not for use by several threads at once."""

    def __init__(self, config: NeighbourConfig, width: int = 512) -> None:
        super().__init__(DESIGN, width)
        self.configure(config)

    def configure(self, config: NeighbourConfig, link_up: bool = True) -> None:
        """Write all registers."""
        self._call("neighbour_configure", words(config.pack(), NEIGHBOUR_CONFIG_T.width), link_up)

    def receive(self, frame: bytes, bad: bool = False) -> None:
        """A frame (without FCS, 1 byte or more) arrives at the MAC; `bad`: with a wrong FCS."""
        if not frame:
            raise InputError("a frame without bytes cannot arrive")
        self._call("neighbour_receive", frame, len(frame), bad)

    def resolve(self, ip: int, tci: int | None = None) -> bool:
        """Ask who has `ip`, on the VLAN of that tag; False while another question is open."""
        return bool(self._call("neighbour_resolve", words(resolve_t(ip, tci), RESOLVE_T.width)))

    def run(self, cycles: int) -> Sent:
        """Let some clock cycles pass."""
        self._call("neighbour_run", cycles)
        sizes = np.zeros(3, np.uint64)
        self._call("neighbour_sizes", sizes.ctypes.data)
        n_frames, n_bytes, n_resolved = map(int, sizes)
        data, lengths = np.empty(n_bytes, np.uint8), np.empty(n_frames, np.uint32)
        ends = np.empty((n_resolved, 2), np.uint64)
        self._call("neighbour_take", data.ctypes.data, lengths.ctypes.data, ends.ctypes.data)
        resolved = [Resolved(ip & 0xFFFFFFFF, mac if ip >> 32 else None) for ip, mac in ends.tolist()]
        return Sent(split(data, lengths), resolved)

    def counters(self) -> dict[str, int]:
        """All counters by their names."""
        values = np.zeros(len(COUNTERS), np.uint64)
        self._call("neighbour_counters", values.ctypes.data)
        return dict(zip(COUNTERS, map(int, values), strict=True))
