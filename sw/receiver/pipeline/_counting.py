"""The counts of an image's pixels, in one pass with its correction or alone, compiled by numba."""

import numpy as np
from numpy.typing import NDArray

from framelane.base.compiled import compiled
from framelane.base.lanes import LANES, TILE
from framelane.base.vector_loops import inlined, put
from framelane.models.jungfrau.jf_correct import (
    ERROR_WORD,
    FORBIDDEN_STAGE,
    G1_ZERO_WORD,
    SATURATED_WORD,
    STAGE_SHIFT,
)
from framelane.models.placement.slots import HOLE_WORD
from framelane.receiver.pipeline._codes import HOLE, INVALID, MASKED, SATURATED
from framelane.receiver.pipeline._correct_int16 import tile

HOLES_AT, SATURATED_AT, INVALID_AT, MASKED_AT, PEAKS_AT = range(5)
"""Places in an array of counts."""


@compiled
def correct(
    raw: NDArray[np.uint16],
    pedestal: NDArray[np.uint16],
    mantissa: NDArray[np.uint16],
    switched: NDArray[np.uint16],
    shift: NDArray[np.int64],
    special: int,
    threshold: np.int16,
    image: NDArray[np.int16],
    first: int,
    end: int,
    counts: NDArray[np.int64],
) -> None:
    """Correct pixels `first` to `end` as `_correct_int16.frames` does, and count in `counts`, which it clears.

    Peaks are the values of at least `threshold`.
    """
    found = np.empty(TILE // LANES, np.uint32)
    result = np.empty(TILE, np.int16)
    counts[:] = 0
    for at in range(first, end, TILE):
        pixels = min(TILE, end - at)
        any_special = tile(raw, at, TILE, pedestal, mantissa, switched, shift, special, at, result, pixels, found)
        put(result, image, at, pixels, False)
        _count(result[:pixels], threshold, counts)
        if any_special or pixels < TILE:
            _count_special(result[:pixels], counts)


@compiled
def count(image: NDArray[np.int16], threshold: np.int16, first: int, end: int, counts: NDArray[np.int64]) -> None:
    """Count in the same way where the pixels are corrected already."""
    counts[:] = 0
    for at in range(first, end, TILE):
        pixels = image[at : min(at + TILE, end)]
        _count(pixels, threshold, counts)
        _count_special(pixels, counts)


@compiled
def count_raw(words: NDArray[np.uint16], first: int, end: int, counts: NDArray[np.int64]) -> None:
    """Count the codes of raw words `first` to `end`: nothing of them is masked, and nothing is a peak."""
    counts[:] = 0
    for at in range(first, end, TILE):
        tile_words = words[at : min(at + TILE, end)]
        holes, saturated, invalid = np.uint16(0), np.uint16(0), np.uint16(0)
        for i in range(tile_words.size):
            word = tile_words[i]
            is_hole = word == HOLE_WORD
            is_wrong = (word >> STAGE_SHIFT == FORBIDDEN_STAGE) | (word == ERROR_WORD) | (word == G1_ZERO_WORD)
            holes = np.uint16(holes + np.uint16(is_hole))
            saturated = np.uint16(saturated + np.uint16(word == SATURATED_WORD))
            invalid = np.uint16(invalid + np.uint16(is_wrong))
        counts[HOLES_AT] += holes
        counts[SATURATED_AT] += saturated
        counts[INVALID_AT] += invalid - holes


@inlined
def _count(result: NDArray[np.int16], threshold: np.int16, counts: NDArray[np.int64]) -> None:
    """Count masked pixels and peaks, the saturated pixels among them."""
    # Sums as narrow as the pixels keep the vectors full; numba widens them unless it is told each time.
    masked, peaks = np.uint16(0), np.uint16(0)
    for i in range(result.size):
        masked = np.uint16(masked + np.uint16(result[i] == MASKED))
        peaks = np.uint16(peaks + np.uint16(result[i] >= threshold))
    counts[MASKED_AT] += masked
    counts[PEAKS_AT] += peaks


@inlined
def _count_special(result: NDArray[np.int16], counts: NDArray[np.int64]) -> None:
    """Count the other codes, and take what is saturated from the peaks."""
    holes, invalid, saturated = np.uint16(0), np.uint16(0), np.uint16(0)
    for i in range(result.size):
        holes = np.uint16(holes + np.uint16(result[i] == HOLE))
        invalid = np.uint16(invalid + np.uint16(result[i] == INVALID))
        saturated = np.uint16(saturated + np.uint16(result[i] == SATURATED))
    counts[HOLES_AT] += holes
    counts[INVALID_AT] += invalid
    counts[SATURATED_AT] += saturated
    counts[PEAKS_AT] -= saturated
