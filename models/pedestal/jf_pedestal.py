"""Tracking of the G0 pedestal from dark frames, in integers: the golden model.

A chip's pixels mostly drift together. What they do together is known from every single frame, since 65,536 pixels share
the noise; so the small rest of a pixel can be averaged for minutes without lagging behind. Reasons and figures are in
`docs/howto/pedestal_tracking.md`. Two steps, each for one chip at a time, all divisions and shifts rounding down:

A dark frame. Words of G0 of pixels that are not masked have a residual r, ADC less `reference`. The frame's centre m is
the median of r where row + column in the chip is a multiple of 8. `|r - m| <= limit` is taken: `total += r - m`. The
others, and words of G1 and G2, are outliers; a frame with too many of them is refused for this chip.

An update, when 32 frames have been taken. With e ticks since the last one,

    k = reference - level - rate * e                      by how much the residuals should be high
    w = total + taken * k                                 the pixel's misses, summed
    z = sum of w / sum of taken, both over the chip
    measured = z + mean of m                              what the chip has drifted
    COMMON, RATE: an alpha-beta filter of `measured`, alpha = 1/2, beta = 1/8; the first two blocks begin it, and a
                  step of more than 4 ADU is taken over into COMMON at once
    q = (w - taken * z) / 32                              what the pixel has drifted beside its chip
    level += rate * e + alpha * q,  rate += beta * q / e  by the table of gains

A pixel that misses by more than a quarter of its limit, or of which nothing was taken, is astray and not averaged; it
starts anew after some blocks in a row.
"""

import numpy as np
from numpy.typing import NDArray

from framelane.base.errors import InputError
from framelane.models.jungfrau.jf_correct import ADC_MASK, ERROR_WORD, FORBIDDEN_STAGE, G1_ZERO_WORD, STAGE_SHIFT
from framelane.models.pedestal.jf_pedestal_settings import (
    ALPHA_BITS,
    BETA_BITS,
    BLOCK,
    BLOCK_BITS,
    GAINS,
    TrackerSettings,
    gains,
)
from framelane.models.pedestal.jf_pedestal_state import (
    LEVEL_BITS,
    MAX_AHEAD,
    MAX_PAUSE,
    RATE_BITS,
    WEIGHT_AFTER_PAUSE,
    Chip,
    TrackerState,
)

SAMPLE = 8
SHARE_BITS = 16
INVERSE_BITS = 24
CHIP_ALPHA_SHIFT, CHIP_BETA_SHIFT = 1, 3
CHIP_STEP = 4 << LEVEL_BITS
"""By more than that from one block to the next a chip does not drift: it has stepped."""

_RATE_SHIFT = RATE_BITS - LEVEL_BITS


