"""Pause of a link (IEEE 802.3, annex 31B) and of its priorities (31D, "PFC"), as a receiver of such frames.

Times are in pause quanta of 512 bit times. A new time replaces what is left of the old one; 0 ends the pause. A pause
lasts its time and at most one quantum more, since the quantum that passes as it comes is not whole.
"""

import struct
from dataclasses import dataclass, field
from enum import Enum, auto

ETHERTYPE_MAC_CONTROL = 0x8808
GROUP_MAC = 0x0180C2000001
OPCODE_PAUSE, OPCODE_PFC = 0x0001, 0x0101
PRIORITIES = 8
FRACTION_BITS = 16
"""Fraction bits of quanta in a clock cycle."""
PAUSE_BYTES, PFC_BYTES = 18, 34
"""Bytes of a frame, up to its last field."""


def quanta_per_clock(bits_per_s: float, clock_hz: float) -> int:
    """The register's value, rounded to the nearest: quanta that pass in a clock cycle, in 2^-16."""
    return round(bits_per_s / 512 / clock_hz * (1 << FRACTION_BITS))


class Heard(Enum):
    """What a frame was; the names are those of the counters."""

    PAUSE = auto()
    PRIORITY_PAUSE = auto()
    MALFORMED = auto()
    """Too short, to another station, or of an unknown opcode."""


@dataclass(slots=True)
class Pause:
    """`pause.sv`: frames, and clock cycles of `quanta_per_clock` (in 2^-16) between them.

    `honoured`: 802.3x holds everything. PFC of the priorities in a mask (bit k: priority k) holds data, or control
    frames. All else is counted only, and everything is where `quanta_per_clock` is 0: no pause would end.
    """

    mac: int
    quanta_per_clock: int
    honoured: bool = False
    data_priorities: int = 0
    control_priorities: int = 0
    _left: list[int] = field(default_factory=lambda: [0] * (PRIORITIES + 1))  # the last one is of 802.3x
    _fraction: int = 0

    def receive(self, frame: bytes) -> Heard:
        """A frame (without FCS) comes."""
        dst, ethertype = int.from_bytes(frame[:6]), int.from_bytes(frame[12:14])
        if dst not in (GROUP_MAC, self.mac) or ethertype != ETHERTYPE_MAC_CONTROL or len(frame) < PAUSE_BYTES:
            return Heard.MALFORMED
        opcode, first = struct.unpack_from(">HH", frame, 14)
        if opcode == OPCODE_PAUSE:
            self._start(PRIORITIES, first)
            return Heard.PAUSE
        if opcode != OPCODE_PFC or len(frame) < PFC_BYTES:
            return Heard.MALFORMED
        for priority, time in enumerate(struct.unpack_from(">8H", frame, 18)):
            if first >> priority & 1:
                self._start(priority, time)
        return Heard.PRIORITY_PAUSE

    def _start(self, timer: int, time: int) -> None:
        self._left[timer] = time + 1 if time and self.quanta_per_clock else 0

    def clock(self) -> None:
        """A clock cycle passes."""
        self._fraction += self.quanta_per_clock
        whole, self._fraction = self._fraction >> FRACTION_BITS, self._fraction & (1 << FRACTION_BITS) - 1
        self._left = [max(0, left - whole) for left in self._left]

    def _holds(self, priorities: int) -> bool:
        mask = priorities | self.honoured << PRIORITIES
        return any(left and mask >> timer & 1 for timer, left in enumerate(self._left))

    @property
    def holds_data(self) -> bool:
        """Whether no data packet may begin."""
        return self._holds(self.data_priorities)

    @property
    def holds_control(self) -> bool:
        """Whether no control frame may begin."""
        return self._holds(self.control_priorities)
