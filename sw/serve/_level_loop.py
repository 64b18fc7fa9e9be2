"""The loops of pictures, compiled by numba: a third of the time that numpy takes, outside the GIL."""

import numpy as np
from numpy.typing import NDArray

from framelane.base.compiled import compiled

EXACT, STEPS = 128, 8
"""Levels of sums: so many values one by one, then so many levels for each doubling."""


@compiled
def look_up(words: NDArray[np.uint16], table: NDArray[np.uint8], levels: NDArray[np.uint8]) -> None:
    """Write the level of each word; `table` has all 65,536."""
    for at in range(words.size):
        levels[at] = table[words[at]]


@compiled
def add_up(values: NDArray[np.int16], lowest: np.int16, sums: NDArray[np.int32], greatest: NDArray[np.int16]) -> None:
    """Add an image to sums, and find the greatest of each pixel: what is below `lowest` is a code, and adds nothing."""
    for at in range(values.size):
        value = values[at]
        greatest[at] = max(greatest[at], value)
        if value >= lowest:
            sums[at] += value


@compiled
def levels_of_sums(sums: NDArray[np.int32], most: int, levels: NDArray[np.uint8]) -> None:
    """Write the level of each sum, at most `most`: 0 to 127 exactly, then eight for each doubling (floats' way)."""
    for at in range(sums.size):
        value, doublings = max(sums[at], 0), 0
        if value < EXACT:
            levels[at] = value
            continue
        while value >= 2 * STEPS:
            value >>= 1
            doublings += 1
        levels[at] = min(EXACT + (doublings - 4) * STEPS + value - STEPS, most)