class PedestalModel:
    """Follows the pedestal of plane 0 of a detector: G0, or HG0 where `high_gain`."""

    def __init__(self, state: TrackerState, settings: TrackerSettings, high_gain: bool = False) -> None:
        self.state = state
        self._alpha, self._beta = gains(settings)
        self._top = ADC_MASK if high_gain else ADC_MASK + 1
        self._share = round(settings.most_outliers * (1 << SHARE_BITS))
        self._restart_blocks = settings.restart_blocks

    def take(self, raw: NDArray[np.uint16], tick: int) -> None:
        """One dark frame, uint16 (rows, columns), else InputError; `tick` is that of `DarkClock`."""
        if raw.dtype != np.uint16 or raw.shape != self.state.level.shape:
            raise InputError(f"the frame is {raw.dtype} {raw.shape}, the tracking is for {self.state.level.shape}")
        for pixels, window in zip(self.state.parts(), self.state.windows, strict=True):
            if self._frame(pixels, raw[window].astype(np.int64), tick):
                self._update(pixels)

    def _frame(self, pixels: TrackerState, words: NDArray[np.int64], tick: int) -> bool:
        """Sum one frame of a chip; whether the block is full."""
        chip, limit = pixels.chips[0], pixels.limit
        forbidden = (words >> STAGE_SHIFT == FORBIDDEN_STAGE) | (words == ERROR_WORD) | (words == G1_ZERO_WORD)
        usable = (limit >= 0) & ~forbidden
        low = usable & (words < self._top)
        residual = words - pixels.reference
        row, column = np.ogrid[: words.shape[0], : words.shape[1]]
        sample = np.sort(residual[low & ((row + column) % SAMPLE == 0)])
        if not sample.size:
            chip[Chip.BLANK] += 1
            return False
        centre = int(sample[(sample.size - 1) // 2])
        residual -= centre
        fits = low & (np.abs(residual) <= limit)
        outliers, n = np.count_nonzero(usable & ~fits), np.count_nonzero(usable)
        if outliers << SHARE_BITS > n * self._share:
            chip[Chip.REFUSED] += 1
            return False
        pixels.total[fits] += residual[fits].astype(np.int16)
        pixels.missed[(limit >= 0) & ~fits] += 1
        pixels.lost_total[low & ~fits] += residual[low & ~fits].astype(np.int32)
        pixels.lost[low & ~fits] += 1
        if not chip[Chip.FRAMES]:
            chip[Chip.FIRST] = tick
        chip[Chip.OUTLIERS] += outliers
        chip[Chip.FRAMES] += 1
        chip[Chip.CENTRES] += centre
        chip[Chip.TICKS] += tick - chip[Chip.FIRST]
        chip[Chip.LAST] = tick
        return bool(chip[Chip.FRAMES] == BLOCK)

    def _update(self, pixels: TrackerState) -> None:
        """Make new pedestals of a full block of a chip."""
        chip = pixels.chips[0]
        span = int(chip[Chip.LAST] - chip[Chip.FIRST])
        middle = int(chip[Chip.FIRST] + (chip[Chip.TICKS] >> BLOCK_BITS))
        elapsed = max(middle - int(chip[Chip.MIDDLE]) if chip[Chip.BLOCKS] else span, 1)
        if elapsed > MAX_PAUSE:
            elapsed = MAX_PAUSE
            np.minimum(pixels.weight, WEIGHT_AFTER_PAUSE, out=pixels.weight)
        level, rate = pixels.level.astype(np.int64), pixels.rate.astype(np.int64)
        taken = np.where(pixels.limit >= 0, BLOCK - pixels.missed.astype(np.int64), 0)
        level = _clip(level + (rate * elapsed >> _RATE_SHIFT))
        k = (pixels.reference.astype(np.int64) << LEVEL_BITS) - level
        w = (pixels.total.astype(np.int64) << LEVEL_BITS) + taken * k
        z = int(w.sum()) // int(taken.sum())
        self._update_chip(chip, z, elapsed)
        miss = w - taken * z
        limit, lost = pixels.limit.astype(np.int64), pixels.lost.astype(np.int64)
        odd = (np.abs(miss) > taken * (limit << LEVEL_BITS - 2)) | ((taken == 0) & (lost >= BLOCK // 2))
        pixels.astray[:] = np.where(odd, pixels.astray + 1, np.where(taken > 0, 0, pixels.astray))
        good = (taken > 0) & ~odd
        q = miss + (BLOCK >> 1) >> BLOCK_BITS
        step = q * self._alpha[pixels.weight] + (1 << ALPHA_BITS >> 1) >> ALPHA_BITS
        turn = (q * self._beta[pixels.weight] >> BETA_BITS - _RATE_SHIFT) * ((1 << INVERSE_BITS) // elapsed)
        turn = turn + (1 << INVERSE_BITS >> 1) >> INVERSE_BITS
        level[good] += step[good]
        rate[good] += turn[good]
        pixels.weight[good & (taken >= BLOCK // 2)] += 1
        anew = pixels.astray >= self._restart_blocks
        seen = (taken + lost)[anew]
        shown = (pixels.total.astype(np.int64) + pixels.lost_total)[anew] << LEVEL_BITS
        level[anew] = (pixels.reference[anew].astype(np.int64) << LEVEL_BITS) + shown // seen - z
        rate[anew] = pixels.weight[anew] = pixels.astray[anew] = 0
        chip[Chip.RESTARTS] += np.count_nonzero(anew)
        np.minimum(pixels.weight, GAINS - 1, out=pixels.weight)
        pixels.level[:], pixels.rate[:] = _clip(level), _clip(rate)
        for sums in (pixels.total, pixels.missed, pixels.lost_total, pixels.lost):
            sums[:] = 0
        chip[[Chip.FRAMES, Chip.CENTRES, Chip.TICKS]] = 0
        chip[Chip.BLOCKS] += 1
        chip[Chip.MIDDLE] = middle
        pixels.reference[:] = pixels.pedestal(0, middle + min(span, MAX_AHEAD)).clip(0, ADC_MASK)

    def _update_chip(self, chip: NDArray[np.int64], z: int, elapsed: int) -> None:
        measured = z + (int(chip[Chip.CENTRES]) << LEVEL_BITS >> BLOCK_BITS)
        if not chip[Chip.BLOCKS]:
            chip[Chip.COMMON] = measured
            return
        predicted = int(chip[Chip.COMMON]) + (int(chip[Chip.RATE]) * elapsed >> _RATE_SHIFT)
        miss = measured - predicted
        info = np.iinfo(np.int32)
        turn = min(max(miss, -CHIP_STEP), CHIP_STEP) << _RATE_SHIFT
        second = chip[Chip.BLOCKS] == 1
        rate = int(chip[Chip.RATE]) + (turn // elapsed >> (0 if second else CHIP_BETA_SHIFT))
        exact = second or abs(miss) > CHIP_STEP
        chip[Chip.COMMON] = measured if exact else predicted + (miss >> CHIP_ALPHA_SHIFT)
        chip[Chip.RATE] = min(max(rate, info.min), info.max)


def _clip(values: NDArray[np.int64]) -> NDArray[np.int64]:
    info = np.iinfo(np.int32)
    return values.clip(info.min, info.max)
