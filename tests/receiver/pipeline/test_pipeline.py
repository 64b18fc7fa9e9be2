"""The CPU pipeline against the golden correction: every bit, every count, every verdict."""

import concurrent.futures
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from framelane.base.errors import ConfigError, InputError
from framelane.models.jungfrau.jf_correct import (
    ERROR_WORD,
    G1_ZERO_WORD,
    SATURATED_WORD,
    PixelCode,
    correct_int16,
)
from framelane.models.jungfrau.jf_fixed import FixedCalibration, quantize
from framelane.models.placement.slots import HOLE_WORD
from framelane.receiver.jungfrau.jungfrau_file import JungfrauFile
from framelane.receiver.pipeline._bands import BAND_PIXELS
from framelane.receiver.pipeline.judging import Judging
from framelane.receiver.pipeline.pipeline import Pipeline
from framelane.receiver.pipeline.raw_words import RawWords
from framelane.receiver.pipeline.result import Counts
from framelane.receiver.pipeline.veto import Reason, Veto

ALL_WORDS = np.arange(1 << 16, dtype=np.uint16)


def constants(shape: tuple[int, int], seed: int, shift: tuple[int, int, int] = (26, 22, 18)) -> FixedCalibration:
    """Random constants, a third of the mantissas 0 (masked), some at the ends of their ranges."""
    rng = np.random.default_rng(seed)
    pedestal = rng.integers(0, 1 << 16, (3, *shape), np.uint16)
    mantissa = rng.integers(1, 1 << 16, (3, *shape), np.uint16)
    mantissa[rng.random(mantissa.shape) < 0.3] = 0
    for array in (pedestal, mantissa):
        array[rng.random(array.shape) < 0.1] = 0xFFFF
    pedestal[rng.random(pedestal.shape) < 0.1] = 0
    return FixedCalibration(pedestal, mantissa, shift)


def expected(image: NDArray[np.integer[Any]], threshold: int) -> Counts:
    holes, saturated, invalid, masked = (
        int((image == code).sum())
        for code in (PixelCode.HOLE, PixelCode.SATURATED, PixelCode.INVALID, PixelCode.MASKED)
    )
    return Counts(holes, saturated, invalid, masked, int((image >= threshold).sum()) - saturated)


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("shift", [(26, 22, 18), (0, 0, 0), (31, 31, 31), (1, 16, 30)])
def test_every_word_in_every_stage_equals_the_model_bit_for_bit(seed: int, shift: tuple[int, int, int]) -> None:
    raw = np.random.default_rng(seed).permutation(ALL_WORDS).reshape(64, 1024)
    fixed = constants(raw.shape, seed, shift)
    result = Pipeline(fixed, Judging(veto=Veto(1)))(raw)
    model = correct_int16(raw, fixed)
    assert np.array_equal(result.image, model)
    assert result.counts == expected(model, 1)
    assert result.counts.holes == 1
    assert min(result.counts.invalid, result.counts.masked, result.counts.peaks) > 0


@pytest.mark.parametrize("shape", [(1, 1), (1, 63), (3, 341), (7, 1023), (5, 4099)])
def test_images_that_are_no_whole_number_of_tiles_are_corrected_to_the_last_pixel(shape: tuple[int, int]) -> None:
    raw = np.random.default_rng(1).integers(0, 1 << 16, shape, np.uint16)
    fixed = constants(shape, 2)
    model = correct_int16(raw, fixed)
    result = Pipeline(fixed, Judging(veto=Veto(10)))(raw)
    assert np.array_equal(result.image, model)
    assert result.counts == expected(model, 10)


@pytest.mark.parametrize("word", [0x8000, 0xFFFF, 0xC000, 0x4000, 0x9ABC])
def test_a_tile_of_codes_alone_counts_nothing_else(word: int) -> None:
    raw = np.full((4, 1024), word, np.uint16)
    fixed = FixedCalibration(np.zeros((3, 4, 1024), np.uint16), np.full((3, 4, 1024), 40000, np.uint16), (10, 10, 10))
    result = Pipeline(fixed, Judging(veto=Veto(1)))(raw)
    assert np.array_equal(result.image, correct_int16(raw, fixed))
    assert result.counts == expected(result.image, 1)
    assert result.counts.peaks == 0


