"""Arguments of a kernel as the driver takes them."""

import ctypes
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

_BYTES = 8
"""The longest: an address."""


class Arguments:
    """A copy of numpy scalars of 8 bytes at most, each at an address of its own for as long as this lives.

    `values` is uint8 (n, 8); `address` is that of the array of their addresses, `kernelParams` of cuLaunchKernel.
    """

    def __init__(self, arguments: Sequence[Any]) -> None:
        self.values: NDArray[np.uint8] = np.zeros((len(arguments), _BYTES), np.uint8)
        for value, argument in zip(self.values, arguments, strict=True):
            raw = argument.tobytes()
            value[: len(raw)] = np.frombuffer(raw, np.uint8)
        self._addresses = (ctypes.c_void_p * len(arguments))(*(value.ctypes.data for value in self.values))
        self.address = ctypes.addressof(self._addresses)
