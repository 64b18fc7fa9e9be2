"""Results of the kernels in GPU memory, taken once: nothing is allocated for a frame.

They are ready for any stream as soon as they are made; then each is for one stream at a time: two launches that share
one at a time give wrong results, or stop with an error of the GPU, after which the process has to end.
"""

from typing import Any

import numpy as np

from framelane.base.errors import ConfigError, InputError
from framelane.receiver.gpu._device import cupy
from framelane.receiver.gpu._plans import MOST_FRAMES, plan
from framelane.receiver.pipeline.result import Counts, SparseRows

N_COUNTS = 5
JOBS_A_GROUP = 32
"""JOBS_A_GROUP of kernels/look_back.cuh."""
_TURNS, _FIRST_SUM = 255, 260
"""TURNS and SUMS of kernels/look_back.cuh."""
_KEPT_SETS = 3
"""Sets of what the warps of a launch of more than one frame keep: kernels/sparse.cu says why so many."""
_LANES = 32
"""Threads of a warp."""


class CountBuffers:
    """Counts of up to `frames` frames from `sources` sources.

    `counts` is uint32 (frames, 5) in the order of `Counts`; `holes` uint32 (frames, sources), or None without sources.
    """

    def __init__(self, frames: int, sources: int = 0) -> None:
        if frames < 1 or sources < 0:
            raise ConfigError(f"counts of {frames} frames from {sources} sources cannot be: give 1 frame or more")
        module = cupy()
        zeros = module.zeros
        self.counts = zeros((frames, N_COUNTS), np.uint32)
        self.holes: Any = zeros((frames, sources), np.uint32) if sources else None
        self.sources = sources
        self.work = zeros((frames + 1) * (N_COUNTS + sources + 1), np.uint32)
        module.cuda.get_current_stream().synchronize()

    @property
    def frames(self) -> int:
        """Room for so many."""
        return len(self.counts)

    def read(self, frames: int) -> list[Counts]:
        """Those of the first `frames`, copied to the host; waits for the current stream."""
        return [Counts(*row) for row in self.counts[:frames].get().tolist()]


class SparseBuffers:
    """Sparse rows of up to `frames` images of `shape` (rows, columns), `capacity` pixels each.

    `pointers` is int64 (frames, rows + 1), `columns` int32 and `values` int16 (frames, capacity). `pointers[n, rows]`
    is how many pixels of image n reach the threshold, also where that is more than the capacity: then the image has
    overflowed, its pointers still hold, and only the first pixels, up to the capacity, were written. For more than one
    frame the kernel needs memory of its own, 104 MB on an H200. Launches that are prepared or captured have their part
    of it for ever: between them and others that overlap the host has to wait.
    """

    def __init__(self, frames: int, shape: tuple[int, int], capacity: int) -> None:
        rows, columns = shape
        if min(frames, rows, columns, capacity) < 1 or capacity >= 1 << 32:
            raise ConfigError(f"sparse rows of {frames} images {shape} with {capacity} pixels each cannot be")
        module = cupy()
        zeros = module.zeros
        self.pointers = zeros((frames, rows + 1), np.int64)
        self.columns = zeros((frames, capacity), np.int32)
        self.values = zeros((frames, capacity), np.int16)
        self.shape = shape
        self.capacity = capacity
        multiprocessors = module.cuda.Device().attributes["MultiProcessorCount"]
        launches = [
            (n, plan("sparse", n, overlapped).jobs(rows * columns, n, multiprocessors))
            for n in (1, min(frames, MOST_FRAMES))
            for overlapped in (False, True)
        ]
        self.words = max(n * (jobs + -(-jobs // JOBS_A_GROUP)) for n, jobs in launches)
        """Sums of a launch, of which `work` holds two: see kernels/look_back.cuh."""
        self.work = zeros(_FIRST_SUM + 2 * self.words, np.uint32)
        many = plan("sparse", 2)
        warps = many.blocks(rows * columns, frames, multiprocessors) * many.threads // _LANES if frames > 1 else 0
        self._kept = module.empty((_KEPT_SETS, max(1, warps * many.kept)), np.uint32)
        self._turn = self._set = 0
        module.cuda.get_current_stream().synchronize()

    @property
    def frames(self) -> int:
        """Room for so many."""
        return len(self.pointers)

    def next_turn(self) -> int:
        """Another number for each launch, for those that overlap."""
        self._turn = (self._turn + 1) % _TURNS
        return self._turn

    def next_kept(self) -> Any:
        """Memory for what the warps of a launch of more than one frame keep, until they know where it goes."""
        self._set = (self._set + 1) % _KEPT_SETS
        return self._kept[self._set]

    def read(self, frame: int) -> SparseRows:
        """Those of one image, copied to the host; waits for the current stream. InputError where it has overflowed."""
        pointers = self.pointers[frame].get()
        n = int(pointers[-1])
        if n > self.capacity:
            raise InputError(
                f"image {frame} has {n} pixels that reach the threshold, there is room for {self.capacity}: give a "
                "larger capacity or a higher threshold"
            )
        return SparseRows(pointers, self.columns[frame, :n].get(), self.values[frame, :n].get())


def room(what: str, buffers: Any, frames: int) -> None:
    """InputError where `buffers` have no room for so many frames."""
    if frames > buffers.frames:
        raise InputError(f"{what} have room for {buffers.frames} frames, {frames} are given: make them larger")
