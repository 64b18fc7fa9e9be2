"""Words that have no value, compiled by numba: the codes of `models.jf_correct`."""

from framelane.base.vector_loops import inlined
from framelane.models.jungfrau.jf_correct import (
    ERROR_WORD,
    FORBIDDEN_STAGE,
    G1_ZERO_WORD,
    HG0_SATURATED_WORD,
    SATURATED_WORD,
    STAGE_SHIFT,
    PixelCode,
)
from framelane.models.placement.slots import HOLE_WORD

HOLE, INVALID = int(PixelCode.HOLE), int(PixelCode.INVALID)
MASKED, SATURATED = int(PixelCode.MASKED), int(PixelCode.SATURATED)
NOT_G0 = 1 << STAGE_SHIFT
"""The smallest word that is not in G0."""


def special_from(high_gain: bool) -> int:
    """The smallest word that is not just one of G0 with a value."""
    return HG0_SATURATED_WORD if high_gain else NOT_G0


@inlined
def code_of(word: int, usable: bool, special: int) -> int:
    """0 for a word that has a value, else its `PixelCode`; `usable` tells whether the pixel is, in the word's stage."""
    if word == HOLE_WORD:
        return HOLE
    if word >> STAGE_SHIFT == FORBIDDEN_STAGE or word in (ERROR_WORD, G1_ZERO_WORD):
        return INVALID
    if not usable:
        return MASKED
    if word == SATURATED_WORD or special <= word < NOT_G0:
        return SATURATED
    return 0
