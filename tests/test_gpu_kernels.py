"""The kernels on a GPU: the bits of the host, for every word, shape, gap and density."""

import itertools
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from framelane.models.errors import ConfigError, InputError
from framelane.models.jf_calibration import Calibration
from framelane.models.jf_correct import MAX_VALUE, PixelCode, correct_int16
from framelane.models.jf_fixed import FixedCalibration, quantize
from framelane.models.slots import HOLE_WORD
from framelane.receiver.correction import Correction
from framelane.receiver.gpu import kernels
from framelane.receiver.gpu.kernels import CountBuffers, GpuKernels, SparseBuffers
from framelane.receiver.jungfrau.jungfrau_file import JungfrauFile
from framelane.receiver.pipeline import Pipeline
from framelane.receiver.result import Counts
from framelane.receiver.veto import Veto

ALL_WORDS = np.arange(0x10000, dtype=np.uint16).reshape(256, 256)
EXTREMES = list(itertools.product((0, 9601, 0xFFFF), (0, 1, 0x8000, 0xFFFF), (0, 17, 31)))
SHIFTS = [(26, 21, 18), (0, 31, 1), (12, 0, 31), (31, 31, 31), (0, 0, 0)]
SHAPES = [(1, 1), (3, 5), (7, 333), (256, 256), (257, 1023), (512, 1024), (1, 100_000), (50_000, 1), (16, 4096)]
THRESHOLD = 10
BESIDE = 0x8003
"""Between frames: no value, and no code."""

pytestmark = pytest.mark.usefixtures("cp")


def scattered(seed: int, shape: tuple[int, int], high_gain: bool = False) -> FixedCalibration:
    """Any constants, a tenth of the pixels masked in each stage, another shift in each stage."""
    rng = np.random.default_rng(seed)
    pedestal, mantissa = rng.integers(0, 0x10000, (2, 3, *shape), np.uint16)
    mantissa[rng.random(mantissa.shape) < 0.1] = 0
    return FixedCalibration(pedestal, mantissa, SHIFTS[seed % len(SHIFTS)], high_gain=high_gain)


def calibration(seed: int, shape: tuple[int, int], high_gain: bool = False) -> Calibration:
    """As pixels are, a tenth of them masked in each stage."""
    rng = np.random.default_rng(seed)
    gain = np.array([41.0, -1.44, -0.1145]).reshape(3, 1, 1) * rng.uniform(0.9, 1.1, (3, *shape))
    pedestal = np.array([2450.0, 13585.0, 14100.0]).reshape(3, 1, 1) + rng.normal(0, 100, gain.shape)
    return Calibration(pedestal, gain, 12.4, rng.random(gain.shape) < 0.1, high_gain)


