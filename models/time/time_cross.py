"""How right the time is that another clock sees (`time_cross`), in ns."""

EVERY = 64
"""Cycles of the time's clock from one measurement to the next."""
FRACTION = 2.0**-16
"""What is left out of a time that crosses."""


def bound_ns(period_ns: float, own_period_ns: float, wrong_by: float = 200e-6) -> float:
    """The most that a crossed time is wrong by.

    Half a cycle of the other clock, whose edge is not known better, and what its nominal period, `wrong_by` of itself
    from what it is by the time's clock, adds up to before the next measurement is there.
    """
    between = EVERY * own_period_ns + 8 * period_ns
    return period_ns / 2 + wrong_by * between + 4 * FRACTION
