"""The correction on the CPU: its bits are the golden model's, whatever the shape, the memory and the threads."""

import concurrent.futures
import itertools
from typing import Any, Literal, get_args

import numpy as np
import pytest
from numpy.typing import NDArray

from framelane.base.errors import ConfigError, InputError
from framelane.bench.receiver import plain_correction
from framelane.models.jungfrau.jf_calibration import Calibration
from framelane.models.jungfrau.jf_correct import PixelCode, correct_float, correct_int16, error_bound
from framelane.models.jungfrau.jf_fixed import FixedCalibration, quantize
from framelane.receiver.jungfrau.jungfrau_file import JungfrauFile
from framelane.receiver.pipeline import _bands, _correct_float32, _correct_numpy
from framelane.receiver.pipeline.correction import Correction

Engine = Literal["numba", "numpy"]
ENGINES: tuple[Engine, ...] = get_args(Engine)
ALL_WORDS = np.arange(0x10000, dtype=np.uint16).reshape(256, 256)
SHIFTS = [(26, 21, 18), (0, 0, 0), (1, 0, 31), (31, 31, 31), (17, 16, 15)]


def shuffled(seed: int, n: int = 2) -> NDArray[np.uint16]:
    """Return so many frames, each with every word once."""
    rng = np.random.default_rng(seed)
    return np.stack([rng.permutation(ALL_WORDS.reshape(-1)).reshape(ALL_WORDS.shape) for _ in range(n)])


def constants(shape: tuple[int, int], seed: int, shift: tuple[int, int, int], high_gain: bool) -> FixedCalibration:
    """Return random constants, different in every pixel and stage; some masked, some at the ends of their ranges."""
    rng = np.random.default_rng(seed)
    pedestal, mantissa = rng.integers(0, 1 << 16, (2, 3, *shape), np.uint16)
    for array, value in itertools.product((pedestal, mantissa), (0, 0xFFFF)):
        array[rng.random(array.shape) < 0.1] = value
    return FixedCalibration(pedestal, mantissa, shift, high_gain=high_gain)


def scattered(shape: tuple[int, int], seed: int, high_gain: bool = False, kind: str = "f8") -> Calibration:
    """Return any pedestals, gains over a factor of 4, and pixels that are masked in some stages or in all."""
    rng = np.random.default_rng(seed)
    nominal = np.array([41.0, -1.44, -0.1145]).reshape(3, 1, 1)
    gain = nominal * 2 ** rng.uniform(-1, 1, (3, *shape))
    pedestal = rng.uniform(0, 16383.75, (3, *shape))
    masked = rng.random(gain.shape) < 0.1
    pedestal[masked] = np.nan
    return Calibration(pedestal.astype(kind), gain.astype(kind), 12.4, masked, high_gain)


def bits(values: NDArray[np.float32]) -> NDArray[np.uint32]:
    return values.view(np.uint32)


def as_documented(
    raw: NDArray[np.uint16], calibration: Calibration, unit: Literal["photons", "keV"]
) -> tuple[NDArray[np.float32], NDArray[np.int16]]:
    """Compute the documented float32 result: G0 in float32, the rest and the codes as in the float64 model."""
    values, codes = correct_float(raw, calibration, unit)
    energy = calibration.photon_energy_kev if unit == "photons" else 1.0
    scale = (1 / (calibration.gain[0].astype(np.float64) * energy)).astype(np.float32)
    in_g0 = ((raw & 0x3FFF).astype(np.float32) - calibration.pedestal[0].astype(np.float32)) * scale
    return np.where((raw < 0x4000) & (codes == 0), in_g0, values.astype(np.float32)), codes


@pytest.mark.parametrize("high_gain", [False, True])
@pytest.mark.parametrize("shift", [(0, 0, 0), (1, 1, 1), (17, 17, 17), (31, 31, 31)])
@pytest.mark.parametrize("mantissa", [0, 1, 0x8000, 0xFFFF])
@pytest.mark.parametrize("pedestal", [0, 9601, 0xFFFF])
def test_every_word_equals_the_model_at_the_ends_of_every_constant(
    pedestal: int, mantissa: int, shift: tuple[int, int, int], high_gain: bool
) -> None:
    planes = (3, *ALL_WORDS.shape)
    fixed = FixedCalibration(
        np.full(planes, pedestal, np.uint16), np.full(planes, mantissa, np.uint16), shift, high_gain=high_gain
    )
    np.testing.assert_array_equal(Correction(fixed)(ALL_WORDS), correct_int16(ALL_WORDS, fixed))


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("high_gain", [False, True])
@pytest.mark.parametrize("shift", SHIFTS)
def test_every_word_equals_the_model_where_every_pixel_and_stage_differs(
    shift: tuple[int, int, int], high_gain: bool, engine: Engine
) -> None:
    for seed in range(4):
        raw, fixed = shuffled(seed), constants(ALL_WORDS.shape, seed, shift, high_gain)
        result = Correction(fixed, engine=engine)(raw)
        assert result.dtype == np.int16
        np.testing.assert_array_equal(result, correct_int16(raw, fixed))
        assert {code.value for code in PixelCode} <= set(result.flat)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("high_gain", [False, True])
