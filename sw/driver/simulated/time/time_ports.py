"""Ports of the time unit as numbers, by the structs of `time_pkg`."""

from framelane.driver.simulated.ports import Struct
from framelane.models.time.time_counter import FRACTION_BITS, SECOND, Rate, seconds_and_rest

RATE_T = Struct(period=40, adjust=32, numerator=16, denominator=16, slew_rate=32)
TIME_T = Struct(seconds=48, ns=30, fraction=32)
TAI_T = Struct(ns=64, fraction=16)


def rate_t(rate: Rate) -> int:
    """`rate_i` of the counter."""
    return RATE_T.pack(
        {
            "period": rate.period,
            "adjust": rate.adjust % (1 << 32),
            "numerator": rate.numerator,
            "denominator": rate.denominator,
            "slew_rate": rate.slew_rate,
        }
    )


def time_t(time: int) -> int:
    """A time, or an offset, in 2^-32 ns."""
    seconds, ns, fraction = seconds_and_rest(time)
    return TIME_T.pack({"seconds": seconds % (1 << 48), "ns": ns, "fraction": fraction})


def time_of(bits: int) -> int:
    """Invert `time_t`. ValueError where its ns are not below a second."""
    rest = bits % (1 << 62)
    if rest >= SECOND:
        raise ValueError(f"{rest >> FRACTION_BITS} ns are a second or more")
    return (bits >> 62) * SECOND + rest
