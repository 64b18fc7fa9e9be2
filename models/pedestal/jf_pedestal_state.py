"""The state of the tracking of the G0 pedestal: integers in arrays, the same for every implementation of it."""

from dataclasses import dataclass, field, fields
from enum import IntEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from framelane.base.errors import InputError
from framelane.models.jungfrau.jf_correct import ADC_MASK
from framelane.models.jungfrau.jf_scene import CHIP
from framelane.models.pedestal.dark_frames import TICK_NS
from framelane.models.pedestal.jf_pedestal_settings import BLOCK, TrackerSettings

LEVEL_BITS = 16
"""Fraction bits of a level, in ADU."""

RATE_BITS = 32
"""Fraction bits of a rate, in ADU a tick."""

MAX_PAUSE = 60 * 10**9 // TICK_NS
"""Ticks over which a drift is extrapolated at most. After a longer pause the pixels' averages grow anew."""

WEIGHT_AFTER_PAUSE = 16
MAX_AHEAD = 10**9 // TICK_NS
"""Ticks for which the reference of the next block looks ahead at most."""

MOST_START = 64
"""Blocks that a dark run counts at most: it knows the pixels' levels, but not how they drift."""


class Chip(IntEnum):
    """The columns of `TrackerState.chips`."""

    FRAMES = 0
    """Dark frames taken since the last update."""
    CENTRES = 1
    """Sum of their centres, ADU."""
    FIRST = 2
    """Tick of the first of them."""
    LAST = 3
    """Tick of the last."""
    TICKS = 4
    """Sum of their ticks since the first."""
    MIDDLE = 5
    """Tick of the middle of the block before."""
    COMMON = 6
    """What all pixels have drifted together, LEVEL_BITS."""
    RATE = 7
    """The same in ADU a tick, RATE_BITS."""
    BLOCKS = 8
    """Updates since the start."""
    REFUSED = 9
    """Frames that were not dark, since the start."""
    BLANK = 10
    """Frames of which no word could be used, since the start."""
    OUTLIERS = 11
    """Words that were not taken, of the frames that were, since the start."""
    RESTARTS = 12
    """Pixels that started anew, since the start."""


