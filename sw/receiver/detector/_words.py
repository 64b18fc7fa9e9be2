"""Compiled pieces of the placing loop: a number of a header, and pixels on their way into an image."""

import numpy as np
from numpy.typing import NDArray

from framelane.base.compiled import compiled
from framelane.models.jungfrau.jf_correct import ERROR_WORD, FORBIDDEN_STAGE, STAGE_SHIFT
from framelane.models.placement.slots import HOLE_WORD

BESIDE_HOLE = HOLE_WORD + 1
"""What a pixel becomes that would read as a hole, where that is a value like others."""


@compiled
def number_at(octets: NDArray[np.uint8], packet: int, pad: int, place: tuple[int, int, int]) -> np.uint64:
    """The number at a `Place` of a packet, which begins at byte `pad` of its row of `octets`."""
    offset, width, big = place
    number = np.uint64(0)
    for k in range(width):
        at = offset + k if big else offset + width - 1 - k
        number = number << np.uint64(8) | np.uint64(octets[packet, pad + at])
    return number


@compiled
def copy(source: NDArray[np.uint16], target: NDArray[np.uint16], gain_code: bool, swapped: bool) -> int:
    """Copy words; those that would read as holes become others, and are counted."""
    wrong = np.uint16(0)
    if gain_code and not swapped:
        for i in range(source.size):
            word = source[i]
            is_wrong = word >> STAGE_SHIFT == FORBIDDEN_STAGE
            wrong = np.uint16(wrong + np.uint16(is_wrong))
            target[i] = ERROR_WORD if is_wrong else word
    elif gain_code:
        for i in range(source.size):
            word = np.uint16(source[i] << 8 | source[i] >> 8)
            is_wrong = word >> STAGE_SHIFT == FORBIDDEN_STAGE
            wrong = np.uint16(wrong + np.uint16(is_wrong))
            target[i] = ERROR_WORD if is_wrong else word
    elif swapped:
        for i in range(source.size):
            word = np.uint16(source[i] << 8 | source[i] >> 8)
            is_wrong = word == HOLE_WORD
            wrong = np.uint16(wrong + np.uint16(is_wrong))
            target[i] = BESIDE_HOLE if is_wrong else word
    else:
        for i in range(source.size):
            word = source[i]
            is_wrong = word == HOLE_WORD
            wrong = np.uint16(wrong + np.uint16(is_wrong))
            target[i] = BESIDE_HOLE if is_wrong else word
    return int(wrong)


@compiled
def copy_rows(
    source: NDArray[np.uint16],
    ring: NDArray[np.uint16],
    at: int,
    pixel: int,
    columns: int,
    pitch: int,
    gain_code: bool,
    swapped: bool,
) -> int:
    """The same into rows of `columns` words, the first at `at` of the ring, `pitch` words from one to the next.

    The first word is number `pixel` of them. Where the pitch is negative the rows go backwards.
    """
    wrong, done = 0, 0
    while done < source.size:
        row, column = divmod(pixel + done, columns)
        count = min(columns - column, source.size - done)
        to = at + row * pitch + column
        wrong += copy(source[done : done + count], ring[to : to + count], gain_code, swapped)
        done += count
    return wrong


@compiled
def fill_rows(ring: NDArray[np.uint16], at: int, pixel: int, count: int, columns: int, pitch: int) -> None:
    """`count` words of such rows become holes."""
    done = 0
    while done < count:
        row, column = divmod(pixel + done, columns)
        length = min(columns - column, count - done)
        to = at + row * pitch + column
        ring[to : to + length] = HOLE_WORD
        done += length
