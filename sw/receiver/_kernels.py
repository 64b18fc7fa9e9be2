"""The loops of the CPU pipeline, compiled by numba. They release the GIL: the caller runs one a band of the image.

Almost every pixel of an image is in G0. A tile is therefore corrected as if all of it were, in a loop without branches
that becomes vector instructions; the few words that are not are mended after, while the tile is in the cache.
"""

from collections.abc import Callable
from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

from framelane.models.jf_correct import (
    ADC_MASK,
    ERROR_WORD,
    FORBIDDEN_STAGE,
    G1_ZERO_WORD,
    MAX_VALUE,
    SATURATED_WORD,
    STAGE_SHIFT,
    PixelCode,
)
from framelane.models.slots import HOLE_WORD

TILE = 1024
"""Pixels a tile: raw words, constants and result fit the L1 cache."""

BLOCK = 64
"""Pixels that are searched at once for words that are not in G0, and for values that reach a threshold."""

HOLES, SATURATED, INVALID, MASKED, PEAKS = range(5)
"""Places in an array of counts."""

_HOLE, _INVALID = int(PixelCode.HOLE), int(PixelCode.INVALID)
_MASKED, _SATURATED = int(PixelCode.MASKED), int(PixelCode.SATURATED)
_NOT_G0 = 1 << STAGE_SHIFT
"""The smallest word that is not in G0."""


def _compiled(function: Callable[..., Any]) -> Any:
    """Machine code for `function`; it is kept for the next process where numba finds a folder that it may write."""
    try:
        return numba.njit(nogil=True, cache=True)(function)
    except RuntimeError:  # the source and the home folder are read-only
        return numba.njit(nogil=True)(function)


@_compiled
def correct(
    raw: NDArray[np.uint16],
    pedestal: NDArray[np.uint16],
    mantissa: NDArray[np.uint16],
    shift: NDArray[np.int64],
    threshold: np.int16,
    image: NDArray[np.int16],
    first: int,
    end: int,
    counts: NDArray[np.int64],
) -> None:
    """Correct pixels `first` to `end` as `jf_correct.correct_int16` does, and count in `counts`, which it clears.

    `raw` and `image` are (pixels), `pedestal` and `mantissa` (3, pixels), `shift` is (3), all C-contiguous: views with
    gaps would cost the vectors. Peaks are the values of at least `threshold`.
    """
    counts[:] = 0
    for start in range(first, end, TILE):
        stop = min(start + TILE, end)
        tile, out = raw[start:stop], image[start:stop]
        _correct_g0(tile, pedestal[0, start:stop], mantissa[0, start:stop], shift[0], out)
        if _count(tile, out, threshold, counts) >= _NOT_G0:
            _mend(tile, pedestal[:, start:stop], mantissa[:, start:stop], shift, threshold, out, counts)


@_compiled
def _correct_g0(
    raw: NDArray[np.uint16],
    pedestal: NDArray[np.uint16],
    mantissa: NDArray[np.uint16],
    shift: int,
    image: NDArray[np.int16],
) -> None:
    """Correct every word as one of G0, whatever its stage."""
    half = 1 << shift >> 1
    for i in range(raw.size):
        quarters = int(raw[i] & ADC_MASK) * 4 - int(pedestal[i])
        value = (quarters * int(mantissa[i]) + half) >> shift
        image[i] = min(max(value, -MAX_VALUE), MAX_VALUE) if mantissa[i] else _MASKED


@_compiled
def _count(raw: NDArray[np.uint16], image: NDArray[np.int16], threshold: np.int16, counts: NDArray[np.int64]) -> int:
    """Count masked pixels and peaks; all words or'ed, which tells whether one is not in G0."""
    # Sums as narrow as the pixels keep the vectors full; numba widens them unless it is told each time.
    masked, peaks, word = np.uint16(0), np.uint16(0), np.uint16(0)
    for i in range(raw.size):
        masked = np.uint16(masked + np.uint16(image[i] == _MASKED))
        peaks = np.uint16(peaks + np.uint16(image[i] >= threshold))
        word = np.uint16(word | raw[i])
    counts[MASKED] += masked
    counts[PEAKS] += peaks
    return int(word)


@_compiled
def _or(words: NDArray[np.uint16]) -> int:
    """All words or'ed. From the first element to the last, or the loop is not made of vectors."""
    found = np.uint16(0)
    for i in range(words.size):
        found = np.uint16(found | words[i])
    return int(found)


@_compiled
def _mend(
    raw: NDArray[np.uint16],
    pedestal: NDArray[np.uint16],
    mantissa: NDArray[np.uint16],
    shift: NDArray[np.int64],
    threshold: np.int16,
    image: NDArray[np.int16],
    counts: NDArray[np.int64],
) -> None:
    """Correct the words that are not in G0, and put their part of the counts right."""
    for start in range(0, raw.size, BLOCK):
        if _or(raw[start : start + BLOCK]) < _NOT_G0:
            continue
        for i in range(start, min(start + BLOCK, raw.size)):
            word = int(raw[i])
            if word < _NOT_G0:
                continue
            counts[MASKED] -= image[i] == _MASKED
            counts[PEAKS] -= image[i] >= threshold
            stage = 1 if word >> STAGE_SHIFT == 1 else 2
            scale = int(mantissa[stage, i])
            if word == HOLE_WORD:
                image[i] = _HOLE
                counts[HOLES] += 1
            elif word >> STAGE_SHIFT == FORBIDDEN_STAGE or word in (ERROR_WORD, G1_ZERO_WORD):
                image[i] = _INVALID
                counts[INVALID] += 1
            elif scale == 0:
                image[i] = _MASKED
                counts[MASKED] += 1
            elif word == SATURATED_WORD:
                image[i] = _SATURATED
                counts[SATURATED] += 1
            else:
                quarters = int(pedestal[stage, i]) - (word & ADC_MASK) * 4
                value = (quarters * scale + (1 << shift[stage] >> 1)) >> shift[stage]
                image[i] = min(max(value, -MAX_VALUE), MAX_VALUE)
                counts[PEAKS] += image[i] >= threshold


@_compiled
def _max(values: NDArray[np.int16]) -> int:
    """The largest value."""
    found = np.int16(-MAX_VALUE)
    for i in range(values.size):
        found = max(found, values[i])
    return int(found)


@_compiled
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
