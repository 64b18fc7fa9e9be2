"""Token buckets: how `roce_pacer.sv` limits the rate of a QP (as in RFC 2697, 3, without colours).

A bucket fills with `rate` tokens a clock cycle up to `burst`, and a packet may start while the bucket is not below
zero; it then takes as many tokens as it has bytes on the line. So packets of at most burst + rate * t bytes and one
packet more start in any t cycles; the line sees up to two packets more where it pauses while one passes. One unit fills
the buckets in turn, each every `interval` cycles.
"""

from dataclasses import dataclass

from framelane.base.errors import ConfigError

RATE_BITS = 16
"""Fraction bits of a rate in bytes a clock cycle."""
RATE_MAX = (1 << 24) - 1
MIN_INTERVAL = 4
TAKING = 8
"""Clock cycles from a packet's start to the first filling that knows of it, beside the interval."""


def rate(bytes_per_s: float, clock_hz: float) -> int:
    """The QP field `rate`, rounded down, for bytes of the line a second; ConfigError where it is not representable."""
    value = int(min(bytes_per_s / clock_hz * (1 << RATE_BITS), RATE_MAX + 1))
    if not 1 <= value <= RATE_MAX:
        lowest, highest = clock_hz / (1 << RATE_BITS), clock_hz * RATE_MAX / (1 << RATE_BITS)
        raise ConfigError(
            f"a rate of {bytes_per_s:g} bytes/s is impossible at {clock_hz:g} Hz: give {lowest:g} to {highest:g}"
        )
    return value


def interval(num_qp: int) -> int:
    """Clock cycles between two fillings of a bucket, in a table of `num_qp` QPs."""
    return max(num_qp, MIN_INTERVAL)


def smallest_burst(rate: int, num_qp: int) -> int:
    """Bytes of the smallest burst with which a QP reaches `rate` (the QP field): what fills up while a bucket waits.

    It waits for its turn, and for what was taken from it to be seen.
    """
    return -(-rate * (interval(num_qp) + TAKING) >> RATE_BITS)


@dataclass(slots=True)
class TokenBucket:
    """One bucket: `level` in 2^-16 bytes, negative after a packet that took more than there was."""

    rate: int
    burst: int
    interval: int
    level: int = 0

    @property
    def open(self) -> bool:
        """Whether a packet may leave."""
        return self.level >= 0

    def fill(self) -> None:
        """The tokens of one interval."""
        self.level = min(self.level + self.rate * self.interval, self.burst << RATE_BITS)

    def take(self, line_bytes: int) -> None:
        """One packet leaves."""
        self.level -= line_bytes << RATE_BITS
