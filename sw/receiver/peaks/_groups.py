"""Connected bright pixels, and the sums of each peak, compiled by numba."""

import numpy as np
from numpy.typing import NDArray

from framelane.base.compiled import compiled
from framelane.base.vector_loops import inlined
from framelane.models.jungfrau.jf_correct import PixelCode
from framelane.receiver.peaks._bright import BRIGHT, TAKEN, add, split

_SATURATED = int(PixelCode.SATURATED)


@compiled
def gather(
    image: NDArray[np.int16],
    before: NDArray[np.uint8],
    states: NDArray[np.uint8],
    places: NDArray[np.int32],
    counts: NDArray[np.int32],
    panel: tuple[int, int, int, int],
    sizes: tuple[int, int],
    radii: tuple[int, int],
    queue: NDArray[np.int32],
    peaks: NDArray[np.int64],
) -> int:
    """Put the peaks of one panel to `peaks` (limit, 12), `PEAK_SUMS` from `pixels` on; how many there are.

    The arguments are those of `_bright.find` for its last round, `states` being its result, in which the pixels of
    peaks become `TAKEN`. `sizes` are the fewest and most pixels of a peak, `radii` outer and inner. `queue` is scratch,
    int32 (pixels of the panel, 2).
    """
    top, left, bottom, _ = panel
    found = 0
    for row in range(top, bottom):
        for n in range(counts[row]):
            column = places[row, left + n]
            if states[row, column] != BRIGHT:
                continue
            pixels = _group(states, panel, row, column, queue)
            if not sizes[0] <= pixels <= sizes[1]:
                continue
            if found < peaks.shape[0]:
                _describe(image, before, panel, radii, queue[:pixels], peaks[found])
            found += 1
    return found


@inlined
def _group(
    states: NDArray[np.uint8], panel: tuple[int, int, int, int], row: int, column: int, queue: NDArray[np.int32]
) -> int:
    """Take a bright pixel and all that are connected with it; their number, and their places in `queue`."""
    top, left, bottom, right = panel
    states[row, column] = TAKEN
    queue[0, 0], queue[0, 1] = row, column
    done, pixels = 0, 1
    while done < pixels:
        row, column = queue[done, 0], queue[done, 1]
        done += 1
        for r in range(max(top, row - 1), min(bottom, row + 2)):
            for c in range(max(left, column - 1), min(right, column + 2)):
                if states[r, c] == BRIGHT:
                    states[r, c] = TAKEN
                    queue[pixels, 0], queue[pixels, 1] = r, c
                    pixels += 1
    return pixels


@inlined
def _describe(
    image: NDArray[np.int16],
    before: NDArray[np.uint8],
    panel: tuple[int, int, int, int],
    radii: tuple[int, int],
    queue: NDArray[np.int32],
    peak: NDArray[np.int64],
) -> None:
    top, left, bottom, right = panel
    at_row, at_column = queue[0, 0], queue[0, 1]
    saturated = 0
    for i in range(queue.shape[0]):
        row, column = queue[i, 0], queue[i, 1]
        more = image[row, column] - image[at_row, at_column]
        if more > 0 or (more == 0 and (row < at_row or (row == at_row and column < at_column))):
            at_row, at_column = row, column
        for r in range(max(top, row - 1), min(bottom, row + 2)):
            for c in range(max(left, column - 1), min(right, column + 2)):
                saturated |= image[r, c] == _SATURATED
    outer, inner = radii
    packed, q = np.int64(0), np.int64(0)
    for r in range(max(top, at_row - outer), min(bottom, at_row + outer + 1)):
        for c in range(max(left, at_column - outer), min(right, at_column + outer + 1)):
            if max(abs(r - at_row), abs(c - at_column)) > inner:
                one, square = add(np.int64(image[r, c]), before[r, c])
                packed += one
                q += square
    n, s = split(packed)
    total, weight, weight_row, weight_column = np.int64(0), np.int64(0), np.int64(0), np.int64(0)
    for i in range(queue.shape[0]):
        row, column = np.int64(queue[i, 0]), np.int64(queue[i, 1])
        value = np.int64(image[row, column])
        w = max(n * value - s, 0)
        total += value
        weight += w
        weight_row += w * row
        weight_column += w * column
    peak[0], peak[1], peak[2] = queue.shape[0], at_row, at_column
    peak[3], peak[4], peak[5], peak[6] = image[at_row, at_column], saturated, total, weight
    peak[7], peak[8], peak[9], peak[10], peak[11] = weight_row, weight_column, n, s, q
