"""Memory of a ring that a GPU works on: pages of the host, pinned, or memory of the GPU itself.

`Ring` takes either, and both are filled with holes by the GPU. A NIC registers memory of the host as any other; that of
the GPU is exported as a dma-buf (`verbs.gpu_memory`).
"""

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from framelane.base.errors import ConfigError
from framelane.models.placement.slots import HOLE_WORD
from framelane.receiver.gpu._device import cupy
from framelane.receiver.gpu.driver import driver
from framelane.receiver.gpu.gpu_error import GpuError
from framelane.receiver.gpu.pin import Pin
from framelane.receiver.ring.memory import host_memory

_GPU_PAGE = 64 << 10
"""A dma-buf begins with one."""
_HOLES_BYTES = 8 << 20
"""What is copied at once to fill memory of the host."""

_filled: dict[int, int] = {}
"""Slots that a pipeline has filled with holes, and that nobody has released since: address and bytes."""


class PinnedArray(np.ndarray[Any, Any]):
    """An array in pinned memory of the host. A GPU fills it: that way of PCIe is free, and so are the host's cores."""

    pin: Pin | None = None

    def __array_finalize__(self, array: object) -> None:
        self.pin = getattr(array, "pin", None)

    def fill(self, value: Any) -> None:
        """See `numpy.ndarray`; returns when all is filled."""
        if _was_filled(self.ctypes.data, self.nbytes, value):
            return
        if self.dtype.itemsize != 2 or int(value) != HOLE_WORD or not self.flags.c_contiguous:
            super().fill(value)
            return
        source = _holes().data.ptr
        start, end = self.ctypes.data, self.ctypes.data + self.nbytes
        try:
            for at in range(start, end, _HOLES_BYTES):
                size = min(_HOLES_BYTES, end - at)
                driver().call("fill a slot", "cuMemcpyDtoHAsync", at, source, size, _stream())
            driver().call("fill a slot", "cuStreamSynchronize", _stream())
        except GpuError:  # it has failed: a core of the host does it
            super().fill(value)


def pinned_memory(
    size: int, huge_pages: bool = False, address: int | None = None, root: Path = Path("/")
) -> PinnedArray:
    """`size` bytes of the host for a `Ring`, as `host_memory` gives them, pinned for the current GPU."""
    memory = host_memory(size, huge_pages, address, root)
    array = memory.view(PinnedArray)
    array.pin = Pin(memory)
    return array


def gpu_memory(size: int) -> Any:
    """`size` bytes of the current GPU for a `Ring`: an array of CuPy, whole pages of the GPU.

    What fills it returns when it is filled: with the credit of a slot before that, holes would go over pixels of its
    next frame. ConfigError where there is no such memory.
    """
    xp = cupy()
    if size < 1:
        raise ConfigError(f"memory of {size} bytes cannot be: a ring has at least one slot")
    try:
        pages = xp.cuda.Memory(-(-size // _GPU_PAGE) * _GPU_PAGE)  # of its own: a dma-buf must begin with it
    except xp.cuda.memory.OutOfMemoryError as error:
        raise ConfigError(f"the GPU has no memory for a ring of {size} bytes: give fewer or smaller slots") from error
    array = xp.ndarray((size,), np.uint8, xp.cuda.MemoryPointer(pages, 0)).view(_gpu_array())
    if not isinstance(array.view("<u2").reshape(1, -1)[0], _gpu_array()):
        raise ConfigError("this CuPy does not keep subclasses of its arrays: install CuPy 13 or later")
    return array


@cache
def _gpu_array() -> type:
    """Arrays of CuPy that are filled when `fill` returns. GpuError where the GPU has failed."""
    xp = cupy()

    def fill(self: Any, value: Any) -> None:
        if self.dtype.itemsize != 2 or not self.flags.c_contiguous:
            raise ConfigError("memory of a ring on the GPU is filled with words of 2 bytes, without gaps")
        if _was_filled(self.data.ptr, self.nbytes, value):
            return
        driver().call("fill a slot", "cuMemsetD16Async", self.data.ptr, int(value), self.size, _stream())
        driver().call("fill a slot", "cuStreamSynchronize", _stream())

    def tobytes(self: Any, order: str = "C") -> bytes:
        try:
            copied: bytes = xp.ndarray.tobytes(self, order)
        except xp.cuda.runtime.CUDARuntimeError as error:
            raise GpuError(f"the GPU cannot show what is in its memory: {error}") from error
        return copied

    return type("GpuArray", (xp.ndarray,), {"fill": fill, "tobytes": tobytes})


@cache
def _stream() -> Any:
    """The stream that fills: never that of a lane, which may be waiting."""
    return driver().stream()


@cache
def _holes() -> Any:
    """Holes on the GPU."""
    holes = cupy().full(_HOLES_BYTES // 2, HOLE_WORD, np.uint16)
    cupy().cuda.get_current_stream().synchronize()
    return holes


def note_filled(address: int, size: int) -> None:
    """Tell that a slot at `address`, of `size` bytes, was filled with holes: its next `fill` has nothing to do."""
    _filled[address] = size


def _was_filled(address: int, size: int, value: Any) -> bool:
    """Whether nothing is left to do for a `fill`; what was noted of this memory is forgotten."""
    if _filled.pop(address, None) == size:
        return bool(value == HOLE_WORD)
    for other in [each for each in _filled if address <= each < address + size]:
        del _filled[other]
    return False


def ring_address(memory: Any) -> tuple[int, Pin | None]:
    """Where kernels and copies find a ring's memory, and what to close after them."""
    if not isinstance(memory, np.ndarray):
        return int(memory.data.ptr), None
    pin = memory.pin if isinstance(memory, PinnedArray) and memory.pin else None
    if pin is not None:
        return pin.address, None
    pin = Pin(memory)
    return pin.address, pin
