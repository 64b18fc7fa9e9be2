"""Launches of kernels that are prepared once: all that is left to do for a frame is one call each."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from framelane.models.jungfrau.jf_fixed import FixedCalibration
from framelane.receiver.gpu.arguments import Arguments
from framelane.receiver.gpu.driver import driver
from framelane.receiver.gpu.kernels import GpuKernels
from framelane.receiver.pipeline.judging import Judging


class Launch:
    """A kernel of CuPy with its arguments, numpy scalars: a call with a stream of the driver launches it."""

    def __init__(self, function: Any, blocks: int, threads: int, arguments: Sequence[Any]) -> None:
        self._arguments = Arguments(arguments)
        self._first = self._arguments.values[0].view(np.uint64)
        self._before = (driver().api.CUfunction(function.kernel.ptr), blocks, 1, 1, threads, 1, 1, 0)
        self._after = (self._arguments.address, 0)
        self._launch = driver().bound("launch a kernel", "cuLaunchKernel")

    def use(self, address: int) -> None:
        """Take another first argument, an address, from now on."""
        self._first[0] = address

    def __call__(self, stream: Any) -> None:
        """Launch it. GpuError where that fails."""
        self._launch(*self._before, stream, *self._after)


class PreparedKernels(GpuKernels):
    """Kernels whose methods prepare a launch, the newest of `launches`, instead of launching.

    Peaks and sparse rows are those of `judging`, in photons. ConfigError as of `GpuKernels`.
    """

    def __init__(self, fixed: FixedCalibration, judging: Judging) -> None:
        super().__init__(fixed, threshold=judging.veto.threshold, sparse_threshold=judging.sparse)
        self.launches: list[Launch] = []

    def _queue(self, function: Any, blocks: int, threads: int, arguments: tuple[Any, ...], overlapped: bool) -> None:
        self.launches.append(Launch(function, blocks, threads, arguments))
