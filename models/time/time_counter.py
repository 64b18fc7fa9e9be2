"""The clock: TAI in units of 2^-32 ns, at a rate and a phase that registers adjust. Exact, for any number of cycles.

A time is an int: 2^-32 ns since 1970-01-01 00:00:00 TAI, the epoch of PTP (IEEE 1588-2019, 7.3). Seconds have 48 bits.
"""

from dataclasses import dataclass, replace

SECOND_NS = 1_000_000_000
FRACTION_BITS = 32
NS = 1 << FRACTION_BITS
"""One ns."""
SECOND = SECOND_NS << FRACTION_BITS
END = SECOND << 48
"""Where time starts again at 0."""
SLEW_CYCLES = 16
"""Cycles from one part of a slew to the next."""


@dataclass(frozen=True, slots=True)
class Rate:
    """How far a cycle goes, as `time.period` and the registers behind it have it.

    `period` is unsigned, of 40 bits, `adjust` signed, of 32, both in 2^-32 ns. On average a cycle also goes
    `numerator / denominator` (below 1, of 16 bits each) of 2^-32 ns, so that a period that is not a multiple of that is
    exact. A phase slew moves by at most `slew_rate`, of 32 bits, every `SLEW_CYCLES`.
    """

    period: int = 4 * NS
    numerator: int = 0
    denominator: int = 1
    adjust: int = 0
    slew_rate: int = 1 << 28

    def __post_init__(self) -> None:
        widths = {"period": 40, "numerator": 16, "denominator": 16, "slew_rate": 32}
        for name, bits in widths.items():
            if not 0 <= getattr(self, name) < 1 << bits:
                raise ValueError(f"{name} = {getattr(self, name)} has more than {bits} bits")
        if not -(1 << 31) <= self.adjust < 1 << 31:
            raise ValueError(f"adjust = {self.adjust} has more than 32 bits")
        if self.numerator and self.numerator >= self.denominator:
            raise ValueError(f"{self.numerator}/{self.denominator} is not below 1")


@dataclass(frozen=True, slots=True)
class Clock:
    """The state between two cycles. `slew` is what is left of a phase slew, signed, in 2^-32 ns."""

    time: int = 0
    remainder: int = -1
    slew: int = 0
    tick: int = 0


def rate_of(clock_hz: int | float, adjust_ppb: float = 0.0) -> Rate:
    """The rate of a clock of `clock_hz`, exact where that is an integer; its period, and `adjust_ppb` of it on top.

    ValueError where a period has 256 ns or more, or the remainder's fraction does not fit.
    """
    if isinstance(clock_hz, float) and not clock_hz.is_integer():
        period = round(SECOND / clock_hz)
        return Rate(period, adjust=adjust_of(period, adjust_ppb))
    period, rest = divmod(SECOND, int(clock_hz))
    common = _gcd(rest, int(clock_hz))
    numerator, denominator = rest // common, int(clock_hz) // common
    while denominator >= 1 << 16:  # the nearest below: a part in 2^48 of a ns is left out
        numerator, denominator = numerator >> 1, denominator >> 1
    return Rate(period, numerator, denominator, adjust_of(period, adjust_ppb))


def adjust_of(period: int, ppb: float) -> int:
    """The register `time.adjust` for a rate that is `ppb` higher."""
    return round(period * ppb / 1e9)


def _gcd(a: int, b: int) -> int:
    while b:
        a, b = b, a % b
    return a


def advance(clock: Clock, rate: Rate, cycles: int = 1) -> Clock:
    """The state `cycles` later."""
    remainder, carries = _carries(clock.remainder, rate, cycles)
    slew, moved, least = _slewed(clock, rate, cycles)
    base = rate.period + rate.adjust
    if base + least < 0:
        return _one_by_one(clock, rate, cycles)
    time = (clock.time + cycles * base + carries + moved) % END
    return Clock(time, remainder, slew, (clock.tick + cycles) % SLEW_CYCLES)


def _carries(remainder: int, rate: Rate, cycles: int) -> tuple[int, int]:
    """The remainder after `cycles`, and in how many of them it was carried: those that began with one of 0 or more."""
    # In cycle k it is remainder + k * numerator - carries * denominator. Behind a change of the denominator it may be
    # larger than that, and is carried in every cycle until it is not.
    reached = remainder + (cycles - 1) * rate.numerator
    if rate.denominator:
        carried = min(cycles, max(0, reached // rate.denominator + 1))
    else:
        carried = cycles if remainder >= 0 else 0
    return remainder + cycles * rate.numerator - carried * rate.denominator, carried


def _slewed(clock: Clock, rate: Rate, cycles: int) -> tuple[int, int, int]:
    """What is left of the slew, how far it moved, and the least that it moved in a cycle."""
    first = -clock.tick % SLEW_CYCLES
    turns = max(0, (cycles - first + SLEW_CYCLES - 1) // SLEW_CYCLES)
    size = min(abs(clock.slew), turns * rate.slew_rate)
    moved = size if clock.slew > 0 else -size
    return clock.slew - moved, moved, -min(size, rate.slew_rate) if moved < 0 else 0


def _one_by_one(clock: Clock, rate: Rate, cycles: int) -> Clock:
    """As `advance`, where a cycle could go back: it then stays."""
    for _ in range(cycles):
        remainder, carry = _carries(clock.remainder, rate, 1)
        slew, moved, _ = _slewed(clock, rate, 1)
        step = max(0, rate.period + rate.adjust + carry + moved)
        clock = Clock((clock.time + step) % END, remainder, slew, (clock.tick + 1) % SLEW_CYCLES)
    return clock


def stepped(clock: Clock, offset: int) -> Clock:
    """The state after an atomic step by `offset`, signed; the cycle's own way comes on top."""
    return replace(clock, time=(clock.time + offset) % END)


def set_to(clock: Clock, time: int) -> Clock:
    """The state with the time set: the cycle in which that happens does not move it."""
    return replace(clock, time=time % END)


def slewing(clock: Clock, amount: int) -> Clock:
    """The state with a new slew by `amount`, signed, of 64 bits; what was left of another is forgotten."""
    return replace(clock, slew=amount)


def seconds_and_rest(time: int) -> tuple[int, int, int]:
    """Seconds, ns and fraction of a time, or of an offset: its seconds are signed, its ns and fraction are not."""
    seconds, rest = divmod(time, SECOND)
    return seconds, rest >> FRACTION_BITS, rest % NS


def tai_ns(time: int) -> int:
    """Whole ns since the epoch, modulo 2^64: as in a trailer."""
    return (time >> FRACTION_BITS) % (1 << 64)
