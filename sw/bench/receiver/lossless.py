"""The highest rate at which nothing is lost, by trials."""

import math
from collections.abc import Callable, Iterator

Trial = Callable[[int, float], tuple[float, int]]
"""Send so many packets at so many a second (infinite: as fast as it goes): the rate that it came to, and how many of
them did not arrive."""
_FIRST_RATE = 100e3


def highest(trial: Trial, seconds: float, steps: int, tries: int) -> tuple[float, float]:
    """Packets a second: the most that all arrived, and the most that were sent.

    Each trial sends for so many `seconds`; the search halves what is uncertain in each of its `steps`. Another program
    may have the core for a while, so one of `tries` trials without loss is enough.
    """
    trial(int(_FIRST_RATE * seconds / 10), _FIRST_RATE)  # warms up
    rate, _ = trial(int(_FIRST_RATE * seconds), math.inf)
    trials = [trial(int(rate * seconds), math.inf) for _ in range(tries)]
    fastest = max(reached for reached, _ in trials)
    best = max((reached for reached, lost in trials if not lost), default=0.0)
    low, high = best, fastest
    for _ in range(steps if best < fastest else 0):
        rate = (low + high) / 2
        reached = next(_kept(trial, rate, seconds, tries), 0.0)
        best, low, high = (max(best, reached), rate, high) if reached else (best, low, rate)
    return best, fastest


def _kept(trial: Trial, rate: float, seconds: float, tries: int) -> Iterator[float]:
    for _ in range(tries):
        reached, lost = trial(int(rate * seconds), rate)
        if not lost:
            yield reached