@dataclass(frozen=True, eq=False, slots=True)
class TrackerState:
    """One detector's state. Pixel arrays are (rows, columns); chips are squares of 256, the last of a row or column
    may be smaller. The pedestal is `level + COMMON`, each ahead of its time by its rate."""

    level: NDArray[np.int32]
    """A pixel's pedestal without what its chip has drifted, LEVEL_BITS, at its chip's MIDDLE."""
    rate: NDArray[np.int32]
    """Its change beside that of its chip, RATE_BITS."""
    weight: NDArray[np.uint16]
    """Blocks averaged: the entry of the table of gains."""
    astray: NDArray[np.uint8]
    """Blocks in a row that did not fit."""
    reference: NDArray[np.int16]
    """The pedestal in whole ADU that the residuals of the present block are taken from."""
    limit: NDArray[np.int16]
    """Furthest residual that is taken, ADU; -1: masked."""
    total: NDArray[np.int16]
    """Sum of the residuals taken in this block, each less its frame's centre."""
    missed: NDArray[np.uint8]
    """Frames of this block whose word was not taken; of pixels that are not masked."""
    lost_total: NDArray[np.int32]
    lost: NDArray[np.uint8]
    """Sum and number of those of them that are in G0, as above."""
    chips: NDArray[np.int64] = field(repr=False)
    """(chips, columns of `Chip`), chips row by row."""

    @classmethod
    def start(
        cls,
        pedestal_adu: NDArray[np.floating[Any]],
        masked: NDArray[np.bool_] | None = None,
        noise_adu: NDArray[np.floating[Any]] | None = None,
        frames: NDArray[np.integer[Any]] | None = None,
        settings: TrackerSettings | None = None,
    ) -> "TrackerState":
        """Begin with a dark run in plane 0: pedestals, masked pixels, rms of the noise, frames that were averaged.

        All (rows, columns). Where the rms is NaN, the frames are 0, or neither is given, the settings say what is
        typical. InputError where shapes differ, or a pixel that is not masked has no usable pedestal.
        """
        settings = settings or TrackerSettings()
        shape = pedestal_adu.shape
        mask = np.zeros(shape, np.bool_) if masked is None else masked
        noise = np.full(shape, np.nan) if noise_adu is None else noise_adu
        run = np.zeros(shape, np.int64) if frames is None else frames
        if len(shape) != 2 or 0 in shape or not shape == mask.shape == noise.shape == run.shape:
            raise InputError(
                f"pedestals {shape}, mask {mask.shape}, noise {noise.shape} and frames {run.shape} do not fit: give "
                "each as (rows, columns)"
            )
        bad = ~mask & ~((pedestal_adu >= 0) & (pedestal_adu <= ADC_MASK))
        if bad.any():
            row, column = np.unravel_index(int(bad.argmax()), shape)
            raise InputError(
                f"the pedestal of G0 is {pedestal_adu[row, column]:g} ADU at row {row} column {column}, and no number "
                f"from 0 to {ADC_MASK} at {np.count_nonzero(bad)} pixels: correct the dark run, or mask them"
            )
        level = np.rint(np.where(mask, 0, pedestal_adu).astype(np.float64) * (1 << LEVEL_BITS))
        sigmas = settings.outlier_sigmas * np.where(np.isfinite(noise), noise, settings.noise_adu)
        limit = np.rint(sigmas).clip(settings.least_limit_adu, settings.most_limit_adu)
        n_chips = -(-shape[0] // CHIP) * -(-shape[1] // CHIP)
        return cls(
            level=level.astype(np.int32),
            rate=np.zeros(shape, np.int32),
            weight=(np.where(run > 0, run, settings.dark_run_frames) // BLOCK).clip(0, MOST_START).astype(np.uint16),
            astray=np.zeros(shape, np.uint8),
            reference=np.rint(level / (1 << LEVEL_BITS)).astype(np.int16),
            limit=np.where(mask, -1, limit).astype(np.int16),
            total=np.zeros(shape, np.int16),
            missed=np.zeros(shape, np.uint8),
            lost_total=np.zeros(shape, np.int32),
            lost=np.zeros(shape, np.uint8),
            chips=np.zeros((n_chips, len(Chip)), np.int64),
        )

    @property
    def windows(self) -> list[tuple[slice, slice]]:
        """Rows and columns of every chip, in the order of `chips`."""
        rows, columns = self.level.shape
        return [
            np.s_[row : min(row + CHIP, rows), column : min(column + CHIP, columns)]
            for row in range(0, rows, CHIP)
            for column in range(0, columns, CHIP)
        ]

    def parts(self) -> "list[TrackerState]":
        """The state of each chip, as views of this one."""
        names = [each.name for each in fields(self) if each.name != "chips"]
        return [
            TrackerState(**{name: getattr(self, name)[window] for name in names}, chips=self.chips[index : index + 1])
            for index, window in enumerate(self.windows)
        ]

    def pedestal(self, fraction_bits: int, tick: int) -> NDArray[np.int64]:
        """The pedestal at `tick`, int64 (rows, columns), in `2**-fraction_bits` ADU."""
        shift = LEVEL_BITS - fraction_bits
        result = np.empty(self.level.shape, np.int64)
        for chip, window in zip(self.chips, self.windows, strict=True):
            passed = min(max(tick - int(chip[Chip.MIDDLE]), 0), MAX_PAUSE)
            drifted = (self.rate[window] + chip[Chip.RATE]) * passed >> RATE_BITS - LEVEL_BITS
            result[window] = (self.level[window] + chip[Chip.COMMON] + drifted + (1 << shift >> 1)) >> shift
        return result