@pytest.mark.parametrize("unit", ["photons", "keV"])
@pytest.mark.parametrize("kind", ["f4", "f8"])
def test_every_word_to_float32_has_the_documented_bits(
    kind: str, unit: Literal["photons", "keV"], high_gain: bool, engine: Engine
) -> None:
    raw, calibration = shuffled(5), scattered(ALL_WORDS.shape, 6, high_gain, kind)
    codes = np.full(raw.shape, 99, np.int16)
    result = Correction(calibration, "float32", unit, engine=engine)(raw, codes=codes)
    expected, expected_codes = as_documented(raw, calibration, unit)
    np.testing.assert_array_equal(bits(result), bits(expected))
    np.testing.assert_array_equal(codes, expected_codes)
    assert {code.value for code in PixelCode} <= set(codes.flat)


@pytest.mark.parametrize("unit", ["photons", "keV"])
def test_float32_is_as_near_to_float64_as_documented(unit: Literal["photons", "keV"]) -> None:
    raw, calibration = shuffled(7), scattered(ALL_WORDS.shape, 8)
    result = Correction(calibration, "float32", unit)(raw)
    exact = correct_float(raw, calibration, unit).values
    per_unit = calibration.gain[0] * (12.4 if unit == "photons" else 1)
    bound = np.abs(exact) * np.where(raw < 0x4000, 3.1, 1) + np.where(
        raw < 0x4000, calibration.pedestal[0] / per_unit, 0
    )
    assert np.nanmax(np.abs(result - exact) / (bound * 2.0**-24)) <= 1


@pytest.mark.parametrize("fraction_bits", [0, 4])
@pytest.mark.parametrize("unit", ["photons", "keV"])
def test_a_calibration_is_quantized_in_the_unit_and_with_the_fraction_bits(
    unit: Literal["photons", "keV"], fraction_bits: int
) -> None:
    calibration = scattered(ALL_WORDS.shape, 9)
    energy = calibration.photon_energy_kev if unit == "photons" else 1.0
    other = Calibration(calibration.pedestal, calibration.gain, energy, ~calibration.usable)
    expected = correct_int16(ALL_WORDS, quantize(other, fraction_bits))
    result = Correction(calibration, unit=unit, fraction_bits=fraction_bits)(ALL_WORDS)
    np.testing.assert_array_equal(result, expected)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("threads", [1, 2, 3, 7])
@pytest.mark.parametrize("shape", [(1, 1), (1, 31), (1, 257), (3, 341), (5, 1030)])
def test_frames_that_are_no_whole_number_of_tiles_are_corrected_to_the_last_pixel_by_any_threads(
    shape: tuple[int, int], threads: int, engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_bands, "BAND_PIXELS", 64)
    monkeypatch.setattr(_correct_numpy, "BLOCK_PIXELS", 500)
    raw = np.random.default_rng(1).integers(0, 1 << 16, (3, *shape), np.uint16)
    fixed, calibration = constants(shape, 2, (20, 17, 16), True), scattered(shape, 3, True)
    result = Correction(fixed, engine=engine, threads=threads)(raw)
    np.testing.assert_array_equal(result, correct_int16(raw, fixed))
    codes = np.full(raw.shape, 99, np.int16)
    floats = Correction(calibration, "float32", engine=engine, threads=threads)(raw, codes=codes)
    expected, expected_codes = as_documented(raw, calibration, "photons")
    np.testing.assert_array_equal(bits(floats), bits(expected))
    np.testing.assert_array_equal(codes, expected_codes)


