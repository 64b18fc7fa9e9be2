"""The correction of frames by numpy alone, a block of rows at a time."""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from framelane.models.jungfrau.jf_correct import (
    ADC_MASK,
    ERROR_WORD,
    FORBIDDEN_STAGE,
    G1_ZERO_WORD,
    SATURATED_WORD,
    STAGE_SHIFT,
    PixelCode,
    correct_int16,
)
from framelane.models.jungfrau.jf_fixed import FixedCalibration
from framelane.models.placement.slots import HOLE_WORD
from framelane.receiver.pipeline._codes import NOT_G0
from framelane.receiver.pipeline._correct_float32 import Constants

BLOCK_PIXELS = 1 << 16
"""Pixels of a block, so that what numpy needs in between stays in the L2 cache."""


def int16(fixed: FixedCalibration, raw: NDArray[np.uint16], image: NDArray[np.int16]) -> None:
    """Correct (frames, rows, columns) by the model."""
    _, rows, columns = raw.shape
    step = max(1, BLOCK_PIXELS // columns)
    for row in range(0, rows, step):
        block = np.s_[:, row : row + step]
        constants = replace(fixed, pedestal=fixed.pedestal[block], mantissa=fixed.mantissa[block])
        for words, result in zip(raw[block], image[block], strict=True):
            result[:] = correct_int16(words, constants)


def float32(
    constants: Constants, raw: NDArray[np.uint16], image: NDArray[np.float32], codes: NDArray[np.int16]
) -> None:
    """Correct (frames, rows, columns) by the operations of `_correct_float32`; `codes` may have no frames."""
    _, rows, columns = raw.shape
    step = max(1, BLOCK_PIXELS // columns)
    for row in range(0, rows, step):
        span = np.s_[row * columns : (row + step) * columns]
        block = constants._replace(
            pedestal=constants.pedestal[span], scale=constants.scale[span], switched=constants.switched[span]
        )
        for frame in range(len(raw)):
            words = raw[frame, row : row + step]
            values, their_codes = _float32(words.reshape(-1), block)
            image[frame, row : row + step] = values.reshape(words.shape)
            if len(codes):
                codes[frame, row : row + step] = their_codes.reshape(words.shape)


def _float32(raw: NDArray[np.uint16], constants: Constants) -> tuple[NDArray[np.float32], NDArray[np.int16]]:
    """Values and codes of (pixels)."""
    values = (raw.astype(np.float32) - constants.pedestal) * constants.scale
    codes = np.where(np.isnan(constants.scale), np.int16(PixelCode.MASKED), np.int16(0))
    special = np.flatnonzero(raw >= constants.special)
    word = raw[special]
    pedestal, per_unit = constants.switched[special].reshape(-1, 2, 2)[np.arange(len(word)), (word >> 15)].T
    switched = word >= NOT_G0
    values[special] = np.where(switched, ((word & ADC_MASK) - pedestal) / per_unit, values[special])
    per_unit = np.where(switched, per_unit, constants.scale[special])
    codes[special] = np.select(
        [
            word == HOLE_WORD,
            (word >> STAGE_SHIFT == FORBIDDEN_STAGE) | (word == ERROR_WORD) | (word == G1_ZERO_WORD),
            np.isnan(per_unit),
            ~switched | (word == SATURATED_WORD),
        ],
        [PixelCode.HOLE, PixelCode.INVALID, PixelCode.MASKED, PixelCode.SATURATED],
    )
    values[codes != 0] = np.nan
    return values, codes
