"""JUNGFRAU words on the GPU: correction, counts, sparse rows and holes of many frames at once.

Frames are CuPy arrays (frames, rows, columns) with any gap between frames, such as slots of a ring; where all frames
begin at multiples of 16 bytes they are read and written by vectors. Everything is queued on CuPy's current stream
(`with stream:`), nothing waits, and nothing is allocated in a call but the first of its kind, which compiles the
kernel. Results equal the host's bit for bit: `models.jf_correct`, `framelane.receiver.pipeline.correction` and
`framelane.receiver.pipeline.result`.
"""

import ctypes
from functools import cache
from typing import Any, Literal, NamedTuple

import numpy as np

from framelane.base.errors import ConfigError, InputError
from framelane.models.jungfrau.jf_calibration import Calibration
from framelane.models.jungfrau.jf_correct import MAX_VALUE
from framelane.models.jungfrau.jf_fixed import FixedCalibration
from framelane.models.placement.slots import HOLE_WORD
from framelane.receiver.gpu._constants import FloatConstants, Int16Constants, Limits
from framelane.receiver.gpu._device import cupy, kernel
from framelane.receiver.gpu._frames import Frames, frames, parts
from framelane.receiver.gpu._plans import MOST_FRAMES, Plan, plan
from framelane.receiver.gpu.buffers import CountBuffers, SparseBuffers, room
from framelane.receiver.gpu.overlapped import can_overlap, launch_overlapped

MOST_PIXELS = 1 << 31
"""The most pixels of an image: their places have 32 bits."""

_NULL = np.uintp(0)


class VerdictPlaces(NamedTuple):
    """Where kernels/verdict.cuh finds what it needs; without a `state` there is no verdict."""

    minimum: np.uint32 = np.uint32(0)
    state: np.uintp = _NULL
    report: np.uintp = _NULL
    wanted: np.uintp = _NULL
    ends: np.uint32 = np.uint32(0)


NO_VERDICT = VerdictPlaces()
_FILL_BLOCKS, _FILL_THREADS = 512, 256
_HALF_OF_THE_THREADS = 1024
"""Half of a multiprocessor's threads."""