@pytest.mark.parametrize("past_caches_from", [0, 1 << 40])
@pytest.mark.parametrize("gap", [0, 32, 33])
@pytest.mark.parametrize("before", [0, 1, 4, 13, 31])
@pytest.mark.parametrize("output", ["int16", "float32"])
def test_a_result_anywhere_in_memory_is_whole_and_its_neighbours_are_left_alone(
    output: Literal["int16", "float32"], before: int, gap: int, past_caches_from: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_bands, "PAST_CACHES_BYTES", past_caches_from)
    monkeypatch.setattr(_bands, "BAND_PIXELS", 64)
    shape, count = (6, 128), 3
    pixels = shape[0] * shape[1]
    raw = np.random.default_rng(4).integers(0, 1 << 16, (count, *shape), np.uint16)
    calibration = scattered(shape, 5)
    expected = (
        correct_int16(raw, quantize(calibration))
        if output == "int16"
        else as_documented(raw, calibration, "photons")[0]
    )
    memory = np.full(before + count * (pixels + gap) + 64, 77, output)
    whole = memory[before : before + count * (pixels + gap)].reshape(count, pixels + gap)
    out = whole[:, :pixels].reshape(count, *shape)
    assert np.shares_memory(out, memory)
    assert Correction(calibration, output, threads=2)(raw, out) is out
    np.testing.assert_array_equal(out, expected)
    whole[:, :pixels] = 77
    assert (memory == 77).all()


def test_frames_results_and_codes_may_each_lie_at_their_own_distance() -> None:
    shape, pixels = (4, 100), 400
    slots = np.random.default_rng(6).integers(0, 1 << 16, (3, 512), np.uint16)
    slots.flags.writeable = False
    frames = slots[:, :pixels].reshape(3, *shape)
    floats = np.zeros((3, 416), np.float32)[:, :pixels].reshape(3, *shape)
    codes = np.zeros((3, 433), np.int16)[:, :pixels].reshape(3, *shape)
    assert [array.strides[0] // array.itemsize for array in (frames, floats, codes)] == [512, 416, 433]
    calibration = scattered(shape, 7)
    np.testing.assert_array_equal(Correction(calibration)(frames), correct_int16(frames, quantize(calibration)))
    Correction(calibration, "float32")(frames, floats, codes)
    expected, expected_codes = as_documented(frames, calibration, "photons")
    np.testing.assert_array_equal(bits(floats), bits(expected))
    np.testing.assert_array_equal(codes, expected_codes)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("output", ["int16", "float32"])
def test_one_frame_is_corrected_as_in_a_batch_and_no_frame_is_no_error(
    output: Literal["int16", "float32"], engine: Engine
) -> None:
    raw, correction = shuffled(8), Correction(scattered(ALL_WORDS.shape, 9), output, engine=engine)
    one = correction(raw[1])
    assert one.shape == ALL_WORDS.shape
    np.testing.assert_array_equal(one, correction(raw)[1])
    assert correction(raw[:0]).shape == (0, *ALL_WORDS.shape)


def test_memory_used_again_shows_nothing_of_the_frames_before() -> None:
    calibration = scattered((16, 1024), 10)
    to_int16, to_float32 = Correction(calibration), Correction(calibration, "float32")
    out, floats, codes = (np.empty((2, 16, 1024), dtype) for dtype in (np.int16, np.float32, np.int16))
    for high in (1 << 16, 0x4000, 1):
        raw = np.random.default_rng(high).integers(0, high, out.shape, np.uint16)
        np.testing.assert_array_equal(to_int16(raw, out), correct_int16(raw, quantize(calibration)))
        to_float32(raw, floats, codes)
        expected, expected_codes = as_documented(raw, calibration, "photons")
        np.testing.assert_array_equal(bits(floats), bits(expected))
        np.testing.assert_array_equal(codes, expected_codes)


def test_corrections_in_several_threads_do_not_disturb_each_other() -> None:
    """The loops release the GIL: nothing of one may be shared with another."""
    raws = [shuffled(seed, 1) for seed in range(12)]
    fixed = constants(ALL_WORDS.shape, 11, (20, 18, 16), False)

    def equal(raw: NDArray[np.uint16]) -> bool:
        return np.array_equal(Correction(fixed)(raw), correct_int16(raw, fixed))

    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        assert all(pool.map(equal, raws))


SHAPE = (2, 4, 64)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    ("raw", "out", "codes", "message"),
    [
        (np.zeros(SHAPE, np.int16), None, None, "raw words have the dtype int16, needed is uint16"),
        (np.zeros((2, 64, 4), np.uint16), None, None, r"raw words have the shape \(2, 64, 4\), .* for \(4, 64\)"),
        (np.zeros((1, *SHAPE), np.uint16), None, None, "raw words have the shape"),
        (np.zeros((2, 4, 128), np.uint16)[..., ::2], None, None, "raw words have gaps within a frame"),
        (np.zeros(SHAPE, np.uint16)[:, ::-1], None, None, "raw words have gaps within a frame"),
        (np.broadcast_to(np.zeros(SHAPE[1:], np.uint16), SHAPE), None, None, "raw words have frames that overlap"),
        (np.zeros(SHAPE, np.uint16)[::-1], None, None, "raw words have frames that overlap or go backwards"),
        (np.zeros(SHAPE, np.uint16), np.zeros(SHAPE, np.float64), None, r"result .* float64 array .*needed is float32"),
        (np.zeros(SHAPE, np.uint16), np.zeros(SHAPE[1:], np.float32), None, r"needed is float32 \(2, 4, 64\)"),
        (np.zeros(SHAPE, np.uint16), np.zeros((2, 64, 4), np.float32).swapaxes(1, 2), None, "the result ha.* gaps"),
        (np.zeros(SHAPE, np.uint16), np.broadcast_to(np.float32(0), SHAPE), None, "a read-only float32 array"),
        (np.zeros(SHAPE, np.uint16), None, np.zeros(SHAPE, np.int8), "the codes .* int8 array .* needed is int16"),
        (np.zeros(SHAPE, np.uint16), None, np.zeros((2, 4, 128), np.int16)[..., ::2], "the codes have gaps"),
    ],
)
def test_an_array_that_does_not_fit_is_refused_and_nothing_is_written(
    raw: NDArray[Any], out: NDArray[Any] | None, codes: NDArray[Any] | None, message: str, engine: Engine
) -> None:
    correction = Correction(scattered(SHAPE[1:], 12), "float32", engine=engine)
    spare = np.zeros(SHAPE, np.float32) if out is None else out
    with pytest.raises(InputError, match=message):
        correction(raw, spare, codes)
    assert not spare.any()


