"""The Verilated transmitter with RC and a receive path: a board on a wire, whose other end is the caller."""

import ctypes
from typing import Any

import numpy as np

from framelane.base.errors import InputError
from framelane.driver.simulated.library import Signature
from framelane.driver.simulated.simulation import split
from framelane.driver.simulated.verilated import OFFERING, SimulatedRegisters
from framelane.driver.simulated.verilated_board import U64, SimulatedBoard, board_design

RC_QPS, RC_DEPTH, RC_SLOTS = 16, 64, 1024
"""QPs that may be of RC, and descriptors of each that are kept."""
RC_AHEAD = 384
"""Beats that are issued ahead of the packets, which hide the memory's latency."""

SLOW_HZ = 10_000_000
"""A clock to build one for: its milliseconds are few cycles."""

MIN_FRAME = 60
"""Bytes of the shortest Ethernet frame, without FCS."""

LINKING: dict[str, Signature] = {
    "receive": (None, [ctypes.c_char_p, U64, ctypes.c_bool]),
    "link": (None, [ctypes.c_bool]),
}
"""C functions of a transmitter with a receive path."""


class LinkedBoard(SimulatedBoard):
    """A simulated transmitter with a receive path, its link down at first."""

    def link_up(self, up: bool) -> None:
        """Connect or disconnect the cable."""
        self._act("link", up)

    def receive(self, frame: bytes, bad: bool = False) -> None:
        """An Ethernet frame without FCS comes in, behind those that wait; `bad`: with a wrong FCS.

        A short one is padded, as every sender does. InputError where there is none.
        """
        if not frame:
            raise InputError("a frame without bytes cannot arrive")
        padded = frame.ljust(MIN_FRAME, b"\0")
        self._act("receive", padded, len(padded), bad)


class SimulatedRcBoard(LinkedBoard, SimulatedRegisters):
    """A simulated transmitter with RC and a station, as after power-up, its link down. Arguments: `SimulatedBoard`.

    `clock_hz` is the clock that its timers count, `max_slots` how many frames may be held, a power of two. Frames for
    it are queued by `receive`, and arrive while the clock runs, back to back; those that left are taken. Not for use by
    several threads at once.
    """

    def __init__(
        self, width: int = 512, *, clock_hz: int = 250_000_000, max_slots: int = RC_SLOTS, **simulation: Any
    ) -> None:
        own = OFFERING | LINKING | {"step_until": (U64, [U64, U64]), "waiting": (U64, [])}
        parameters = {"ClockHz": clock_hz, "Station": 1, "Rc": 1}
        parameters |= {"RcQps": RC_QPS, "RcDepth": RC_DEPTH, "RcAhead": RC_AHEAD, "MaxSlots": max_slots}
        super().__init__(width, design=board_design("tx_rc", own, "tx_board", parameters), **simulation)
        self.clock_hz = clock_hz

    @property
    def waiting(self) -> int:
        """Frames that were queued by `receive` and have not wholly arrived."""
        count: int = self._act("waiting")
        return count

    def step_until(self, cycles_max: int, packets: int = 1) -> int:
        """Run until that many packets wait to be taken, but `cycles_max` clock cycles at most; how many it were."""
        count: int = self._act("step_until", cycles_max, packets)
        return count

    def take_stamped(self) -> list[tuple[int, bytes]]:
        """As `take`, each with the cycle of its last beat."""
        lengths = np.empty(self._call("board_packet_count"), np.uint32)
        data = np.empty(self._call("board_packet_bytes"), np.uint8)
        ends = np.empty(len(lengths), np.uint64)
        self._call("board_ends", ends.ctypes.data)
        self._call("board_take", data.ctypes.data, lengths.ctypes.data)
        return list(zip(ends.tolist(), split(data, lengths), strict=True))
