"""Two parallel lines below all points of both ways: the mean of those that are possible, each by how likely it is.

A message that waits nowhere comes with the path's own delay, and stamps make it later by up to a step of a clock. So
above a line points are as dense as they are a little farther up, but for its first `_STEP_NS`, over which they become
so. The likelihood of a line is that of such points, a Poisson process. The best line touches some points and stays on
these while hundreds more come; the mean of all moves with each, and its error is a quarter smaller: simulated.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

_STEP_NS = 6.0
"""Steps of 4 ns, and some more: too much does less harm than too little."""
_SHARE = 1 / 8
"""Where most messages wait less than some steps, the steps are taken for so much of that."""
_RANK = 16
"""The messages from the least delayed to this one say how dense they are there."""
_DENSE = 64
_BISECTIONS = 44
_RATES, _LEVELS = 33, 32
_RATES_WIDE, _LEVELS_WIDE = 4.0, 3.0

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Lines:
    """Both lines at the time 0: half their difference, the offset, and half their sum, the delay, in ns.

    `rate_ppb`: the slope of the first one, less than which the second one has it. `uncertainty_ns`: a standard
    deviation of the offset.
    """

    offset_ns: float
    delay_ns: float
    rate_ppb: float
    uncertainty_ns: float


def below(there_at: Floats, there: Floats, back_at: Floats, back: Floats) -> Lines:
    """The lines below the points of both ways, in ns; times in s, up to 0.

    `there` rise with the rate, `back` fall.
    """
    rate = best_rate(there_at, there, back_at, back)
    there, back = there - rate * there_at, back + rate * back_at
    late = max(float(np.median(values) - values.min()) for values in (there, back))
    step = min(_STEP_NS, _SHARE * late)
    blurs = [_blur(values, step) for values in (there, back)]
    turns = np.linspace(-1, 1, _RATES) * _RATES_WIDE * max(blurs)
    rates = turns / -min(there_at[0], back_at[0])
    ways = [
        _levels(there_at, there, rates, turns[-1], blurs[0], step),
        _levels(back_at, back, -rates, turns[-1], blurs[1], step),
    ]
    likely = ways[0].logarithm + ways[1].logarithm
    share = np.exp(likely - likely.max())
    share /= share.sum()
    offsets = (ways[0].mean - ways[1].mean) / 2
    offset = float(share @ offsets)
    variance = share @ (offsets**2 + (ways[0].variance + ways[1].variance) / 4) - offset**2
    return Lines(
        offset_ns=offset,
        delay_ns=float(share @ (ways[0].mean + ways[1].mean)) / 2,
        rate_ppb=rate + float(share @ rates),
        uncertainty_ns=float(np.sqrt(max(variance, 0.0))),
    )


def best_rate(there_at: Floats, there: Floats, back_at: Floats, back: Floats) -> float:
    """The rate for which the sum of all distances to the lines is least: where its derivative changes its sign."""
    total = float(back_at.sum() - there_at.sum())
    low, high = -1e6, 1e6
    for _ in range(_BISECTIONS):
        rate = (low + high) / 2
        touched = there_at[np.argmin(there - rate * there_at)] * len(there)
        touched_back = back_at[np.argmin(back + rate * back_at)] * len(back)
        if total + touched - touched_back > 0:
            high = rate
        else:
            low = rate
    return (low + high) / 2


def spacing(values: Floats) -> float:
    """How far one value lies behind the other at the least of them: the mean error of a least value."""
    return float(np.partition(values, _RANK)[_RANK] - values.min()) / _RANK


@dataclass(frozen=True, slots=True)
class _Levels:
    """The mean level of a line for each rate, its variance, and the logarithm of how likely the points are."""

    mean: Floats
    variance: Floats
    logarithm: Floats


def _density(values: Floats, step: float) -> float:
    """Points a ns a little above the line: an eighth of them tells it, but no more than `_DENSE`."""
    rank = max(_RANK, min(_DENSE, len(values) // 8))
    height = float(np.partition(values, rank)[rank] - values.min()) + step
    return float(np.count_nonzero(values < values.min() + height) / max(height - step / 2, 1e-6))


def _blur(values: Floats, step: float) -> float:
    """About how far the least value is above the line."""
    dense = _density(values, step)
    return float(1 / dense + np.sqrt(2 * step / dense))


def _levels(times: Floats, values: Floats, rates: Floats, most: float, blur: float, step: float) -> _Levels:
    """The levels of lines of these slopes, which turn them by `most` at their first point."""
    dense = _density(values, step)
    near = values < values.min() + step + 2 * most
    turned = values[near] - rates[:, None] * times[near]
    levels = turned.min(1)[:, None] - np.linspace(0, _LEVELS_WIDE * blur, _LEVELS)
    above = turned[:, None, :] - levels[:, :, None]
    logarithm = np.log(np.clip(above / max(step, 1e-6), 1e-12, 1.0)).sum(2)
    logarithm += dense * (levels + rates[:, None] * times.mean())
    highest = logarithm.max(1)
    share = np.exp(logarithm - highest[:, None])
    total = share.sum(1)
    mean = (share * levels).sum(1) / total
    variance = (share * levels**2).sum(1) / total - mean**2
    return _Levels(mean, variance, highest + np.log(total))
