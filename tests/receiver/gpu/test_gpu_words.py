"""What the GPU makes of a word, compiled for the host: every word in every stage, beside the models."""

import ctypes
import itertools
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from framelane.models.jungfrau.jf_calibration import Calibration
from framelane.models.jungfrau.jf_correct import MAX_VALUE, PixelCode, correct_int16
from framelane.models.jungfrau.jf_fixed import FixedCalibration
from framelane.receiver import gpu
from framelane.receiver.pipeline._correct_float32 import arrange
from framelane.receiver.pipeline._correct_int16 import arrange as arrange_int16
from framelane.receiver.pipeline.correction import Correction

KERNELS = Path(gpu.__path__[0], "kernels", "include")
N = 0x10000
ALL_WORDS = np.arange(N, dtype=np.uint16).reshape(256, 256)
EXTREMES = list(itertools.product((0, 9601, 0xFFFF), (0, 1, 0x8000, 0xFFFF), (0, 17, 31)))
SHIFTS = [(26, 21, 18), (0, 31, 1), (12, 0, 31), (31, 31, 31), (0, 0, 0)]

SOURCE = """
#include "words.cuh"
constexpr u32 N = 0x10000;
extern "C" void correct(const u16 *pedestal, const u16 *mantissa, const u32 *shift, u32 special, i16 *values) {
    for (u32 word = 0; word < N; word++) {
        const u32 at = stage_of(word) * N + word;
        values[word] = static_cast<i16>(corrected(word, pedestal[at], mantissa[at], shift[stage_of(word)], special));
    }
}
extern "C" void correct_g0(const u16 *pedestal, const u16 *mantissa, u32 shift, i32 *values) {
    for (u32 word = 0; word < NOT_G0; word++)
        values[word] = g0_value(word << word_shift(shift), g0_constants(pedestal[word], mantissa[word], shift));
}
extern "C" void correct_g0_once(const u16 *pedestal, const u16 *mantissa, u32 shift, i32 *values) {
    for (u32 word = 0; word < NOT_G0; word++) values[word] = g0_value(word, pedestal[word], mantissa[word], shift);
}
extern "C" void correct_switched(const u32 *switched, const u32 *shift, i32 *values) {
    for (u32 word = 0; word < N; word++) {
        const u32 c = switched[stage_of(word) / 2 * N + word];
        const bool sure = word >= NOT_G0 && surely_has_value(word, c >> 16);
        values[word] = sure ? switched_value(word, c & 0xFFFF, c >> 16, shift[stage_of(word)]) : 1 << 20;
    }
}
extern "C" void limits(const u16 *pedestal, const u16 *mantissa, const u32 *shift, u32 threshold, u32 *found) {
    for (u32 word = 0; word < N; word++) {
        const u32 stage = stage_of(word), at = stage * N + word;
        found[word] = limit_of(stage, pedestal[at], mantissa[at], shift[stage], threshold);
    }
}
extern "C" void to_float32(const float *pedestal, const float *scale, const double *switched, u32 special,
                           float *values) {
    for (u32 word = 0; word < N; word++) {
        const double *c = switched + 4 * word + (word < 2 * NOT_G0 ? 0 : 2);
        const bool usable = word < NOT_G0 ? scale[word] == scale[word] : c[1] == c[1];
        values[word] = word < NOT_G0 ? g0_float(word, pedestal[word], scale[word]) : switched_float(word, c[0], c[1]);
        if (code_of(word, usable, special)) values[word] = __builtin_nanf("");
    }
}
"""


@pytest.fixture(scope="module")
def call(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., None]:
    """Build the header for the host: call(function, arrays and numbers)."""
    compiler = shutil.which("g++")
    assert compiler, "g++ is missing: see scripts/system-packages.sh"
    folder = tmp_path_factory.mktemp("words")
    (folder / "words.cpp").write_text(SOURCE)
    options = ["-std=c++17", "-O2", "-Wall", "-Wextra", "-Werror", "-ffp-contract=off", "-shared", "-fPIC"]
    command = [compiler, *options, f"-I{KERNELS}", "words.cpp", "-o", "words.so"]
    subprocess.run(command, cwd=folder, check=True)
    library = ctypes.CDLL(str(folder / "words.so"))

    def run(name: str, *arguments: NDArray[Any] | int) -> None:
        arrays = [np.ascontiguousarray(a) if isinstance(a, np.ndarray) else a for a in arguments[:-1]]
        out = arguments[-1]
        assert isinstance(out, np.ndarray)
        pointers = [a.ctypes.data_as(ctypes.c_void_p) if isinstance(a, np.ndarray) else a for a in (*arrays, out)]
        getattr(library, name)(*pointers)

    return run


def scattered(seed: int, high_gain: bool = False) -> FixedCalibration:
    """Any constants, a tenth of the pixels masked in each stage, another shift in each stage."""
    rng = np.random.default_rng(seed)
    pedestal, mantissa = rng.integers(0, 0x10000, (2, 3, *ALL_WORDS.shape), np.uint16)
    mantissa[rng.random(mantissa.shape) < 0.1] = 0
    return FixedCalibration(pedestal, mantissa, SHIFTS[seed % len(SHIFTS)], high_gain=high_gain)