def words_of(seed: int, n: int, shape: tuple[int, int], switched: float = 0.02) -> NDArray[np.uint16]:
    """As of a detector: mostly G0 near its pedestal, and here and there any word at all, or a run of holes."""
    rng = np.random.default_rng(seed)
    words = (2450 + rng.normal(0, 120, (n, *shape)) + 508 * rng.poisson(1.0, (n, *shape))).clip(0, 0x3FFF)
    frames = words.astype(np.uint16)
    stray = rng.random(frames.shape) < switched
    frames[stray] = rng.integers(0, 0x10000, int(stray.sum()), np.uint16)
    for frame in frames.reshape(n, -1):
        start, length = rng.integers(0, frame.size), rng.integers(0, frame.size // 3 + 2)
        frame[start : start + length] = HOLE_WORD
    return frames


def counts_of(image: NDArray[np.int16], threshold: int) -> Counts:
    codes = (PixelCode.HOLE, PixelCode.SATURATED, PixelCode.INVALID, PixelCode.MASKED)
    holes, saturated, invalid, masked = (int((image == code).sum()) for code in codes)
    return Counts(holes, saturated, invalid, masked, int(((image >= threshold) & (image <= MAX_VALUE)).sum()))


def in_slots(cp: Any, frames: NDArray[np.uint16], gap: int, offset: int) -> tuple[Any, Any]:
    """Return the frames on the GPU with so many words between them, from word `offset` on, and all the memory."""
    n, rows, columns = frames.shape
    stride = rows * columns + gap
    memory = cp.full(offset + n * stride + 8, BESIDE, np.uint16)
    slots = memory[offset : offset + n * stride].reshape(n, stride)
    slots[:, : rows * columns] = cp.asarray(frames.reshape(n, -1))
    view = cp.lib.stride_tricks.as_strided(slots, (n, rows, columns), (stride * 2, columns * 2, 2))
    return view, memory


def check(
    cp: Any, fixed: FixedCalibration, frames: NDArray[np.uint16], gap: int = 0, offset: int = 0, sources: int = 0
) -> None:
    """Compare int16 images, all counts and sparse rows with the host's, for frames that lie so."""
    n = len(frames)
    images = np.stack([correct_int16(raw, fixed) for raw in frames])
    expected = [counts_of(image, THRESHOLD) for image in images]
    gpu = GpuKernels(fixed, THRESHOLD, THRESHOLD)
    raw, memory = in_slots(cp, frames, gap, offset)
    before = memory.copy()
    for counted in (False, True):
        out, out_memory = in_slots(cp, np.full_like(frames, 0x5555), gap, offset)
        counts = CountBuffers(n, sources)
        gpu.correct_int16(raw, out.view(np.int16), counts if counted else None)
        np.testing.assert_array_equal(out.get().view(np.int16), images)
        assert int((out_memory == BESIDE).sum()) == out_memory.size - frames.size
        if counted:
            assert counts.read(n) == expected
    counts = CountBuffers(n + 3, sources)
    for _ in range(2):  # the second time finds what the first has left behind
        gpu.count(raw, counts)
        assert counts.read(n) == expected
    assert bool((memory == before).all())
    if sources:
        holes = (frames == HOLE_WORD).reshape(n, sources, -1).sum(2)
        np.testing.assert_array_equal(counts.holes[:n].get(), holes)
        counts.holes.fill(7)
        gpu.count_holes(raw, counts)
        np.testing.assert_array_equal(counts.holes[:n].get(), holes)
    check_sparse(gpu, raw, images)


def check_sparse(gpu: GpuKernels, raw: Any, images: NDArray[np.int16]) -> None:
    n, rows, columns = images.shape
    kept = (images >= THRESHOLD) & (images <= MAX_VALUE)
    most = max(1, int(kept.reshape(n, -1).sum(1).max()))
    buffers = SparseBuffers(n + 1, (rows, columns), most)
    for _ in range(2):
        gpu.sparse(raw, buffers)
        for index, image in enumerate(images):
            found = buffers.read(index)
            at = np.nonzero(kept[index])
            pointers = np.concatenate([[0], kept[index].sum(1).cumsum()])
            np.testing.assert_array_equal(found.pointers, pointers)
            np.testing.assert_array_equal(found.columns, at[1])
            np.testing.assert_array_equal(found.values, image[at])
            assert [each.dtype.char for each in (found.pointers, found.columns, found.values)] == ["l", "i", "h"]


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
    frames = np.stack([np.roll(ALL_WORDS.ravel(), 12_345 * n).reshape(256, 256) for n in range(6)])
    check(cp, scattered(seed, ALL_WORDS.shape, high_gain), frames)


@pytest.mark.parametrize("n", [1, 2, 5, 41])
@pytest.mark.parametrize("shape", SHAPES)
def test_any_shape_and_number_of_frames(cp: Any, shape: tuple[int, int], n: int) -> None:
    n = min(n, 1 + (1 << 21) // (shape[0] * shape[1]))
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
    frames = words_of(4, 11, shape)
    frames[2].reshape(sources, -1)[sources // 2] = HOLE_WORD
    frames[3] = HOLE_WORD
    fixed = quantize(calibration(4, shape))
    check(cp, fixed, frames, sources=sources)
    for index in (0, 2, 3):
        check(cp, fixed, frames[index : index + 1], sources=sources)


@pytest.mark.parametrize("share", [0.0, 0.001, 0.03, 0.2, 1.0])
def test_sparse_rows_of_any_density(cp: Any, share: float) -> None:
    shape = (300, 1024)
    rng = np.random.default_rng(5)
    frames = np.full((37, *shape), 2450, np.uint16)
    frames[rng.random(frames.shape) < share] = 2450 + 508 * 12
    frames[7:9] = 2450 + 508 * 11
    check(cp, quantize(calibration(5, shape)), frames)


@pytest.mark.parametrize("missing", [1, 100, 3000])
def test_sparse_rows_that_do_not_fit_are_flagged_and_nothing_is_written_past_their_end(cp: Any, missing: int) -> None:
    shape = (128, 256)
    fixed, frames = quantize(calibration(6, shape)), words_of(6, 5, shape, switched=0.3)
    images = np.stack([correct_int16(raw, fixed) for raw in frames])
    n = ((images >= THRESHOLD) & (images <= MAX_VALUE)).reshape(5, -1).sum(1)
    capacity = int(n.min()) - missing
    buffers = SparseBuffers(6, shape, capacity)
    buffers.columns.fill(-1)
    buffers.values.fill(-1)
    GpuKernels(fixed, THRESHOLD, THRESHOLD).sparse(cp.asarray(frames), buffers)
    for index, image in enumerate(images):
        assert int(buffers.pointers[index, -1]) == n[index]
        with pytest.raises(InputError, match=rf"image {index} has {n[index]} pixels .* room for {capacity}:"):
            buffers.read(index)
        at = np.nonzero((image >= THRESHOLD) & (image <= MAX_VALUE))
        np.testing.assert_array_equal(buffers.columns[index].get(), at[1][:capacity])
        np.testing.assert_array_equal(buffers.values[index].get(), image[at][:capacity])
    assert bool((buffers.columns[5] == -1).all() and (buffers.values[5] == -1).all())


@pytest.mark.parametrize("high_gain", [False, True])
@pytest.mark.parametrize(("shape", "n", "gap"), [((256, 256), 1, 0), ((512, 1024), 6, 8), ((31, 77), 9, 3)])
def test_float32_has_the_bits_of_the_cpu(cp: Any, shape: tuple[int, int], n: int, gap: int, high_gain: bool) -> None:
    frames = words_of(7, n, shape, switched=0.3)
    if shape == ALL_WORDS.shape:
        frames[0] = ALL_WORDS
    for unit in ("photons", "keV"):
        of = calibration(7, shape, high_gain)
        expected = Correction(of, "float32", unit)(frames)
        raw, _ = in_slots(cp, frames, gap, 0)
        images = cp.full(frames.shape, -1, np.float32)
        GpuKernels(quantize(of), calibration=of, unit=unit).correct_float32(raw, images)
        result = images.get()
        there = ~np.isnan(expected)
        np.testing.assert_array_equal(~np.isnan(result), there)
        np.testing.assert_array_equal(result[there].view(np.uint32), expected[there].view(np.uint32))


@pytest.mark.parametrize("n", [1, 7])
@pytest.mark.parametrize("way", ["count", "holes", "kernel", "memset"])
@pytest.mark.parametrize(("shape", "gap", "offset"), [((64, 1024), 8, 0), ((31, 77), 3, 1), ((5, 16), 0, 0)])
def test_a_refilled_slot_is_all_holes_and_what_is_beside_it_is_left_alone(
    cp: Any, shape: tuple[int, int], gap: int, offset: int, way: str, n: int
) -> None:
    fixed, frames = quantize(calibration(8, shape)), words_of(8, n, shape)
    raw, memory = in_slots(cp, frames, gap, offset)
    counts = CountBuffers(n, 1)
    if way == "count":
        GpuKernels(fixed, THRESHOLD).count(raw, counts, refill=True)
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
    gpu = GpuKernels(fixed, THRESHOLD, THRESHOLD)
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
    gpu, n = GpuKernels(fixed, 20, 5, of), len(frames)
    raw, images, counts = cp.asarray(frames), cp.empty(frames.shape, np.int16), CountBuffers(n, 2)
    floats, rows = cp.empty(frames.shape, np.float32), SparseBuffers(n, frames.shape[1:], 1 << 16)
    gpu.correct_int16(raw, images, counts)
    gpu.correct_float32(raw, floats)
    gpu.sparse(raw, rows)
    host = Pipeline(fixed, Veto(20), 5)
    np.testing.assert_array_equal(floats.get(), Correction(of, "float32")(frames))
    for index, each in enumerate(frames):
        result = host(each)
        assert result.sparse
        np.testing.assert_array_equal(images[index].get(), result.image)
        assert counts.read(n)[index] == result.counts
        found = rows.read(index)
        for name in ("pointers", "columns", "values"):
            np.testing.assert_array_equal(getattr(found, name), getattr(result.sparse, name))


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
    with pytest.raises(ConfigError, match="no sparse threshold"):
        gpu.sparse(raw, SparseBuffers(3, shape, 10))
