"""How many pixels reach each of several thresholds: so that a veto with another one can be asked about later."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from framelane.base.compiled import compiled
from framelane.base.errors import ConfigError
from framelane.models.jungfrau.jf_correct import MAX_VALUE

TILE = 512
"""Pixels that are counted at once: few enough for most to have no bright one, and to stay in the L1 cache."""


def powers_of_two(fraction_bits: int = 0) -> tuple[int, ...]:
    """The thresholds 1, 2, 4, ... photons, as far as values of so many fraction bits reach."""
    return tuple(1 << n for n in range((MAX_VALUE >> fraction_bits).bit_length()))


def check_thresholds(thresholds: Sequence[int], fraction_bits: int = 0) -> NDArray[np.int16]:
    """Thresholds in photons as values of so many fraction bits. ConfigError unless they rise, from 1, within reach."""
    most = MAX_VALUE >> fraction_bits
    rising = [*thresholds, most + 1]
    if any(a >= b for a, b in zip([0, *thresholds], rising, strict=True)):
        given = ",".join(map(str, thresholds))
        raise ConfigError(f"the thresholds {given} are not a ladder: give whole numbers that rise, from 1 to {most}")
    return np.array([threshold << fraction_bits for threshold in thresholds], np.int16)


@compiled
def count(
    image: NDArray[np.int16], thresholds: NDArray[np.int16], first: int, end: int, counts: NDArray[np.int64]
) -> None:
    """Count the pixels `first` to `end` of a flat image that have a value of each threshold or more, no code."""
    counts[:] = 0
    for start in range(first, end, TILE):
        pixels = image[start : min(start + TILE, end)]
        top = np.int16(-MAX_VALUE)
        for i in range(pixels.size):
            top = max(top, pixels[i])
        saturated = np.uint16(0)
        for i in range(pixels.size if top > MAX_VALUE else 0):
            saturated = np.uint16(saturated + np.uint16(pixels[i] > MAX_VALUE))
        for n in range(thresholds.size):
            if thresholds[n] > top:
                break
            reached = np.uint16(0)
            for i in range(pixels.size):
                reached = np.uint16(reached + np.uint16(pixels[i] >= thresholds[n]))
            counts[n] += np.int64(reached) - saturated
