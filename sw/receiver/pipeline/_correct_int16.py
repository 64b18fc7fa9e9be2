"""The fixed-point correction of frames, compiled by numba: the bits of `models.jf_correct.correct_int16`.

Almost every pixel of an image is in G0. A tile is therefore corrected as if all of it were, by vectors without
branches; the few words that are not are mended before the tile leaves the cache. Each tile is taken from all frames,
so that its constants are read from memory once. All arrays are flat. The functions release the GIL: the caller runs
one a band of the image.
"""

from typing import Any, NamedTuple

import numpy as np
from llvmlite import ir
from numpy.typing import NDArray

from framelane.base.compiled import compiled
from framelane.base.lanes import LANES, TILE, Lanes
from framelane.base.vector_loops import fence, g0_loop, inlined, lowest_bit, put
from framelane.models.jungfrau.jf_correct import ADC_MASK, MAX_VALUE
from framelane.models.jungfrau.jf_fixed import FixedCalibration
from framelane.receiver.pipeline._codes import MASKED, NOT_G0, code_of, special_from


class Constants(NamedTuple):
    """A `FixedCalibration` as the loops take it."""

    pedestal: NDArray[np.uint16]
    """Pedestal of G0 (pixels)."""
    mantissa: NDArray[np.uint16]
    """Mantissa of G0 (pixels)."""
    switched: NDArray[np.uint16]
    """Pedestal and mantissa of G1, then those of G2 (pixels, 4): few pixels need them, and then at one place."""
    shift: NDArray[np.int64]
    """Shift of G0, G1, G2: 1 to 31."""
    special: int
    """The smallest word that is not just one of G0 with a value."""


def arrange(fixed: FixedCalibration) -> Constants:
    """The constants of the loops. A shift of 0 becomes 1 with mantissas doubled: those too big for it clip anyway."""
    pedestal, mantissa = fixed.pedestal.reshape(3, -1), fixed.mantissa.reshape(3, -1)
    shift = np.array(fixed.shift, np.int64)
    if (shift == 0).any():
        mantissa = np.where(shift[:, None] == 0, np.minimum(mantissa, 0x7FFF) * 2, mantissa).astype(np.uint16)
    return Constants(
        np.ascontiguousarray(pedestal[0]),
        np.ascontiguousarray(mantissa[0]),
        np.stack([pedestal[1], mantissa[1], pedestal[2], mantissa[2]], axis=1),
        np.maximum(shift, 1),
        special_from(fixed.high_gain),
    )


def _correct_g0(lanes: Lanes, word: Any, pedestal: Any, mantissa: Any, shift: Any) -> Any:
    """Correct words of G0 in 32 bits: the sign of the product is kept apart, its magnitude is below 2**32.

    With m the magnitude, and n = 1 where the product is negative, else 0, the contract's q is (m - n + half) >> shift,
    negated where n is 1: there halves go towards zero. And (x + half) >> shift is ((x >> (shift - 1)) + 1) >> 1,
    whose sum has no carry.
    """
    build, narrow, wide = lanes.builder, ir.IntType(16), ir.IntType(32)

    def widen(value: Any) -> Any:
        return build.zext(value, lanes.of(wide))

    quarters = build.shl(word, lanes.fill(narrow, 2))
    negative = build.icmp_unsigned("<", quarters, pedestal)
    charge = build.sub(build.select(negative, pedestal, quarters), build.select(negative, quarters, pedestal))
    product = build.add(build.mul(widen(charge), widen(mantissa)), build.sext(negative, lanes.of(wide)))
    one, limit = lanes.fill(wide, 1), lanes.fill(wide, MAX_VALUE)
    shift_but_one = lanes.spread(build.sub(build.trunc(shift, wide), ir.Constant(wide, 1)))
    rounded = build.lshr(build.add(build.lshr(product, shift_but_one), one), one)
    clipped = build.select(build.icmp_unsigned(">", rounded, limit), limit, rounded)
    magnitude = build.trunc(clipped, lanes.of(narrow))
    value = build.select(negative, build.neg(magnitude), magnitude)
    return build.select(build.icmp_unsigned("==", mantissa, lanes.fill(narrow, 0)), lanes.fill(narrow, MASKED), value)


_g0 = g0_loop(_correct_g0)


@inlined
def _correct(
    word: int,
    at: int,
    pedestal: NDArray[np.uint16],
    mantissa: NDArray[np.uint16],
    switched: NDArray[np.uint16],
    shift: NDArray[np.int64],
    special: int,
) -> int:
    """Correct any word of pixel `at`."""
    stage = (word >= NOT_G0) + (word >= 2 * NOT_G0)
    quarters = (word & ADC_MASK) * 4
    if stage == 0:
        charge, scale = quarters - int(pedestal[at]), int(mantissa[at])
    else:
        charge, scale = int(switched[at, 2 * stage - 2]) - quarters, int(switched[at, 2 * stage - 1])
    code: int = code_of(word, scale != 0, special)
    if code != 0:
        return code
    value: int = (charge * scale + (1 << shift[stage] >> 1)) >> shift[stage]
    return min(max(value, -MAX_VALUE), MAX_VALUE)


@inlined
def tile(
    raw: NDArray[np.uint16],
    raw_at: int,
    ahead: int,
    pedestal: NDArray[np.uint16],
    mantissa: NDArray[np.uint16],
    switched: NDArray[np.uint16],
    shift: NDArray[np.int64],
    special: int,
    at: int,
    result: NDArray[np.int16],
    pixels: int,
    found: NDArray[np.uint32],
) -> bool:
    """Correct `pixels` words from `raw_at` on, of pixel `at` and following; whether a whole vector held special words.

    The words `ahead` of these are the next to be corrected. `result` takes the values; of `found`, which is scratch,
    each element stands for `LANES` pixels.
    """
    any_found: bool = _g0(raw, raw_at, ahead, pedestal, mantissa, at, shift[0], result, pixels, special, found) != 0
    vectors = pixels // LANES
    if any_found:
        for vector in range(vectors):
            bits = found[vector]
            while bits != 0:
                i = vector * LANES + lowest_bit(bits)
                bits &= np.uint32(bits - np.uint32(1))
                result[i] = _correct(int(raw[raw_at + i]), at + i, pedestal, mantissa, switched, shift, special)
    for i in range(vectors * LANES, pixels):
        result[i] = _correct(int(raw[raw_at + i]), at + i, pedestal, mantissa, switched, shift, special)
    return any_found


@compiled
def frames(
    raw: NDArray[np.uint16],
    raw_stride: int,
    pedestal: NDArray[np.uint16],
    mantissa: NDArray[np.uint16],
    switched: NDArray[np.uint16],
    shift: NDArray[np.int64],
    special: int,
    image: NDArray[np.int16],
    image_stride: int,
    count: int,
    first: int,
    end: int,
    past_caches: bool,
) -> None:
    """Correct pixels `first` to `end` of `count` frames, which begin every so many elements of `raw` and `image`."""
    found = np.empty(TILE // LANES, np.uint32)
    result = np.empty(TILE, np.int16)
    for at in range(first, end, TILE):
        pixels = min(TILE, end - at)
        for frame in range(count):
            raw_at, image_at = frame * raw_stride + at, frame * image_stride + at
            ahead = raw_stride if frame + 1 < count else TILE - frame * raw_stride
            tile(raw, raw_at, ahead, pedestal, mantissa, switched, shift, special, at, result, pixels, found)
            put(result, image, image_at, pixels, past_caches)
    if past_caches:
        fence()
