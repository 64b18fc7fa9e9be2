"""An image to sparse rows, compiled by numba."""

import numpy as np
from numpy.typing import NDArray

from framelane.base.compiled import compiled
from framelane.models.jungfrau.jf_correct import MAX_VALUE

BLOCK = 64
"""Pixels that are searched at once for values that reach the threshold."""


@compiled
def _max(values: NDArray[np.int16]) -> int:
    """The largest value."""
    found = np.int16(-MAX_VALUE)
    for i in range(values.size):
        found = max(found, values[i])
    return int(found)


@compiled
def gather(
    image: NDArray[np.int16],
    threshold: np.int16,
    pointers: NDArray[np.int64],
    columns: NDArray[np.int32],
    values: NDArray[np.int16],
) -> None:
    """Put the values of `image` (rows, columns) from `threshold` on, no codes, into sparse rows (see `SparseRows`)."""
    at = 0
    pointers[0] = 0
    for row in range(image.shape[0]):
        line = image[row]
        for start in range(0, line.size, BLOCK):
            if _max(line[start : start + BLOCK]) < threshold:
                continue
            for i in range(start, min(start + BLOCK, line.size)):
                if threshold <= line[i] <= MAX_VALUE:
                    columns[at] = i
                    values[at] = line[i]
                    at += 1
        pointers[row + 1] = at
