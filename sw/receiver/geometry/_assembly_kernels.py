"""The loops that put modules together, compiled by numba. Arrays are C-contiguous."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from framelane.base.compiled import compiled
from framelane.models.jungfrau.jf_correct import MAX_VALUE
from framelane.models.jungfrau.jf_packet import MODULE_COLUMNS


@compiled
def copy(
    modules: NDArray[Any], image: NDArray[Any], runs: NDArray[np.int64], fills: NDArray[np.int64], filler: Any
) -> None:
    """Copy `runs` (place, pixel, length, step from pixel to pixel) of one frame and fill `fills` (place, length)."""
    for r in range(len(runs)):
        place, pixel, length, step = runs[r, 0], runs[r, 1], runs[r, 2], runs[r, 3]
        if step == 1:
            image[place : place + length] = modules[pixel : pixel + length]
        else:
            for i in range(length):
                image[place + i] = modules[pixel + i * step]
    for f in range(len(fills)):
        image[fills[f, 0] : fills[f, 0] + fills[f, 1]] = filler


@compiled
def split_int16(
    modules: NDArray[np.int16],
    image: NDArray[np.int16],
    doubles: NDArray[np.int64],
    places: NDArray[np.int64],
    shares: NDArray[np.int64],
) -> None:
    """Divide the values of pixels `doubles` (n) among the first `shares` (n) of their `places` (n, 4).

    What does not divide evenly goes to some of them, one unit each: to which ones changes with the value and from pixel
    to pixel, so that none is favoured. Codes go to all of them.
    """
    for d in range(doubles.size):
        pixel, n = doubles[d], shares[d]
        value = int(modules[pixel])
        whole, rest = (value // n, value % n) if -MAX_VALUE <= value <= MAX_VALUE else (value, 0)
        first = whole + pixel // MODULE_COLUMNS + pixel
        for i in range(n):
            image[places[d, i]] = whole + ((first + i) % n < rest)


@compiled
def split_float32(
    modules: NDArray[np.float32],
    image: NDArray[np.float32],
    doubles: NDArray[np.int64],
    places: NDArray[np.int64],
    shares: NDArray[np.int64],
) -> None:
    """The same in float32, where halves and quarters are exact; NaN goes to all places."""
    for d in range(doubles.size):
        value = modules[doubles[d]] / np.float32(shares[d])
        for i in range(shares[d]):
            image[places[d, i]] = value