def test_codes_beside_an_int16_result_are_refused() -> None:
    raw = np.zeros(SHAPE, np.uint16)
    with pytest.raises(InputError, match="holds the pixel codes itself"):
        Correction(scattered(SHAPE[1:], 12))(raw, codes=np.zeros(SHAPE, np.int16))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"output": "float32"}, "a FixedCalibration holds integers for int16"),
        ({"unit": "keV"}, "has its unit and fraction bits already"),
        ({"fraction_bits": 4}, "has its unit and fraction bits already"),
        ({"threads": 0}, "0 threads"),
    ],
)
def test_what_the_hardwares_constants_cannot_give_is_refused(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        Correction(constants((2, 3), 1, (20, 20, 20), False), **arguments)


def test_fraction_bits_of_float32_are_refused() -> None:
    with pytest.raises(ConfigError, match="float32 has no fraction bits"):
        Correction(scattered((2, 3), 1), "float32", fraction_bits=4)


@pytest.mark.parametrize("engine", ENGINES)
def test_real_frames_differ_from_the_reference_by_rounding_and_the_bound_only(
    real_file: JungfrauFile, engine: Engine
) -> None:
    calibration = real_file.calibration
    raw = np.stack([real_file.image(n) for n in range(real_file.n_frames)])
    to_int16 = Correction(calibration, engine=engine)(raw)
    to_float32 = Correction(calibration, "float32", engine=engine)(raw)
    fixed = quantize(calibration)
    for words, photons, floats, n in zip(raw, to_int16, to_float32, itertools.count(), strict=False):
        reference = real_file.reference(n)
        assert reference is not None
        known = np.choose(np.minimum(words >> 14, 2), real_file.gain_known) & (words != 0xC000) & ~np.isnan(floats)
        assert known.mean() > 0.99
        assert np.abs(floats - reference)[known].max() < 1e-3
        error = np.abs(photons - reference)[known]
        assert (error <= error_bound(words, calibration, fixed)[known] + 5e-4).all()
        assert (photons[words == 0xC000] == PixelCode.SATURATED).all()
        assert np.isnan(floats[words == 0xC000]).all()


def test_the_plain_loops_of_the_bench_compute_the_same() -> None:
    raw, calibration = shuffled(13, 1)[0], scattered(ALL_WORDS.shape, 14)
    fixed = constants(ALL_WORDS.shape, 15, (26, 21, 18), False)
    image, floats = np.empty(raw.size, np.int16), np.empty(raw.size, np.float32)
    pedestal, mantissa = fixed.pedestal.reshape(3, -1), fixed.mantissa.reshape(3, -1)
    plain_correction.int16(raw.reshape(-1), pedestal, mantissa, np.array(fixed.shift), image)
    np.testing.assert_array_equal(image, Correction(fixed)(raw).reshape(-1))
    plain_correction.float32_flat(raw.reshape(-1), *_correct_float32.arrange(calibration, "photons")[:3], floats)
    expected = Correction(calibration, "float32")(raw)
    np.testing.assert_array_equal(floats, expected.reshape(-1))
    floats = np.empty(raw.shape, np.float32)
    plain_correction.float32(raw, *plain_correction.constants(calibration), floats)
    np.testing.assert_allclose(floats, expected, rtol=1e-5, atol=1e-3)
