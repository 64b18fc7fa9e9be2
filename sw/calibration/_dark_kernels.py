"""The loops over the words of dark frames, compiled by numba."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from framelane.base.compiled import compiled
from framelane.models.jungfrau.jf_correct import ADC_MASK, ERROR_WORD, G1_ZERO_WORD, SATURATED_WORD, STAGE_SHIFT
from framelane.models.placement.slots import HOLE_WORD

CODES = 4


@compiled
def count_codes(words: NDArray[np.uint16]) -> Any:
    """How many of the words (frames, rows, columns) have each gain code, holes left out: int64 (frames, 4)."""
    frames, rows, columns = words.shape
    counts = np.zeros((frames, CODES), np.int64)
    for frame in range(frames):
        for row in range(rows):
            for column in range(columns):
                word = words[frame, row, column]
                if word != HOLE_WORD:
                    counts[frame, word >> STAGE_SHIFT] += 1
    return counts


@compiled
def accumulate(
    words: NDArray[np.uint16],
    counted: NDArray[np.bool_],
    code: int,
    saturates: bool,
    middle: int,
    sums: NDArray[np.int64],
    squares: NDArray[np.int64],
    counts: NDArray[np.uint32],
    wrong: NDArray[np.uint32],
) -> None:
    """Add the words (frames, rows, columns) of the frames that are `counted`, less `middle`, to the sums of the pixels.

    Words of another gain code and error words count as wrong; so does the end of the ADC, where the stage `saturates`.
    Frames are the inner loop: the sums of a row stay in the cache.
    """
    frames, rows, columns = words.shape
    for row in range(rows):
        for frame in range(frames):
            if not counted[frame]:
                continue
            for column in range(columns):
                word = words[frame, row, column]
                error = word in (ERROR_WORD, G1_ZERO_WORD, SATURATED_WORD)
                error = error or (saturates and word == ADC_MASK)
                if word >> STAGE_SHIFT == code and not error:
                    value = np.int64(word & ADC_MASK) - middle
                    sums[row, column] += value
                    squares[row, column] += value * value
                    counts[row, column] += 1
                elif word != HOLE_WORD:
                    wrong[row, column] += 1
