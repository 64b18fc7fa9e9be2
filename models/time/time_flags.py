"""What a frame's `timestamp_ns` is worth: `time_flags` of its trailer (`docs/architecture.md`, Trailer)."""

from dataclasses import dataclass
from enum import IntEnum

UNKNOWN_ACCURACY = 0xFE
"""clockAccuracy of IEEE 1588-2019, table 5, that says nothing."""

_ACCURACIES_NS = {0x20: 25, 0x21: 100, 0x22: 250, 0x23: 1000, 0x24: 2500, 0x25: 10**4, 0x26: 25_000, 0x27: 10**5}

MASKS = {
    "stamped": 0x1,
    "locked": 0x2,
    "source": 0xC,
    "utc_known": 0x10,
    "holdover": 0x20,
    "of_trigger": 0x40,
    "accuracy": 0xFF00,
    "tai_utc": 0xFFFF0000,
}
"""The bits of each field of the word."""


class TimeSource(IntEnum):
    """What a clock follows."""

    FREE = 0
    PTP = 1
    PPS = 2
    RESERVED = 3


@dataclass(frozen=True, slots=True)
class TimeFlags:
    """The word's fields (`time_flags_t`). As all are 0 and `stamped` is false, only the detector knows its time.

    `stamped`: `timestamp_ns` is of a board's clock of TAI, at the frame's first pixel or, with `of_trigger`, at the
    last trigger before it. `locked`: that clock follows its `source`; `holdover`: it did, and goes on at the last
    rate. `accuracy` is clockAccuracy of IEEE 1588-2019, `tai_utc` TAI - UTC in s (-32768..32767), if `utc_known`.
    """

    stamped: bool = False
    of_trigger: bool = False
    locked: bool = False
    source: TimeSource = TimeSource.FREE
    holdover: bool = False
    utc_known: bool = False
    tai_utc: int = 0
    accuracy: int = 0

    @property
    def is_tai(self) -> bool:
        """Whether `timestamp_ns` is TAI: of a clock that a source has set, and that follows it or did."""
        return self.stamped and (self.locked or self.holdover)

    @property
    def accuracy_ns(self) -> int | None:
        """The clock is right to so many ns; None: not known."""
        return _ACCURACIES_NS.get(self.accuracy)

    def pack(self) -> int:
        """The word of 32 bits."""
        low = self.stamped | self.locked << 1 | self.source << 2 | self.utc_known << 4
        low |= self.holdover << 5 | self.of_trigger << 6
        return low | self.accuracy << 8 | (self.tai_utc & 0xFFFF) << 16


def unpack(word: int) -> TimeFlags:
    """Invert `TimeFlags.pack`. Bits that nobody knows are passed over."""
    return TimeFlags(
        stamped=bool(word & 1),
        locked=bool(word & 2),
        source=TimeSource(word >> 2 & 3),
        utc_known=bool(word & 16),
        holdover=bool(word & 32),
        of_trigger=bool(word & 64),
        accuracy=word >> 8 & 0xFF,
        tai_utc=(word >> 16 & 0xFFFF ^ 0x8000) - 0x8000,
    )
