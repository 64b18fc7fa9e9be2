"""JUNGFRAU correction: the hardware's integers, the codes, and how far they may be from float64."""

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from framelane.base.errors import InputError
from framelane.models.jungfrau.jf_calibration import Calibration
from framelane.models.jungfrau.jf_correct import PixelCode, correct_float, correct_int16, error_bound, guard
from framelane.models.jungfrau.jf_fixed import FixedCalibration, quantize
from framelane.receiver.jungfrau.jungfrau_file import JungfrauFile

MakeCalibration = Callable[..., Calibration]

ALL_WORDS = np.arange(0x10000, dtype=np.uint16).reshape(256, 256)


def scattered(seed: int, shape: tuple[int, int]) -> Calibration:
    """A calibration as far from nominal as pixels may be: any pedestal, gains over a factor of 16, another energy."""
    rng = np.random.default_rng(seed)
    gain = np.array([41.0, -1.44, -0.1145]).reshape(3, 1, 1) * 2 ** rng.uniform(-1.99, 1.99, (3, *shape))
    return Calibration(rng.uniform(0, 16383.75, (3, *shape)), gain, float(rng.uniform(5, 80)))


def slow(
    word: int, pedestal: list[int], mantissa: list[int], shift: tuple[int, int, int], high_gain: bool = False
) -> int:
    """The contract for one word, in exact integers: no shifts, no arrays, nothing shared with the model."""
    gain_code, adc = divmod(word, 1 << 14)
    if word == 0x8000:
        return -32768
    if gain_code == 2 or word in (0xFFFF, 0x4000):
        return -32766
    stage = {0: 0, 1: 1, 3: 2}[gain_code]
    if mantissa[stage] == 0:
        return -32767
    if word == 0xC000 or (high_gain and word == 0x3FFF):
        return 32767
    charge = 4 * adc - pedestal[stage]
    assert -(2**16) <= charge < 2**16, "does not fit 17 bits"
    product = charge * mantissa[stage] * (1, -1, -1)[stage]
    unit: int = 2 ** shift[stage]
    assert -(2**33) <= product + unit // 2 < 2**33, "does not fit 34 bits"
    rounded = (2 * product + unit) // (2 * unit)
    return max(-32700, min(32700, rounded))


EXTREMES = list(itertools.product((0, 9601, 0xFFFF), (0, 1, 0x8000, 0xFFFF), (0, 17, 31)))


@pytest.mark.parametrize(("pedestal", "mantissa", "shift"), EXTREMES)
def test_every_word_equals_exact_integers_at_the_ends_of_every_constant(
    pedestal: int, mantissa: int, shift: int
) -> None:
    planes = (3, *ALL_WORDS.shape)
    fixed = FixedCalibration(
        np.full(planes, pedestal, np.uint16), np.full(planes, mantissa, np.uint16), (shift, shift, shift)
    )
    constants = [pedestal] * 3, [mantissa] * 3, fixed.shift
    expected = [slow(word, *constants) for word in range(0x10000)]
    assert correct_int16(ALL_WORDS, fixed).ravel().tolist() == expected


@pytest.mark.parametrize("high_gain", [False, True])
@pytest.mark.parametrize("shift", [(26, 21, 18), (0, 31, 1), (12, 0, 31)])
def test_every_word_equals_exact_integers_where_every_pixel_and_stage_differs(
    shift: tuple[int, int, int], high_gain: bool
) -> None:
    rng = np.random.default_rng(shift[0])
    pedestal = rng.integers(0, 0x10000, (3, *ALL_WORDS.shape), np.uint16)
    mantissa = rng.integers(0, 0x10000, (3, *ALL_WORDS.shape), np.uint16)
    mantissa[rng.random(mantissa.shape) < 0.1] = 0
    constants = zip(pedestal.reshape(3, -1).T.tolist(), mantissa.reshape(3, -1).T.tolist(), strict=True)
    expected = [slow(word, *pixel, shift, high_gain) for word, pixel in enumerate(constants)]
    fixed = FixedCalibration(pedestal, mantissa, shift, high_gain=high_gain)
    assert correct_int16(ALL_WORDS, fixed).ravel().tolist() == expected


