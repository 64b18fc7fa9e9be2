"""The sums of dark frames for the tracking of the pedestal, compiled by numba: as in `models.jf_pedestal`, bit for bit.

They release the GIL: the caller runs one a range of chips. Pixel arrays are (rows, columns), C-contiguous.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from framelane.base.compiled import compiled
from framelane.models.jungfrau.jf_correct import ADC_MASK, ERROR_WORD, FORBIDDEN_STAGE, G1_ZERO_WORD, STAGE_SHIFT
from framelane.models.jungfrau.jf_scene import CHIP
from framelane.models.pedestal.jf_pedestal import SAMPLE, SHARE_BITS
from framelane.models.pedestal.jf_pedestal_settings import BLOCK
from framelane.models.pedestal.jf_pedestal_state import Chip
from framelane.receiver.pedestal._pedestal_update import update

_NONE = -1 << 15
"""Stands for a frame's centre if no word of the frame can be used."""

_FRAMES, _CENTRES, _FIRST, _LAST, _TICKS = map(int, (Chip.FRAMES, Chip.CENTRES, Chip.FIRST, Chip.LAST, Chip.TICKS))
_REFUSED, _BLANK, _OUTLIERS = map(int, (Chip.REFUSED, Chip.BLANK, Chip.OUTLIERS))