class GpuKernels:
    """The kernels for one calibration, on the current GPU.

    A peak is a pixel of at least `threshold`, sparse rows hold those of at least `sparse_threshold`, both in photons or
    keV as `fixed` has them. `calibration` is needed for float32 only, in `unit`. ConfigError where no value reaches a
    threshold, where the calibrations differ in shape, or without a GPU.

    `overlapped` lets a launch begin while those queued before it on the stream have not ended. Then its words and the
    calibration have to be complete: the host has waited for them, or there is a launch without `overlapped` between;
    that they were queued before is not enough. And no launch that the host has not waited for yet may use the images
    that it writes. Counts and rows may be the same: they are written in the stream's order, and all is complete in it,
    as ever. It is an offer, which a GPU takes from compute capability 9.0 on, with cuda-bindings, and for images,
    counts of single frames and sparse rows. A call takes the host longer; single frames gain where launches are
    captured.

    Where it may overlap, a launch for a single frame without `overlapped` begins early as well, but touches nothing
    until those before have ended: for the caller there is no difference.
    """

    def __init__(
        self,
        fixed: FixedCalibration,
        *,
        threshold: int = 1,
        sparse_threshold: int | None = None,
        calibration: Calibration | None = None,
        unit: Literal["photons", "keV"] = "photons",
    ) -> None:
        shape = fixed.pedestal.shape[1:]
        if shape[0] * shape[1] > MOST_PIXELS:
            raise ConfigError(f"images {shape} are too large for the GPU's kernels: {MOST_PIXELS} pixels at most")
        if calibration is not None and calibration.pedestal.shape[1:] != shape:
            raise ConfigError(
                f"the calibrations are for {shape} and {calibration.pedestal.shape[1:]}: give those of one"
            )
        self.shape: tuple[int, int] = (shape[0], shape[1])
        self._high_gain = {"HIGH_GAIN": int(fixed.high_gain)}
        self._int16 = Int16Constants(fixed)
        self._float32 = None if calibration is None else FloatConstants(calibration, unit)
        self._peaks = Limits(self._int16, _value(threshold, fixed))
        self._sparse = (
            None if sparse_threshold is None else Limits(self._int16, _value(sparse_threshold, fixed), g0=True)
        )
        self._overlaps = can_overlap()
        self._verdict = NO_VERDICT
        self._renewed = False
        self._multiprocessors: int = cupy().cuda.Device().attributes["MultiProcessorCount"]
        cupy().cuda.get_current_stream().synchronize()

    def set_pedestal(self, plane: Any) -> None:
        """Use another pedestal of plane 0 from now on: uint16 (rows, columns), quarters of an ADU, CuPy or numpy.

        Queued like all else: what is queued before still has the old one, and the next launch does not overlap. float32
        is not changed.
        """
        if plane.dtype != np.uint16 or plane.shape != self.shape:
            raise InputError(f"the pedestal is {plane.dtype} {plane.shape}, needed is uint16 {self.shape}")
        self._int16.set_pedestal(plane)
        self._renewed = True
        for limits in (self._peaks, self._sparse):
            if limits is not None:
                limits.renew(0)

    def correct_int16(self, raw: Any, image: Any, counts: CountBuffers | None = None, overlapped: bool = False) -> None:
        """Correct uint16 `raw` into int16 `image` as the model does; with `counts` count in the same pass."""
        source = frames("raw words", raw, np.uint16, self.shape)
        result = frames("images", image, np.int16, self.shape, source.n)
        name = "correct_int16" if counts is None else "correct_int16_counted"
        macros = {"COUNTED": int(counts is not None), "WORD_SHIFT": self._int16.word_shift}
        constants = (*self._int16.arguments, np.int32(self._peaks.threshold))
        for part in parts(source.n, source.n if counts is None else MOST_FRAMES):
            of = (source.part(part), result.part(part))
            arguments = (*constants, *self._sums(counts, part), *self._verdict)
            self._run("correct_int16", plan(name, len(part)), macros, of, arguments, overlapped=overlapped)

    def correct_float32(self, raw: Any, image: Any, overlapped: bool = False) -> None:
        """Correct uint16 `raw` into float32 `image` as `receiver.pipeline.correction` does; NaN without a value."""
        if self._float32 is None:
            raise ConfigError("float32 needs the Calibration, not only its integers: give it to GpuKernels")
        source = frames("raw words", raw, np.uint16, self.shape)
        result = frames("images", image, np.float32, self.shape, source.n)
        macros = {"COMPACT": 1} if self._float32.compact else {"COMPACT": 0, "KEEP_G1": 0}
        launch = plan("correct_float32", source.n)
        self._run("correct_float32", launch, macros, (source, result), self._float32.arguments, overlapped=overlapped)

    def count(self, raw: Any, counts: CountBuffers, refill: bool = False, overlapped: bool = False) -> None:
        """Count what the corrected images would hold, without writing them; `refill` fills `raw` with holes again.

        InputError for both `refill` and `overlapped`.
        """
        if refill and overlapped:
            raise InputError("a launch that refills cannot overlap the one before: choose one of them")
        source = frames("raw words", raw, np.uint16, self.shape)
        limits = (np.uintp(self._peaks.planes.data.ptr), np.uint32(self._peaks.pitch))
        for part in parts(source.n, MOST_FRAMES):
            launch, arguments = plan("count", len(part)), (*limits, *self._sums(counts, part), *self._verdict)
            macros = {"REFILLED": int(refill)}
            self._run("count", launch, macros, (source.part(part),), arguments, overlapped=overlapped)

    def count_holes(self, raw: Any, counts: CountBuffers, refill: bool = False) -> None:
        """Count the holes of every source into `counts.holes` alone; `refill` fills `raw` with holes again.

        InputError where `counts` are for no sources.
        """
        if not counts.sources:
            raise InputError("the counts are for no sources: give their number to CountBuffers")
        source = frames("raw words", raw, np.uint16, self.shape)
        for part in parts(source.n, MOST_FRAMES):
            launch, arguments = plan("holes", len(part)), self._sums(counts, part)[1:]
            self._run("holes", launch, {"REFILLED": int(refill)}, (source.part(part),), arguments, "count_holes")

    def sparse(self, raw: Any, rows: SparseBuffers, overlapped: bool = False) -> None:
        """Find the pixels from the sparse threshold on, without writing images: see `SparseBuffers`."""
        if self._sparse is None:
            raise ConfigError("no sparse threshold was given to GpuKernels")
        source = frames("raw words", raw, np.uint16, self.shape)
        room("the sparse rows", rows, source.n)
        if rows.shape != self.shape:
            raise InputError(f"the sparse rows are for images {rows.shape}, the calibration is for {self.shape}")
        pixels = self.shape[0] * self.shape[1]
        for part in parts(source.n, MOST_FRAMES):
            launch = plan("sparse", len(part), self._may_overlap(overlapped))
            jobs = launch.jobs(pixels, len(part), self._multiprocessors)
            arguments = (
                np.uint32(jobs),
                np.uint32(self.shape[1]),
                np.uintp(self._sparse.planes.data.ptr),
                *self._int16.arguments,
                np.int32(self._sparse.threshold),
                *(np.uintp(array[part.start :].data.ptr) for array in (rows.pointers, rows.columns, rows.values)),
                np.uint32(rows.capacity),
                np.uintp(rows.work.data.ptr),
                np.uint32(rows.words),
                np.uint32(-(-rows.words // jobs)),
                self._verdict.state,
                np.uintp(0 if len(part) == 1 else rows.next_kept().data.ptr),
                np.uint32(rows.next_turn()),
                np.uint32(self._may_overlap(overlapped) and self._early(launch, len(part))),
            )
            self._run("sparse", launch, {}, (source.part(part),), arguments, overlapped=overlapped, most=jobs)

    def _early(self, launch: Plan, frames: int) -> bool:
        """Whether a launch of kernels/sparse.cu may let the next one begin at once; see there."""
        blocks = launch.blocks(self.shape[0] * self.shape[1], frames, self._multiprocessors)
        return frames == 1 or blocks * launch.threads >= _HALF_OF_THE_THREADS * self._multiprocessors

    def _sums(self, counts: CountBuffers | None, part: range) -> tuple[Any, ...]:
        """Counts and holes of these frames, work, sources and the pixels of each."""
        if counts is None:
            return _NULL, _NULL, _NULL, np.uint32(0), np.uint32(1)
        room("the counts", counts, part.stop)
        pixels = self.shape[0] * self.shape[1]
        if counts.sources and pixels % counts.sources:
            raise InputError(f"{counts.sources} sources do not have equal shares of {pixels} pixels")
        results = (counts.counts, counts.holes)
        addresses = (_NULL if each is None else np.uintp(each[part.start :].data.ptr) for each in results)
        share = np.uint32(pixels // (counts.sources or 1))
        return *addresses, np.uintp(counts.work.data.ptr), np.uint32(counts.sources), share

    def _run(
        self,
        name: str,
        launch: Plan,
        macros: dict[str, int],
        arrays: tuple[Frames, ...],
        arguments: tuple[Any, ...],
        function: str | None = None,
        overlapped: bool = False,
        most: int | None = None,
    ) -> None:
        """Launch a kernel, `function` of `name`, in `most` blocks: what all are given, then its own arguments."""
        n, pixels = arrays[0].n, self.shape[0] * self.shape[1]
        aligned = all(array.aligned for array in arrays)
        macros = launch.macros | self._high_gain | macros | {"ALIGNED": int(aligned), "SINGLE": int(n == 1)}
        blocks = launch.blocks(pixels, n, self._multiprocessors)
        blocks = blocks if most is None else min(blocks, most)
        overlapped = self._may_overlap(overlapped)
        before = [argument for array in arrays for argument in (array.address, array.stride)]
        sizes = (np.uint32(n), np.uint32(pixels), np.uint32(launch.per_part), np.uint32(not overlapped))
        early = overlapped or (self._overlaps and n == 1)
        self._queue(
            kernel(name, function or name, macros), blocks, launch.threads, (*before, *sizes, *arguments), early
        )
        self._renewed = self._renewed and overlapped

    def _may_overlap(self, overlapped: bool) -> bool:
        """Whether the next launch may touch what it is given before the end of those before, where it is asked to."""
        return overlapped and self._overlaps and not self._renewed

    def _queue(self, function: Any, blocks: int, threads: int, arguments: tuple[Any, ...], early: bool) -> None:
        """Queue a kernel of CuPy with its arguments, numpy scalars, on the current stream.

        `early`: it may begin before the end of the one before, and waits by itself.
        """
        if early:
            launch_overlapped(function, blocks, threads, arguments)
        else:
            function((blocks,), (threads,), arguments)


def refill(raw: Any) -> None:
    """Fill uint16 frames (frames, rows, columns) with holes, by a kernel."""
    slots = frames("raw words", raw, np.uint16, raw.shape[1:])
    pixels = raw[0].size
    macros = {"ALIGNED": int(slots.aligned), "STORE": 1, "THREADS": _FILL_THREADS}
    arguments = (slots.address, slots.stride, np.uint32(slots.n), np.uint32(pixels))
    kernel("fill", "fill", macros)((_FILL_BLOCKS, slots.n), (_FILL_THREADS,), arguments)


def refill_by_memset(raw: Any) -> None:
    """Fill uint16 frames (frames, rows, columns) with holes, by the driver's memset."""
    slots = frames("raw words", raw, np.uint16, raw.shape[1:])
    width = raw[0].size
    pitch = max(int(slots.stride), width) * 2
    stream = ctypes.c_void_p(cupy().cuda.get_current_stream().ptr)
    address = ctypes.c_uint64(int(slots.address))
    status = _memset()(address, ctypes.c_size_t(pitch), ctypes.c_ushort(HOLE_WORD), width, slots.n, stream)
    if status:
        raise ConfigError(f"the driver cannot fill {slots.n} frames of {width} words (CUDA error {status})")


@cache
def _memset() -> Any:
    function = ctypes.CDLL("libcuda.so.1").cuMemsetD2D16Async
    function.argtypes = (
        ctypes.c_uint64,
        ctypes.c_size_t,
        ctypes.c_ushort,
        ctypes.c_size_t,
        ctypes.c_size_t,
        ctypes.c_void_p,
    )
    return function


def _value(threshold: int, fixed: FixedCalibration) -> int:
    """A threshold in photons as a value."""
    value = threshold << fixed.fraction_bits
    if not 1 <= value <= MAX_VALUE:
        raise ConfigError(
            f"a threshold of {threshold} with {fixed.fraction_bits} fraction bits cannot be: give 1 or more; values "
            f"end at {MAX_VALUE / 2**fixed.fraction_bits:g}"
        )
    return value


__all__ = ["CountBuffers", "GpuKernels", "SparseBuffers", "refill", "refill_by_memset"]
