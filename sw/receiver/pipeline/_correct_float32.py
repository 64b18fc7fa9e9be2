"""The correction of frames to float32, compiled by numba; `correction` says which operations, so that bits are equal.

As in `_correct_int16`: tiles of all frames by vectors, as if all were in G0, then the few words that are not.
"""

from typing import Any, Literal, NamedTuple

import numpy as np
from llvmlite import ir
from numpy.typing import NDArray

from framelane.base.compiled import compiled
from framelane.base.lanes import LANES, TILE, Lanes
from framelane.base.vector_loops import fence, g0_loop, inlined, lowest_bit, put
from framelane.models.jungfrau.jf_calibration import Calibration
from framelane.models.jungfrau.jf_correct import ADC_MASK
from framelane.receiver.pipeline._codes import MASKED, NOT_G0, code_of, special_from


class Constants(NamedTuple):
    """A `Calibration` as the loops take it."""

    pedestal: NDArray[np.float32]
    """Pedestal of G0 (pixels), ADU."""
    scale: NDArray[np.float32]
    """Scale of G0 (pixels), photons or keV per ADU; NaN where the pixel cannot be used."""
    switched: NDArray[np.float64]
    """Pedestal, and ADU per photon or keV, of G1, then those of G2 (pixels, 4); NaN where it cannot be used."""
    special: int
    """The smallest word that is not just one of G0 with a value."""


def arrange(calibration: Calibration, unit: Literal["photons", "keV"]) -> Constants:
    """The constants of the loops."""
    pedestal = np.where(calibration.usable, calibration.pedestal, 0).astype(np.float64).reshape(3, -1)
    per_unit = np.where(calibration.usable, calibration.gain, np.nan).astype(np.float64).reshape(3, -1)
    if unit == "photons":
        per_unit *= calibration.photon_energy_kev
    return Constants(
        pedestal[0].astype(np.float32),
        (1 / per_unit[0]).astype(np.float32),
        np.stack([pedestal[1], per_unit[1], pedestal[2], per_unit[2]], axis=1),
        special_from(calibration.high_gain),
    )


def _correct_g0(lanes: Lanes, word: Any, pedestal: Any, scale: Any, _: Any) -> Any:
    """Correct words of G0."""
    build = lanes.builder
    adc = build.uitofp(word, lanes.of(ir.FloatType()))
    return build.fmul(build.fsub(adc, pedestal), scale)


def _code_g0(lanes: Lanes, _: Any, __: Any, scale: Any, ___: Any) -> Any:
    """The codes of words of G0."""
    masked = lanes.builder.fcmp_unordered("uno", scale, scale)
    return lanes.builder.select(masked, lanes.fill(ir.IntType(16), MASKED), lanes.fill(ir.IntType(16), 0))


_g0, _g0_codes = g0_loop(_correct_g0), g0_loop(_code_g0)


@inlined
def _correct(
    word: int,
    at: int,
    pedestal: NDArray[np.float32],
    scale: NDArray[np.float32],
    switched: NDArray[np.float64],
    special: int,
) -> tuple[np.float32, int]:
    """Correct any word of pixel `at`: value and code."""
    if word < NOT_G0:
        usable = not np.isnan(scale[at])
        value = (np.float32(word) - pedestal[at]) * scale[at]
    else:
        stage = 0 if word < 2 * NOT_G0 else 2
        per_unit = switched[at, stage + 1]
        usable = not np.isnan(per_unit)
        value = np.float32((np.float64(word & ADC_MASK) - switched[at, stage]) / per_unit)
    code = code_of(word, usable, special)
    return (np.float32(np.nan) if code != 0 else value), code


@compiled
def frames(
    raw: NDArray[np.uint16],
    raw_stride: int,
    pedestal: NDArray[np.float32],
    scale: NDArray[np.float32],
    switched: NDArray[np.float64],
    special: int,
    image: NDArray[np.float32],
    image_stride: int,
    codes: NDArray[np.int16],
    codes_stride: int,
    count: int,
    first: int,
    end: int,
    past_caches: bool,
) -> None:
    """Correct pixels `first` to `end` of `count` frames, which begin every so many elements of the flat arrays.

    `codes` is empty where none are asked for.
    """
    found = np.empty(TILE // LANES, np.uint32)
    values, their_codes = np.empty(TILE, np.float32), np.empty(TILE, np.int16)
    for at in range(first, end, TILE):
        pixels = min(TILE, end - at)
        whole = pixels // LANES * LANES
        for frame in range(count):
            raw_at = frame * raw_stride + at
            ahead = raw_stride if frame + 1 < count else TILE - frame * raw_stride
            any_found = _g0(raw, raw_at, ahead, pedestal, scale, at, 0, values, pixels, special, found) != 0
            if codes.size > 0:
                _g0_codes(raw, raw_at, ahead, pedestal, scale, at, 0, their_codes, pixels, special, found)
            if any_found:
                for start in range(0, whole, LANES):
                    bits = found[start // LANES]
                    while bits != 0:
                        i = start + lowest_bit(bits)
                        bits &= np.uint32(bits - np.uint32(1))
                        word = int(raw[raw_at + i])
                        values[i], their_codes[i] = _correct(word, at + i, pedestal, scale, switched, special)
            for i in range(whole, pixels):
                values[i], their_codes[i] = _correct(int(raw[raw_at + i]), at + i, pedestal, scale, switched, special)
            put(values, image, frame * image_stride + at, pixels, past_caches)
            if codes.size > 0:
                put(their_codes, codes, frame * codes_stride + at, pixels, False)
    if past_caches:
        fence()
