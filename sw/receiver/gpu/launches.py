"""Launches of kernels that are prepared once: all that is left to do for a frame is one call each."""

import contextlib
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from framelane.models.jungfrau.jf_fixed import FixedCalibration
from framelane.receiver.gpu.arguments import Arguments
from framelane.receiver.gpu.driver import driver
from framelane.receiver.gpu.kernels import NO_VERDICT, GpuKernels, VerdictPlaces
from framelane.receiver.gpu.overlapped import overlapping
from framelane.receiver.pipeline.judging import Judging


class Launch:
    """A kernel of CuPy with its arguments, numpy scalars: a call with a stream of the driver launches it.

    With `early` it waits by itself for the one before, and may begin before the end of that: see `overlapped`.
    """

    def __init__(
        self, function: Any, blocks: int, threads: int, arguments: Sequence[Any], *, early: bool = False
    ) -> None:
        self._early = early
        self._arguments = Arguments(arguments)
        self._first = self._arguments.values[0].view(np.uint64)
        self._before = (driver().api.CUfunction(function.kernel.ptr), blocks, 1, 1, threads, 1, 1, 0)
        self._after = (self._arguments.address, 0)
        self._launch = driver().bound("launch a kernel", "cuLaunchKernel")
        self._launch_early = driver().bound("launch a kernel", "cuLaunchKernelEx")

    def use(self, address: int) -> None:
        """Take another first argument, an address, from now on."""
        self._first[0] = address

    def change(self, index: int, argument: Any) -> None:
        """Take another argument, of the same type, from now on."""
        self._arguments.values[index].view(argument.dtype)[0] = argument

    def __call__(self, stream: Any, *, early: bool = False) -> None:
        """Launch it, `early` where it can be: the host takes longer for that. GpuError where it fails."""
        if self._early and early:
            kernel, blocks, threads = self._before[0], self._before[1], self._before[4]
            self._launch_early(overlapping(blocks, threads, int(stream)), kernel, *self._after)
        else:
            self._launch(*self._before, stream, *self._after)


class PreparedKernels(GpuKernels):
    """Kernels whose methods prepare a launch, the newest of `launches`, instead of launching.

    Peaks and sparse rows are those of `judging`, in photons. ConfigError as of `GpuKernels`.
    """

    def __init__(self, fixed: FixedCalibration, judging: Judging) -> None:
        super().__init__(fixed, threshold=judging.veto.threshold, sparse_threshold=judging.sparse)
        self.launches: list[Launch] = []

    @contextlib.contextmanager
    def judging(self, places: VerdictPlaces) -> Iterator[None]:
        """Let the launches that are prepared meanwhile judge their frame, those that count, or come after a verdict."""
        self._verdict = places
        try:
            yield
        finally:
            self._verdict = NO_VERDICT

    def _queue(self, function: Any, blocks: int, threads: int, arguments: tuple[Any, ...], early: bool) -> None:
        self.launches.append(Launch(function, blocks, threads, arguments, early=early))