def test_in_high_gain_the_last_word_of_the_first_stage_is_saturated(make_calibration: MakeCalibration) -> None:
    raw = np.array([[0x3FFE, 0x3FFF, 0x7FFF], [0x3FFF, 0xC000, 0x0000]], np.uint16)
    mask = np.zeros((2, 3), np.bool_)
    mask[1, 0] = True
    for high_gain, code in ((True, PixelCode.SATURATED), (False, 0)):
        calibration = make_calibration(mask=mask, high_gain=high_gain)
        bits, codes = correct_int16(raw, quantize(calibration)), correct_float(raw, calibration).codes
        assert codes.tolist() == [[0, code, 0], [PixelCode.MASKED, PixelCode.SATURATED, 0]]
        np.testing.assert_array_equal(bits[codes != 0], codes[codes != 0])
        assert np.isnan(error_bound(raw, calibration, quantize(calibration))[0, 1]) == high_gain


@pytest.mark.parametrize(
    ("word", "masked_stage", "code"),
    [
        (0x8000, None, PixelCode.HOLE),
        (0x8000, 2, PixelCode.HOLE),
        (0x8001, None, PixelCode.INVALID),
        (0xBFFF, 2, PixelCode.INVALID),
        (0xFFFF, 2, PixelCode.INVALID),
        (0x4000, 1, PixelCode.INVALID),
        (0xC000, 2, PixelCode.MASKED),
        (0xC000, None, PixelCode.SATURATED),
        (0x1000, 0, PixelCode.MASKED),
        (0x5000, 1, PixelCode.MASKED),
        (0xF000, 2, PixelCode.MASKED),
        (0x1000, 1, 0),
        (0x5000, 2, 0),
        (0xF000, 0, 0),
    ],
)
def test_a_word_without_a_value_gets_its_code_in_integers_and_in_float(
    make_calibration: MakeCalibration, word: int, masked_stage: int | None, code: int
) -> None:
    mask = np.zeros((3, 2, 3), np.bool_)
    if masked_stage is not None:
        mask[masked_stage, 1, 2] = True
    raw = np.full((2, 3), 0x1000, np.uint16)
    raw[1, 2] = word
    calibration = make_calibration(mask=mask)
    fixed = quantize(calibration)
    bits, (values, codes), bound = (
        correct_int16(raw, fixed),
        correct_float(raw, calibration),
        error_bound(raw, calibration, fixed),
    )
    assert codes[1, 2] == code
    assert np.isnan(values[1, 2]) == np.isnan(bound[1, 2]) == bool(code)
    assert bits[1, 2] == code if code else abs(bits[1, 2]) <= 32700
    assert np.count_nonzero(codes) == bool(code), "a neighbour lost its value"


@pytest.mark.parametrize("fraction_bits", [0, 4, 8])
@pytest.mark.parametrize("seed", range(4))
def test_no_word_of_a_scattered_calibration_is_further_from_float64_than_the_bound(
    seed: int, fraction_bits: int
) -> None:
    calibration = scattered(seed, ALL_WORDS.shape)
    fixed = quantize(calibration, fraction_bits)
    bits, (values, codes) = correct_int16(ALL_WORDS, fixed), correct_float(ALL_WORDS, calibration)
    assert (codes == np.where(np.isnan(values), bits, 0)).all()
    limit = 32700 / 2**fraction_bits
    good = codes == 0
    error = np.abs(bits / 2**fraction_bits - values.clip(-limit, limit))[good]
    bound = error_bound(ALL_WORDS, calibration, fixed)[good]
    assert (error <= bound).all()
    assert (error / bound).max() > 0.95, "the bound is loose"