@pytest.mark.parametrize("threads", [1, 2, 3, 8])
def test_threads_change_nothing(threads: int) -> None:
    shape = (8 * BAND_PIXELS // 1024 + 1, 1024)
    raw = np.random.default_rng(3).integers(0, 0x5000, shape, np.uint16)
    fixed = constants(shape, 4)
    model = correct_int16(raw, fixed)
    result = Pipeline(fixed, Judging(veto=Veto(20)), threads=threads)(raw)
    assert np.array_equal(result.image, model)
    assert result.counts == expected(model, 20)


def test_a_buffer_used_again_shows_nothing_of_the_frame_before() -> None:
    fixed = constants((16, 1024), 5)
    pipeline = Pipeline(fixed, Judging(veto=Veto(10), sparse=10))
    rng = np.random.default_rng(6)
    for high in (1 << 16, 0x4000, 1):
        raw = rng.integers(0, high, (16, 1024), np.uint16)
        result = pipeline(raw)
        model = correct_int16(raw, fixed)
        assert np.array_equal(result.image, model)
        assert result.counts == expected(model, 10)
        assert result.sparse is not None
        assert len(result.sparse.values) == result.counts.peaks


@pytest.mark.parametrize("threshold", [1, 10, 32700])
def test_sparse_rows_expand_to_the_image_without_codes_and_without_what_is_below_the_threshold(threshold: int) -> None:
    raw = np.random.default_rng(7).integers(0, 1 << 16, (33, 1000), np.uint16)
    fixed = constants(raw.shape, 8, (16, 16, 18))
    result = Pipeline(fixed, Judging(veto=Veto(10), sparse=threshold))(raw)
    model = correct_int16(raw, fixed)
    wanted = (model >= threshold) & (model != PixelCode.SATURATED)
    assert wanted.any()
    assert result.sparse is not None
    assert result.sparse.pointers.dtype == np.int64
    assert np.array_equal(result.sparse.dense(1000), np.where(wanted, model, 0))
    assert np.array_equal(np.diff(result.sparse.pointers), wanted.sum(1))


def flat(spots: int, holes: int = 0) -> tuple[FixedCalibration, NDArray[np.uint16]]:
    """A calibration of 1 photon an ADU, and an image with so many pixels of 50 photons and so many holes."""
    fixed = FixedCalibration(np.zeros((3, 8, 64), np.uint16), np.full((3, 8, 64), 0x8000, np.uint16), (17, 17, 17))
    raw = np.zeros((8, 64), np.uint16)
    raw.reshape(-1)[:spots] = 50
    raw.reshape(-1)[64 : 64 + holes] = 0x8000
    return fixed, raw


@pytest.mark.parametrize(
    ("spots", "holes", "minimum", "reason", "accepted"),
    [
        (0, 0, 0, Reason.ENOUGH_PEAKS, True),
        (5, 0, 5, Reason.ENOUGH_PEAKS, True),
        (4, 0, 5, Reason.TOO_FEW_PEAKS, False),
        (4, 1, 5, Reason.HAS_HOLES, True),
        (5, 1, 5, Reason.ENOUGH_PEAKS, True),
    ],
)
def test_the_veto_rejects_a_whole_frame_with_too_few_peaks_and_says_why(
    spots: int, holes: int, minimum: int, reason: Reason, accepted: bool
) -> None:
    fixed, raw = flat(spots, holes)
    result = Pipeline(fixed, Judging(veto=Veto(50, minimum), sparse=50))(raw)
    assert (result.verdict.peaks, result.verdict.threshold, result.verdict.minimum) == (spots, 50, minimum)
    assert (result.verdict.reason, result.verdict.accepted) == (reason, accepted)
    assert (result.sparse is not None) == accepted


def test_one_photon_below_the_threshold_is_no_peak() -> None:
    fixed, raw = flat(5)
    assert Pipeline(fixed, Judging(veto=Veto(51)))(raw).counts.peaks == 0


@pytest.mark.parametrize("threads", [1, 3])
def test_every_code_of_raw_words_is_counted_once_by_however_many_threads(threads: int) -> None:
    words = np.random.default_rng(threads).integers(0, 1 << 16, (1537, 1024), np.uint16)
    words[:40] = HOLE_WORD  # more of one code than 16 bits count
    words[-1, -3:] = SATURATED_WORD, ERROR_WORD, G1_ZERO_WORD
    counts = RawWords(threads)(words).counts
    forbidden = (words >> 14 == 2) & (words != HOLE_WORD)
    assert counts.holes == (words == HOLE_WORD).sum()
    assert counts.saturated == (words == SATURATED_WORD).sum()
    assert counts.invalid == (forbidden | (words == ERROR_WORD) | (words == G1_ZERO_WORD)).sum()
    assert (counts.masked, counts.peaks) == (0, 0)


def test_raw_words_are_kept_and_their_codes_counted() -> None:
    words = np.array([[0x8000, 0xFFFF, 0xC000, 0x4000, 0x9ABC, 0x8000, 0x1234]], np.uint16)
    result = RawWords()(words)
    assert result.image is words
    assert result.counts == Counts(holes=2, saturated=1, invalid=3, masked=0, peaks=0)
    assert result.verdict.accepted


@pytest.mark.parametrize(
    "raw",
    [
        np.zeros((8, 63), np.uint16),
        np.zeros((8, 64), np.int16),
        np.zeros((2, 8, 64), np.uint16),
        np.zeros((8, 128), np.uint16)[:, ::2],
    ],
)
def test_an_image_that_does_not_fit_the_calibration_is_refused(raw: NDArray[np.uint16]) -> None:
    with pytest.raises(InputError, match=r"the calibration is for uint16 \(8, 64\)"):
        Pipeline(flat(0)[0], Judging(veto=Veto(10)))(raw)


def test_a_calibration_with_fractions_of_a_photon_is_refused() -> None:
    fixed = FixedCalibration(np.zeros((3, 1, 1), np.uint16), np.zeros((3, 1, 1), np.uint16), (0, 0, 0), 4)
    with pytest.raises(ConfigError, match="whole photons"):
        Pipeline(fixed, Judging(veto=Veto(10)))


@pytest.mark.parametrize(("threshold", "minimum"), [(0, 0), (32701, 0), (10, -1)])
def test_an_impossible_veto_is_refused(threshold: int, minimum: int) -> None:
    with pytest.raises(ConfigError, match="impossible"):
        Veto(threshold, minimum)


def test_pipelines_of_several_threads_do_not_disturb_each_other() -> None:
    """The kernels release the GIL: nothing of one pipeline may be shared with another."""
    fixed = constants((64, 1024), 9)
    raws = [np.random.default_rng(n).integers(0, 1 << 16, (64, 1024), np.uint16) for n in range(16)]

    def run(raw: NDArray[np.uint16]) -> bool:
        return np.array_equal(Pipeline(fixed, Judging(veto=Veto(10)))(raw).image, correct_int16(raw, fixed))

    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        assert all(pool.map(run, raws))


NOWHERE_TO_CACHE = """
from numba.core.caching import CacheImpl
CacheImpl._locator_classes = []
import numpy as np
from framelane.models.jungfrau.jf_fixed import FixedCalibration
from framelane.receiver.pipeline.judging import Judging
from framelane.receiver.pipeline.pipeline import Pipeline
from framelane.receiver.pipeline.veto import Veto
fixed = FixedCalibration(np.zeros((3, 1, 64), np.uint16), np.full((3, 1, 64), 0x8000, np.uint16), (17, 17, 17))
print(Pipeline(fixed, Judging(veto=Veto(5)))(np.full((1, 64), 5, np.uint16)).counts.peaks)
"""


def test_where_source_and_home_are_read_only_the_kernels_are_compiled_all_the_same() -> None:
    run = subprocess.run([sys.executable, "-c", NOWHERE_TO_CACHE], capture_output=True, text=True, check=False)
    assert (run.stdout, run.stderr) == ("64\n", "")


def test_real_frames_equal_the_model(real_file: JungfrauFile) -> None:
    fixed = quantize(real_file.calibration)
    pipeline = Pipeline(fixed, Judging(veto=Veto(10)))
    for index in range(real_file.n_frames):
        raw = real_file.image(index)
        model = correct_int16(raw, fixed)
        result = pipeline(raw)
        assert np.array_equal(result.image, model)
        assert result.counts == expected(model, 10)
        assert 2 <= result.counts.saturated <= 5
