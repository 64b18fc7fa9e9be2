"""Bright pixels: those that stand out of the ring around them, compiled by numba.

The sums over a ring are differences of an integral image: one addition a pixel however large the ring is. Number and
sum of the values share an int64, in units of `2**40` and 1: integral images may overflow, modulo `2**64`, their
differences are right all the same, and in them the sum is far below `2**39`.
"""

import numpy as np
from numpy.typing import NDArray

from framelane.base.compiled import compiled
from framelane.base.vector_loops import inlined
from framelane.models.jungfrau.jf_correct import MAX_VALUE

UNUSABLE, BRIGHT, TAKEN = 1, 2, 3
"""What a pixel of a plane of states is, where it is not 0; `TAKEN` is bright, and of a peak that was found."""

BLOCK = 32
"""Pixels that are searched at once for values that may be bright."""

_COUNT_SHIFT = 40
_HALF = 1 << 39


@inlined
def split(packed: int) -> tuple[int, int]:
    """Number and sum of values."""
    pixels = (packed + _HALF) >> _COUNT_SHIFT
    return pixels, packed - (pixels << _COUNT_SHIFT)


@inlined
def add(value: int, state: int) -> tuple[int, int]:
    """What a pixel adds to number and sum, packed, and to the squares of a ring."""
    if state == 0 and -MAX_VALUE <= value <= MAX_VALUE:
        return (1 << _COUNT_SHIFT) + value, value * value
    return 0, 0


@compiled
def find(
    image: NDArray[np.int16],
    before: NDArray[np.uint8],
    limits: tuple[int, int, int, int, int, int],
    panel: tuple[int, int, int, int],
    first: int,
    end: int,
    integral: NDArray[np.int64],
    after: NDArray[np.uint8],
    places: NDArray[np.int32],
    counts: NDArray[np.int32],
) -> None:
    """Find the bright pixels in rows `first` to `end` of a panel (first row, first column, end row, end column).

    `limits` are least value, snr in eighths, outer, inner, fewest pixels of a ring, and 64. What is not 0 in `before`
    counts in no ring. `after` has 0 or `UNUSABLE`, and gets `BRIGHT`. The columns of the bright pixels of a row go to
    `places`, from the panel's first column on, and their number to `counts` (rows). `integral` is scratch, int64
    (2 * outer + 2, 2, columns of the panel and one).
    """
    least, snr, outer, inner, min_ring, steps = limits
    top, left, bottom, right = panel
    width = right - left
    depth = integral.shape[0]
    start = max(top, first - outer)
    integral[start % depth] = 0
    summed = start
    for row in range(first, end):
        while summed < min(bottom, row + outer + 1):
            values, states = image[summed, left:right], before[summed, left:right]
            _sum_row(values, states, integral[summed % depth], integral[(summed + 1) % depth])
            summed += 1
        above, below = integral[max(top, row - outer) % depth], integral[min(bottom, row + outer + 1) % depth]
        over, under = integral[max(top, row - inner) % depth], integral[min(bottom, row + inner + 1) % depth]
        count = 0
        values, states = image[row, left:right], after[row, left:right]
        for start in range(0, width, BLOCK):
            if not _any_from(values[start : start + BLOCK], least):
                continue
            for column in range(start, min(start + BLOCK, width)):
                value = np.int64(values[column])
                if value < least or value > MAX_VALUE or states[column] == UNUSABLE:
                    continue
                a, b = max(0, column - outer), min(width, column + outer + 1)
                c, e = max(0, column - inner), min(width, column + inner + 1)
                packed, q = _ring(above, below, a, b)
                packed_inside, q_inside = _ring(over, under, c, e)
                n, s = split(packed - packed_inside)
                q -= q_inside
                d = n * value - s
                if n >= min_ring and d > 0 and steps * d * d > snr * snr * (n * q - s * s):
                    states[column] = BRIGHT
                    places[row, left + count] = left + column
                    count += 1
        counts[row] = count


@inlined
def _ring(above: NDArray[np.int64], below: NDArray[np.int64], left: int, right: int) -> tuple[int, int]:
    """Packed number and sum, and squares, of a rectangle."""
    packed = below[0, right] - below[0, left] - above[0, right] + above[0, left]
    return packed, below[1, right] - below[1, left] - above[1, right] + above[1, left]


@inlined
def _any_from(values: NDArray[np.int16], least: int) -> bool:
    """Whether any value is `least` or more."""
    found = np.int16(0)
    limit = np.int16(least)
    for i in range(values.size):
        found |= np.int16(values[i] >= limit)
    return bool(found != 0)


@inlined
def _sum_row(
    values: NDArray[np.int16], states: NDArray[np.uint8], last: NDArray[np.int64], made: NDArray[np.int64]
) -> None:
    """One row of the integral image from the one above."""
    packed, squares = np.int64(0), np.int64(0)
    made[0, 0] = made[1, 0] = 0
    for column in range(values.size):
        one, square = add(np.int64(values[column]), states[column])
        packed += one
        squares += square
        made[0, column + 1] = last[0, column + 1] + packed
        made[1, column + 1] = last[1, column + 1] + squares