def uniform(pedestal: int, mantissa: int, shift: int) -> FixedCalibration:
    planes = np.ones((3, *ALL_WORDS.shape), np.uint16)
    return FixedCalibration(planes * np.uint16(pedestal), planes * np.uint16(mantissa), (shift, shift, shift))


def check(call: Callable[..., None], fixed: FixedCalibration) -> None:
    """Compare every word with the model: by the general way, by the quick one of G0, and against thresholds."""
    expected = correct_int16(ALL_WORDS, fixed).ravel()
    shift = np.array(fixed.shift, np.uint32)
    special = 0x3FFF if fixed.high_gain else 0x4000
    values = np.empty(N, np.int16)
    call("correct", fixed.pedestal, fixed.mantissa, shift, special, values)
    np.testing.assert_array_equal(values, expected)

    arranged = arrange_int16(fixed)
    shift = arranged.shift.astype(np.uint32)
    masked_g0 = fixed.mantissa[0].ravel()[:0x4000] == 0
    for way in ("correct_g0", "correct_g0_once"):
        quick = np.empty(0x4000, np.int32)
        call(way, arranged.pedestal, arranged.mantissa, int(shift[0]), quick)
        values = np.where(masked_g0, PixelCode.MASKED, quick.clip(-MAX_VALUE, MAX_VALUE))
        np.testing.assert_array_equal(values[:special], expected[:special])

    pairs = arranged.switched.astype(np.uint32).reshape(-1, 2, 2).transpose(1, 0, 2)
    sure = np.empty(N, np.int32)
    call("correct_switched", pairs[..., 1] << 16 | pairs[..., 0], shift, sure)
    np.testing.assert_array_equal(sure[sure < 1 << 20], expected[sure < 1 << 20])
    has_value = (expected >= -MAX_VALUE) & (expected <= MAX_VALUE)
    at_the_end = ALL_WORDS.ravel() == 0x7FFF  # left to the general way
    np.testing.assert_array_equal(sure[0x4000:] == 1 << 20, (~has_value | at_the_end)[0x4000:])

    words = ALL_WORDS.ravel()
    stage = np.array([0, 1, 2, 2])[words >> 14]
    masked = np.choose(stage, fixed.mantissa.reshape(3, -1)) == 0
    planes = [np.stack([g0, *pairs[..., n]]) for n, g0 in enumerate((arranged.pedestal, arranged.mantissa))]
    planes = [np.ascontiguousarray(plane, np.uint16) for plane in planes]
    for threshold in (1, 2, 10, 300, MAX_VALUE):
        limits = np.empty(N, np.uint32)
        call("limits", *planes, shift, threshold, limits)
        np.testing.assert_array_equal(limits == 0xFFFF, masked)
        assert limits[~masked].max(initial=0) <= 0x4000
        reached = np.where(words < 0x4000, words >= limits, (words & 0x3FFF) < limits)
        np.testing.assert_array_equal(reached[has_value], (expected >= threshold)[has_value])


@pytest.mark.parametrize(("pedestal", "mantissa", "shift"), EXTREMES)
def test_every_word_equals_the_model_at_the_ends_of_every_constant(
    call: Callable[..., None], pedestal: int, mantissa: int, shift: int
) -> None:
    check(call, uniform(pedestal, mantissa, shift))


@pytest.mark.parametrize("high_gain", [False, True])
@pytest.mark.parametrize("seed", range(len(SHIFTS)))
def test_every_word_equals_the_model_where_every_pixel_and_stage_differs(
    call: Callable[..., None], seed: int, high_gain: bool
) -> None:
    check(call, scattered(seed, high_gain))


@pytest.mark.parametrize("high_gain", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_every_word_to_float32_has_the_bits_of_the_cpu(call: Callable[..., None], seed: int, high_gain: bool) -> None:
    rng = np.random.default_rng(seed)
    gain = np.array([41.0, -1.44, -0.1145]).reshape(3, 1, 1) * 2 ** rng.uniform(-1.99, 1.99, (3, *ALL_WORDS.shape))
    pedestal = rng.uniform(0, 16383.75, gain.shape)
    calibration = Calibration(pedestal, gain, 12.4, rng.random(gain.shape) < 0.1, high_gain)
    constants = arrange(calibration, "photons")
    values = np.empty(N, np.float32)
    planes = (constants.pedestal, constants.scale, constants.switched)
    call("to_float32", *planes, 0x3FFF if high_gain else 0x4000, values)
    expected = Correction(calibration, "float32", engine="numpy")(ALL_WORDS).ravel()
    np.testing.assert_array_equal(np.isnan(values), np.isnan(expected))
    there = ~np.isnan(expected)
    np.testing.assert_array_equal(values[there].view(np.uint32), expected[there].view(np.uint32))