@compiled
def take(
    frames: NDArray[np.uint16],
    ticks: NDArray[np.int64],
    state: Any,
    first: int,
    end: int,
    alpha: NDArray[np.int32],
    beta: NDArray[np.int32],
    top: int,
    share: int,
    restart_blocks: int,
    bins: NDArray[np.int32],
) -> None:
    """Take dark `frames` (n, rows, columns) at `ticks` (n) into chips `first` to `end`.

    `state` has the arrays of `TrackerState` in their order, `bins` is scratch: int32 (1 << 15), zero before and after.
    """
    rows, columns = state[0].shape
    chips = state[10]
    across = -(-columns // CHIP)
    for index in range(first, end):
        chip = chips[index]
        row, column = index // across * CHIP, index % across * CHIP
        place = row, min(row + CHIP, rows), column, min(column + CHIP, columns)
        start = 0
        while start < ticks.size:
            stop = min(start + BLOCK - chip[_FRAMES], ticks.size)
            _sum_frames(frames[start:stop], ticks[start:stop], state, chip, place, top, share, bins)
            start = stop
            if chip[_FRAMES] == BLOCK:
                update(state, chip, place, alpha, beta, restart_blocks)


@compiled
def _sum_frames(
    frames: NDArray[np.uint16],
    ticks: NDArray[np.int64],
    state: Any,
    chip: NDArray[np.int64],
    place: tuple[int, int, int, int],
    top: int,
    share: int,
    bins: NDArray[np.int32],
) -> None:
    """Sum frames of a chip, not more than the block has room for.

    A row's part of the state stays in the cache for all frames: they are summed before it is known which of them are
    refused, and these are taken out again.
    """
    _, _, _, _, reference, limit, total, missed, lost_total, lost, _ = state
    top_row, bottom, left, right = place
    centres = np.empty(ticks.size, np.int16)
    outliers = np.zeros(ticks.size, np.int64)
    holes = np.zeros(ticks.size, np.int64)
    live = 0
    for n in range(ticks.size):
        centres[n] = _centre(frames[n], reference, limit, place, top, bins)
    for row in range(top_row, bottom):
        live_here = _live(limit[row, left:right])
        live += live_here
        for n in range(ticks.size):
            if centres[n] != _NONE:
                fits = _sum(
                    frames[n, row, left:right],
                    reference[row, left:right],
                    limit[row, left:right],
                    centres[n],
                    np.uint16(top),
                    total[row, left:right],
                    np.int16(1),
                )
                if fits != live_here:
                    there = _miss(
                        frames[n, row, left:right],
                        reference[row, left:right],
                        limit[row, left:right],
                        int(centres[n]),
                        top,
                        missed[row, left:right],
                        lost_total[row, left:right],
                        lost[row, left:right],
                        1,
                    )
                    outliers[n] += there
                    holes[n] += live_here - fits - there
    for n in range(ticks.size):
        if centres[n] == _NONE:
            chip[_BLANK] += 1
        elif outliers[n] << SHARE_BITS > (live - holes[n]) * share:
            chip[_REFUSED] += 1
            for row in range(top_row, bottom):
                _sum(
                    frames[n, row, left:right],
                    reference[row, left:right],
                    limit[row, left:right],
                    centres[n],
                    np.uint16(top),
                    total[row, left:right],
                    np.int16(-1),
                )
                _miss(
                    frames[n, row, left:right],
                    reference[row, left:right],
                    limit[row, left:right],
                    int(centres[n]),
                    top,
                    missed[row, left:right],
                    lost_total[row, left:right],
                    lost[row, left:right],
                    -1,
                )
        else:
            if chip[_FRAMES] == 0:
                chip[_FIRST] = ticks[n]
            chip[_OUTLIERS] += outliers[n]
            chip[_FRAMES] += 1
            chip[_CENTRES] += centres[n]
            chip[_TICKS] += ticks[n] - chip[_FIRST]
            chip[_LAST] = ticks[n]


@compiled
def _centre(
    words: NDArray[np.uint16],
    reference: NDArray[np.int16],
    limit: NDArray[np.int16],
    place: tuple[int, int, int, int],
    top: int,
    bins: NDArray[np.int32],
) -> int:
    """Median of the residuals of every 8th pixel; `_NONE`, which none can be, where there is none."""
    top_row, bottom, left, right = place
    n, least, most = 0, 2 * ADC_MASK, 0
    for row in range(top_row, bottom):
        for column in range(left + (top_row - row) % SAMPLE, right, SAMPLE):
            word = int(words[row, column])
            if word < top and limit[row, column] >= 0:
                at = word - int(reference[row, column]) + ADC_MASK
                bins[at] += 1
                least, most = min(least, at), max(most, at)
                n += 1
    if n == 0:
        return _NONE
    centre, before = 0, 0
    for at in range(least, most + 1):
        if before <= (n - 1) // 2:
            centre = at - ADC_MASK
        before += bins[at]
        bins[at] = 0
    return centre


@compiled
def _live(limit: NDArray[np.int16]) -> int:
    """Pixels of a row that are not masked."""
    live = np.uint16(0)
    for i in range(limit.size):
        live = np.uint16(live + np.uint16(limit[i] >= np.int16(0)))
    return int(live)


@compiled
def _sum(
    words: NDArray[np.uint16],
    reference: NDArray[np.int16],
    limit: NDArray[np.int16],
    centre: np.int16,
    top: np.uint16,
    total: NDArray[np.int16],
    sign: np.int16,
) -> int:
    """Add the words of a row that fit to the totals, or take them out again; their number."""
    # Sums as narrow as the pixels keep the vectors full; a chip's row is short enough for them.
    fits = np.uint16(0)
    for i in range(words.size):
        miss = np.int16(np.int16(np.int16(words[i] & np.uint16(ADC_MASK)) - reference[i]) - centre)
        fit = (words[i] < top) & (miss <= limit[i]) & (miss >= np.int16(-limit[i]))
        total[i] = np.int16(total[i] + np.int16(np.int16(miss * sign) * np.int16(fit)))
        fits = np.uint16(fits + np.uint16(fit))
    return int(fits)


@compiled
def _miss(
    words: NDArray[np.uint16],
    reference: NDArray[np.int16],
    limit: NDArray[np.int16],
    centre: int,
    top: int,
    missed: NDArray[np.uint8],
    lost_total: NDArray[np.int32],
    lost: NDArray[np.uint8],
    sign: int,
) -> int:
    """Count the words of a row that do not fit, or take them out again; how many of them are not holes or errors."""
    outliers = 0
    for i in range(words.size):
        word = int(words[i])
        miss = (word & ADC_MASK) - int(reference[i]) - centre
        if limit[i] >= 0 and (word >= top or abs(miss) > limit[i]):
            missed[i] += sign
            outliers += word >> STAGE_SHIFT != FORBIDDEN_STAGE and word != ERROR_WORD and word != G1_ZERO_WORD
            if word < top:
                lost_total[i] += sign * miss
                lost[i] += sign
    return outliers
