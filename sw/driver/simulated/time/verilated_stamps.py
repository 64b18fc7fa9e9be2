"""A board's clock and the stamps of its triggers, by Verilator: `time_counter`, `edge_stamp` and `frame_stamp`."""

import ctypes

import numpy as np
from numpy.typing import NDArray

from framelane.base.errors import SimulationError
from framelane.driver.simulated.library import Design
from framelane.driver.simulated.simulation import Simulation, words
from framelane.driver.simulated.time.time_ports import RATE_T, TIME_T, rate_t, time_of, time_t
from framelane.models.time.time_counter import FRACTION_BITS, Rate

_U32, _U64, _POINTER = ctypes.c_uint32, ctypes.c_uint64, ctypes.c_void_p

DESIGN = Design(
    "stamped_board",
    "stamped_board",
    ("time/stamped_board_library.cpp",),
    {
        "stamped_board_begin": (ctypes.c_bool, [_U64, _POINTER, _U32, _POINTER]),
        "stamped_board_stamp": (ctypes.c_bool, [_POINTER, _U64, _U64, _POINTER]),
        "stamped_board_now": (_U64, [_POINTER]),
    },
)

MOMENT_BITS = 40
"""A moment is in 2^-40 ns."""
HIGH = 40 << MOMENT_BITS
"""So long a trigger is high, and low at least."""
_UNITS = 24


class StampSimulator(Simulation):
    """A clock of `period` 2^-40 ns that is at `time` (2^-32 ns) with an edge, and goes on at `rate` from there.

    Moments are counted from that edge on. SimulationError where the gateware does not do what it is told.
    """

    def __init__(self, period: int, time: int, rate: Rate) -> None:
        super().__init__(DESIGN, None)
        nominal = rate.period >> FRACTION_BITS - _UNITS
        arguments = words(rate_t(rate), RATE_T.width), nominal, words(time_t(time), TIME_T.width)
        if not self._call("stamped_board_begin", period, *arguments):
            raise SimulationError("the clock was set, and does not say so: a fault of time_counter")

    def stamp(self, triggers: NDArray[np.uint64]) -> NDArray[np.uint64]:
        """timestamp_ns of the frame behind each trigger. `triggers` rise, by 2 * HIGH at least."""
        moments, stamps = np.ascontiguousarray(triggers, np.uint64), np.empty(len(triggers), np.uint64)
        if not self._call("stamped_board_stamp", moments.ctypes.data, len(moments), HIGH, stamps.ctypes.data):
            raise SimulationError("a trigger was not stamped, or twice: a fault of edge_stamp")
        return stamps

    def now(self) -> tuple[int, int]:
        """The moment of the last edge, and the clock's time there in 2^-32 ns."""
        bits = ctypes.create_string_buffer(-(-TIME_T.width // 32) * 4)
        moment: int = self._call("stamped_board_now", bits)
        return moment, time_of(int.from_bytes(bits.raw, "little"))
