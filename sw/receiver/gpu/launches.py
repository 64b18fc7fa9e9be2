"""Launches of kernels that are prepared once: all that is left to do for a frame is one call each."""

import ctypes
from collections.abc import Sequence
from typing import Any

import numpy as np

from framelane.receiver.gpu.driver import driver
from framelane.receiver.gpu.kernels import GpuKernels

_ARGUMENT_BYTES = 8
"""The longest: an address."""


class Launch:
    """A kernel of CuPy with its arguments, numpy scalars: a call with a stream of the driver launches it."""

    def __init__(self, function: Any, blocks: int, threads: int, arguments: Sequence[Any]) -> None:
        self._values = np.zeros((len(arguments), _ARGUMENT_BYTES), np.uint8)
        for value, argument in zip(self._values, arguments, strict=True):
            raw = argument.tobytes()
            value[: len(raw)] = np.frombuffer(raw, np.uint8)
        self._first = self._values[0].view(np.uint64)
        self._addresses = (ctypes.c_void_p * len(arguments))(*(value.ctypes.data for value in self._values))
        self._before = (driver().api.CUfunction(function.kernel.ptr), blocks, 1, 1, threads, 1, 1, 0)
        self._after = (ctypes.addressof(self._addresses), 0)
        self._launch = driver().bound("launch a kernel", "cuLaunchKernel")

    def use(self, address: int) -> None:
        """Take another first argument, an address, from now on."""
        self._first[0] = address

    def __call__(self, stream: Any) -> None:
        """Launch it. GpuError where that fails."""
        self._launch(*self._before, stream, *self._after)


class PreparedKernels(GpuKernels):
    """Kernels whose methods prepare a launch, the newest of `launches`, instead of launching."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.launches: list[Launch] = []

    def _queue(self, function: Any, blocks: int, threads: int, arguments: tuple[Any, ...], overlapped: bool) -> None:
        self.launches.append(Launch(function, blocks, threads, arguments))