def test_a_stage_without_calibration_gives_masked_pixels(make_calibration: MakeCalibration) -> None:
    mask = np.zeros((3, 2, 3), np.bool_)
    mask[2] = True
    fixed = quantize(make_calibration(mask=mask))
    words = np.array([[0x1000, 0x5000, 0xF000]] * 2, np.uint16)
    assert (correct_int16(words, fixed) == PixelCode.MASKED).tolist() == [[False, False, True]] * 2


def test_frames_are_corrected_as_each_alone() -> None:
    calibration = scattered(9, (16, 32))
    fixed = quantize(calibration)
    frames = np.random.default_rng(1).integers(0, 0x10000, (3, 16, 32), np.uint16)
    bits, floats, bound = (
        correct_int16(frames, fixed),
        correct_float(frames, calibration),
        error_bound(frames, calibration, fixed),
    )
    for n, frame in enumerate(frames):
        np.testing.assert_array_equal(bits[n], correct_int16(frame, fixed))
        np.testing.assert_array_equal(floats.values[n], correct_float(frame, calibration).values)
        np.testing.assert_array_equal(floats.codes[n], correct_float(frame, calibration).codes)
        np.testing.assert_array_equal(bound[n], error_bound(frame, calibration, fixed))


def test_kev_are_photons_times_their_energy(make_calibration: MakeCalibration) -> None:
    calibration = make_calibration(ALL_WORDS.shape)
    photons, kev = correct_float(ALL_WORDS, calibration), correct_float(ALL_WORDS, calibration, "keV")
    np.testing.assert_allclose(kev.values, photons.values * 12.4, rtol=1e-12)
    assert kev.values[0, 0] == -2400 / 41


def test_the_source_sends_no_word_of_gain_code_10() -> None:
    guarded, count = guard(ALL_WORDS)
    assert count == 0x4000
    forbidden = ALL_WORDS >> 14 == 0b10
    assert (guarded[forbidden] == 0xFFFF).all()
    assert (guarded[~forbidden] == ALL_WORDS[~forbidden]).all()
    assert guarded.dtype == np.uint16


@pytest.mark.parametrize(
    "raw",
    [
        np.zeros((2, 3), np.int32),
        np.zeros((3, 2), np.uint16),
        np.zeros(3, np.uint16),
        np.zeros((1, 1, 2, 3), np.uint16),
    ],
)
def test_words_of_another_detector_are_refused(make_calibration: MakeCalibration, raw: NDArray[Any]) -> None:
    calibration = make_calibration()
    fixed = quantize(calibration)
    calls: list[Callable[[], Any]] = [
        lambda: correct_int16(raw, fixed),
        lambda: correct_float(raw, calibration),
        lambda: error_bound(raw, calibration, fixed),
    ]
    for call in calls:
        with pytest.raises(InputError, match="raw words have the"):
            call()


@pytest.mark.parametrize("fraction_bits", [0, 4])
def test_real_frames_differ_from_the_reference_by_rounding_and_the_bound_only(
    real_file: JungfrauFile, fraction_bits: int
) -> None:
    calibration = Calibration(real_file.pedestal_adu, real_file.gain_adu_per_kev, real_file.photon_energy_kev)
    fixed = quantize(calibration, fraction_bits)
    limit = 32700 / 2**fraction_bits
    for n in range(real_file.n_frames):
        raw, reference = real_file.image(n), real_file.reference(n)
        assert reference is not None
        stage = np.minimum(raw >> 14, 2)
        known = np.choose(stage, real_file.gain_known) & (raw != 0xC000)
        bits, (values, codes) = correct_int16(raw, fixed), correct_float(raw, calibration)
        assert not codes[known].any()
        assert np.abs(values - reference)[known].max() < 5e-4
        error = np.abs(bits / 2**fraction_bits - reference.clip(-limit, limit))[known]
        assert (error <= error_bound(raw, calibration, fixed)[known] + 5e-4).all()
        assert (bits[raw == 0xC000] == PixelCode.SATURATED).all()
        assert np.count_nonzero(bits == PixelCode.SATURATED) == np.count_nonzero(raw == 0xC000) > 0
