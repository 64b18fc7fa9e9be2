"""The kernels have the bits of the models for every word, shape, gap and density: run by the host, and on a GPU."""

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from cupy_on_host import in_the_place_of_cupy, libraries, on_host
from framelane.base.errors import ConfigError, InputError
from framelane.models.jungfrau.jf_correct import MAX_VALUE, correct_int16
from framelane.models.jungfrau.jf_fixed import FixedCalibration, quantize
from framelane.models.placement.slots import HOLE_WORD
from framelane.receiver.gpu import kernels
from framelane.receiver.gpu.kernels import CountBuffers, GpuKernels, SparseBuffers
from framelane.receiver.jungfrau.jungfrau_file import JungfrauFile
from framelane.receiver.pipeline.correction import Correction
from framelane.receiver.pipeline.judging import Judging
from framelane.receiver.pipeline.pipeline import Pipeline
from gpu_kernel_cases import (
    BESIDE,
    SHIFTS,
    THRESHOLD,
    calibration,
    check,
    check_float32,
    check_overflow,
    check_read,
    check_sparse,
    counts_of,
    in_slots,
    scattered,
    words_of,
)

ALL_WORDS = np.arange(0x10000, dtype=np.uint16).reshape(256, 256)
EXTREMES = list(itertools.product((0, 9601, 0xFFFF), (0, 1, 0x8000, 0xFFFF), (0, 17, 31)))
SHAPES = [(1, 1), (3, 5), (7, 333), (256, 256), (257, 1023), (512, 1024), (1, 100_000), (50_000, 1), (16, 4096)]

pytestmark = pytest.mark.usefixtures("cp")


