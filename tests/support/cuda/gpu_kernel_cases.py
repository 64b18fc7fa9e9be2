"""Frames, calibrations, and what the kernels have to make of them: the models' and the host's."""

from typing import Any, Literal

import numpy as np
import pytest
from numpy.typing import NDArray

from framelane.base.errors import InputError
from framelane.models.jungfrau.jf_calibration import Calibration
from framelane.models.jungfrau.jf_correct import MAX_VALUE, PixelCode, correct_int16
from framelane.models.jungfrau.jf_fixed import FixedCalibration, quantize
from framelane.models.placement.slots import HOLE_WORD
from framelane.receiver.gpu.kernels import CountBuffers, GpuKernels, SparseBuffers
from framelane.receiver.pipeline.correction import Correction
from framelane.receiver.pipeline.result import Counts

SHIFTS = [(26, 21, 18), (0, 31, 1), (12, 0, 31), (31, 31, 31), (0, 0, 0)]
THRESHOLD = 10
BESIDE = 0x8003
"""Between frames: no value, and no code."""
UNITS: tuple[Literal["photons", "keV"], ...] = ("photons", "keV")


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
    gpu = GpuKernels(fixed, threshold=THRESHOLD, sparse_threshold=THRESHOLD)
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
    """Sparse rows in memory that is just enough, of two launches one after the other."""
    n, rows, columns = images.shape
    kept = (images >= THRESHOLD) & (images <= MAX_VALUE)
    most = max(1, int(kept.reshape(n, -1).sum(1).max()))
    buffers = SparseBuffers(n + 1, (rows, columns), most)
    for _ in range(2):
        check_rows(gpu, raw, images, buffers)


def check_rows(gpu: GpuKernels, raw: Any, images: NDArray[np.int16], buffers: SparseBuffers) -> None:
    """Sparse rows of a launch."""
    gpu.sparse(raw, buffers)
    check_read(buffers, images)


def check_read(buffers: SparseBuffers, images: NDArray[np.int16]) -> None:
    """Sparse rows as they are read."""
    kept = (images >= THRESHOLD) & (images <= MAX_VALUE)
    for index, image in enumerate(images):
        found = buffers.read(index)
        at = np.nonzero(kept[index])
        pointers = np.concatenate([[0], kept[index].sum(1).cumsum()])
        np.testing.assert_array_equal(found.pointers, pointers)
        np.testing.assert_array_equal(found.columns, at[1])
        np.testing.assert_array_equal(found.values, image[at])
        assert [each.dtype.char for each in (found.pointers, found.columns, found.values)] == ["l", "i", "h"]


def check_float32(cp: Any, of: Calibration, frames: NDArray[np.uint16], gap: int = 0, offset: int = 0) -> None:
    """Compare float32 images with the host's, in photons and in keV; frames lie as in `check`."""
    for unit in UNITS:
        expected = Correction(of, "float32", unit)(frames)
        raw, _ = in_slots(cp, frames, gap, offset)
        images = cp.full(frames.shape, -1, np.float32)
        GpuKernels(quantize(of), calibration=of, unit=unit).correct_float32(raw, images)
        result = images.get()
        there = ~np.isnan(expected)
        np.testing.assert_array_equal(~np.isnan(result), there)
        np.testing.assert_array_equal(result[there].view(np.uint32), expected[there].view(np.uint32))


def check_overflow(cp: Any, fixed: FixedCalibration, frames: NDArray[np.uint16], missing: int) -> None:
    """Sparse rows with room for so many pixels less than any frame has."""
    images = np.stack([correct_int16(raw, fixed) for raw in frames])
    kept = (images >= THRESHOLD) & (images <= MAX_VALUE)
    n, count = len(frames), kept.reshape(len(frames), -1).sum(1)
    capacity = int(count.min()) - missing
    buffers = SparseBuffers(n + 1, fixed.pedestal.shape[1:], capacity)
    buffers.columns.fill(-1)
    buffers.values.fill(-1)
    GpuKernels(fixed, threshold=THRESHOLD, sparse_threshold=THRESHOLD).sparse(cp.asarray(frames), buffers)
    for index, image in enumerate(images):
        assert int(buffers.pointers[index, -1]) == count[index]
        with pytest.raises(InputError, match=rf"image {index} has {count[index]} pixels .* room for {capacity}:"):
            buffers.read(index)
        at = np.nonzero(kept[index])
        np.testing.assert_array_equal(buffers.columns[index].get(), at[1][:capacity])
        np.testing.assert_array_equal(buffers.values[index].get(), image[at][:capacity])
    assert bool((buffers.columns[n] == -1).all() and (buffers.values[n] == -1).all())