@pytest.fixture(scope="module", params=["host", "gpu"])
def cp(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """CuPy on a GPU, or what stands for it on the host."""
    if request.param == "gpu":
        yield request.getfixturevalue("cp")
    else:
        with in_the_place_of_cupy(libraries(tmp_path_factory)) as module:
            yield module


@pytest.mark.parametrize(("pedestal", "mantissa", "shift"), EXTREMES)
def test_every_word_equals_the_model_at_the_ends_of_every_constant(
    cp: Any, pedestal: int, mantissa: int, shift: int
) -> None:
    planes = np.ones((3, *ALL_WORDS.shape), np.uint16)
    fixed = FixedCalibration(planes * np.uint16(pedestal), planes * np.uint16(mantissa), (shift, shift, shift))
    check(cp, fixed, ALL_WORDS[None])


@pytest.mark.parametrize("high_gain", [False, True])
@pytest.mark.parametrize("seed", range(len(SHIFTS)))
def test_every_word_equals_the_model_where_every_pixel_and_stage_differs(cp: Any, seed: int, high_gain: bool) -> None:
    frames = np.stack(
        [np.roll(ALL_WORDS.ravel(), 12_345 * n).reshape(256, 256) for n in range(2 if on_host(cp) else 6)]
    )
    check(cp, scattered(seed, ALL_WORDS.shape, high_gain), frames)


@pytest.mark.parametrize("n", [1, 2, 5, 41, 65])
@pytest.mark.parametrize("shape", SHAPES)
def test_any_shape_and_number_of_frames(cp: Any, shape: tuple[int, int], n: int) -> None:
    n = min(n, 1 + (1 << (18 if on_host(cp) else 21)) // (shape[0] * shape[1]))
    check(cp, quantize(calibration(n, shape)), words_of(n, n, shape))


@pytest.mark.parametrize(("gap", "offset"), [(8, 0), (24, 8), (3, 0), (0, 1), (7, 5)])
@pytest.mark.parametrize("shape", [(64, 1024), (31, 77)])
def test_frames_in_slots_with_gaps_of_any_size(cp: Any, shape: tuple[int, int], gap: int, offset: int) -> None:
    check(cp, quantize(calibration(3, shape)), words_of(3, 9, shape), gap, offset)


@pytest.mark.parametrize(
    ("shape", "sources"), [((512, 1024), 8), ((500, 1026), 3), ((64, 96), 3), ((6, 35), 7), ((8, 8), 64), ((1, 9), 1)]
)
def test_holes_are_counted_for_the_source_whose_share_they_are_in(
    cp: Any, shape: tuple[int, int], sources: int
) -> None:
    frames = words_of(4, 4 if on_host(cp) else 11, shape)
    frames[2].reshape(sources, -1)[sources // 2] = HOLE_WORD
    frames[3] = HOLE_WORD
    fixed = quantize(calibration(4, shape))
    check(cp, fixed, frames, sources=sources)
    for index in (0, 2, 3):
        check(cp, fixed, frames[index : index + 1], sources=sources)


@pytest.mark.parametrize("share", [0.0, 0.001, 0.03, 0.2, 1.0])
def test_sparse_rows_of_any_density(cp: Any, share: float) -> None:
    shape = (16 if on_host(cp) else 300, 1024)
    rng = np.random.default_rng(5)
    frames = np.full((37, *shape), 2450, np.uint16)
    frames[rng.random(frames.shape) < share] = 2450 + 508 * 12
    frames[7:9] = 2450 + 508 * 11
    check(cp, quantize(calibration(5, shape)), frames)


@pytest.mark.parametrize("missing", [1, 100, 3000])
def test_sparse_rows_that_do_not_fit_are_flagged_and_nothing_is_written_past_their_end(cp: Any, missing: int) -> None:
    shape = (128, 256)
    fixed, frames = quantize(calibration(6, shape)), words_of(6, 5, shape, switched=0.3)
    check_overflow(cp, fixed, frames, missing)


@pytest.mark.parametrize("high_gain", [False, True])
@pytest.mark.parametrize(("shape", "n", "gap"), [((256, 256), 1, 0), ((512, 1024), 6, 8), ((31, 77), 9, 3)])
def test_float32_has_the_bits_of_the_cpu(cp: Any, shape: tuple[int, int], n: int, gap: int, high_gain: bool) -> None:
    frames = words_of(7, n, shape, switched=0.3)
    if shape == ALL_WORDS.shape:
        frames[0] = ALL_WORDS
    check_float32(cp, calibration(7, shape, high_gain), frames, gap)


@pytest.mark.parametrize("n", [1, 7])
@pytest.mark.parametrize("way", ["count", "holes", "kernel", "memset"])
@pytest.mark.parametrize(("shape", "gap", "offset"), [((64, 1024), 8, 0), ((31, 77), 3, 1), ((5, 16), 0, 0)])
def test_a_refilled_slot_is_all_holes_and_what_is_beside_it_is_left_alone(
    cp: Any, shape: tuple[int, int], gap: int, offset: int, way: str, n: int
) -> None:
    if way == "memset" and on_host(cp):
        pytest.skip("the driver's memset needs a GPU")
    fixed, frames = quantize(calibration(8, shape)), words_of(8, n, shape)
    raw, memory = in_slots(cp, frames, gap, offset)
    counts = CountBuffers(n, 1)
    if way == "count":
        GpuKernels(fixed, threshold=THRESHOLD).count(raw, counts, refill=True)
        assert counts.read(n) == [counts_of(correct_int16(each, fixed), THRESHOLD) for each in frames]
    elif way == "holes":
        GpuKernels(fixed).count_holes(raw, counts, refill=True)
        assert counts.holes.get().ravel().tolist() == (frames == HOLE_WORD).reshape(n, -1).sum(1).tolist()
    else:
        (kernels.refill if way == "kernel" else kernels.refill_by_memset)(raw)
    assert bool((raw == HOLE_WORD).all())
    assert int((memory == BESIDE).sum()) == memory.size - frames.size


def test_a_new_pedestal_counts_from_the_next_launch_on(cp: Any) -> None:
    shape = (64, 512)
    fixed, frames = quantize(calibration(9, shape)), words_of(9, 4, shape)
    gpu = GpuKernels(fixed, threshold=THRESHOLD, sparse_threshold=THRESHOLD)
    raw, images, counts = cp.asarray(frames), cp.empty((4, *shape), np.int16), CountBuffers(4)
    plane = (fixed.pedestal[0] - 900).astype(np.uint16)
    new = FixedCalibration(np.stack([plane, *fixed.pedestal[1:]]), fixed.mantissa, fixed.shift)
    for given, now in ((None, fixed), (plane, new), (cp.asarray(fixed.pedestal[0]), fixed)):
        if given is not None:
            gpu.set_pedestal(given)
        gpu.correct_int16(raw, images)
        gpu.count(raw, counts)
        expected = np.stack([correct_int16(each, now) for each in frames])
        np.testing.assert_array_equal(images.get(), expected)
        assert counts.read(4) == [counts_of(image, THRESHOLD) for image in expected]
        check_sparse(gpu, raw, expected)


def test_the_real_frames_equal_the_cpu_pipeline(cp: Any, real_file: JungfrauFile) -> None:
    of = real_file.calibration
    fixed = quantize(of)
    frames = np.stack([real_file.image(n) for n in range(real_file.n_frames)])
    gpu, n = GpuKernels(fixed, threshold=20, sparse_threshold=5, calibration=of), len(frames)
    raw, images, counts = cp.asarray(frames), cp.empty(frames.shape, np.int16), CountBuffers(n, 2)
    floats, rows = cp.empty(frames.shape, np.float32), SparseBuffers(n, frames.shape[1:], 1 << 16)
    gpu.correct_int16(raw, images, counts)
    gpu.correct_float32(raw, floats)
    gpu.sparse(raw, rows)
    host = Pipeline(fixed, Judging(sparse=5))
    np.testing.assert_array_equal(floats.get(), Correction(of, "float32")(frames))
    for index, each in enumerate(frames):
        result = host(each)
        assert result.sparse
        np.testing.assert_array_equal(images[index].get(), result.image)
        assert counts.read(n)[index] == result.counts
        found = rows.read(index)
        for name in ("pointers", "columns", "values"):
            np.testing.assert_array_equal(getattr(found, name), getattr(result.sparse, name))


@pytest.mark.parametrize("n", [1, 5])
def test_launches_that_overlap_have_the_results_of_each(cp: Any, n: int) -> None:
    shape = (64, 300) if on_host(cp) else (1024, 1024)
    fixed = quantize(calibration(n, shape))
    gpu, several = GpuKernels(fixed, threshold=THRESHOLD, sparse_threshold=THRESHOLD), range(4)
    frames = [words_of(each, n, shape, switched=0.02) for each in several]
    images = [np.stack([correct_int16(raw, fixed) for raw in each]) for each in frames]
    raw = [cp.asarray(each) for each in frames]
    rows, counts = (
        [SparseBuffers(n, shape, shape[0] * shape[1]) for _ in range(2)],
        [CountBuffers(n, 4) for _ in several],
    )
    corrected = [cp.empty(each.shape, np.int16) for each in raw]
    cp.cuda.get_current_stream().synchronize()
    for turn in range(12 if on_host(cp) else 60):
        for each in several:
            gpu.sparse(raw[each], rows[turn % 2], overlapped=True)
            gpu.count(raw[each], counts[each], overlapped=True)
            gpu.correct_int16(raw[each], corrected[each], overlapped=True)
            if each % 2:
                gpu.sparse(raw[each], rows[turn % 2], overlapped=True)
        check_read(rows[turn % 2], images[-1])
    for each in several:
        assert counts[each].read(n) == [counts_of(image, THRESHOLD) for image in images[each]]
        np.testing.assert_array_equal(corrected[each].get(), images[each])


def test_sparse_rows_of_a_launch_are_not_disturbed_by_those_that_overlap_it(cp: Any) -> None:
    shape = (24, 256) if on_host(cp) else (512, 1024)
    fixed = quantize(calibration(1, shape))
    gpu, rows = (
        GpuKernels(fixed, threshold=THRESHOLD, sparse_threshold=THRESHOLD),
        SparseBuffers(8, shape, shape[0] * shape[1]),
    )
    first, others = (words_of(seed, 8, shape, switched=0.02) for seed in (1, 2))
    expected = [correct_int16(raw, fixed) for raw in first[4:]]
    raw, other = cp.asarray(first), cp.asarray(others)
    cp.cuda.get_current_stream().synchronize()
    for turn in range(3 if on_host(cp) else 100):
        gpu.sparse(raw, rows, overlapped=True)
        for n in ((3, 1, 1, 2, 4), (1, 1, 4), (2, 3, 4, 2))[turn % 3]:
            gpu.sparse(other[:n], rows, overlapped=True)
        for index, image in enumerate(expected):
            dense = np.where((image >= THRESHOLD) & (image <= MAX_VALUE), image, 0)
            np.testing.assert_array_equal(rows.read(4 + index).dense(shape[1]), dense)


def test_what_does_not_fit_is_refused_in_one_sentence(cp: Any) -> None:
    shape = (8, 16)
    gpu = GpuKernels(quantize(calibration(1, shape)))
    raw, image = cp.zeros((3, *shape), np.uint16), cp.zeros((3, *shape), np.int16)
    with pytest.raises(InputError, match=r"images are int16 \(2, 8, 16\), needed are int16 of \(3, 8, 16\)"):
        gpu.correct_int16(raw, image[:2])
    with pytest.raises(InputError, match=r"the counts have room for 2 frames, 3 are given"):
        gpu.count(raw, CountBuffers(2))
    with pytest.raises(InputError, match=r"5 sources do not have equal shares of 128 pixels"):
        gpu.count(raw, CountBuffers(3, 5))
    with pytest.raises(InputError, match="for no sources"):
        gpu.count_holes(raw, CountBuffers(3))
    with pytest.raises(ConfigError, match="float32 needs the Calibration"):
        gpu.correct_float32(raw, image.astype(np.float32))
    with pytest.raises(InputError, match="a launch that refills cannot overlap"):
        gpu.count(cp.zeros((1, *shape), np.uint16), CountBuffers(1), refill=True, overlapped=True)
    with pytest.raises(ConfigError, match="no sparse threshold"):
        gpu.sparse(raw, SparseBuffers(3, shape, 10))


def test_an_image_with_more_pixels_than_places_have_numbers_is_refused(
    cp: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kernels, "MOST_PIXELS", 128)
    GpuKernels(quantize(calibration(1, (8, 16))))
    with pytest.raises(ConfigError, match=r"images \(3, 43\) are too large for the GPU's kernels: 128 pixels at most"):
        GpuKernels(quantize(calibration(1, (3, 43))))
