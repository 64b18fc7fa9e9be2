"""Memory of the host that kernels write results to while the host looks at them."""

import ctypes
import weakref

import numpy as np
from numpy.typing import NDArray

from framelane.receiver.gpu.driver import driver

MAPPED = 0x3
"""CU_MEMHOSTALLOC_PORTABLE and CU_MEMHOSTALLOC_DEVICEMAP; those of CU_MEMHOSTREGISTER are the same."""
LINE = 256
"""Where parts of a buffer begin, in bytes: no two of them share a cache line."""


class PinnedBuffer:
    """Parts of so many bytes, all zero: `arrays` here, at `addresses` for kernels and copies.

    The memory lasts as long as anyone has one of the arrays or a view of it: who prints a result after its pipeline was
    closed, such as in the report of an error, must not crash.
    """

    def __init__(self, *sizes: int) -> None:
        """GpuError where there is no such memory."""
        lined = [-(-size // LINE) * LINE for size in sizes]
        start = int(driver().call(f"pin {sum(lined)} bytes", "cuMemHostAlloc", sum(lined), MAPPED))
        pages = (ctypes.c_ubyte * sum(lined)).from_address(start)
        weakref.finalize(pages, driver().api.cuMemFreeHost, start).atexit = False
        whole: NDArray[np.uint8] = np.frombuffer(memoryview(pages), np.uint8)
        whole.fill(0)
        first = int(driver().call("reach pinned memory", "cuMemHostGetDevicePointer", start, 0))
        offsets = [sum(lined[:i]) for i in range(len(lined))]
        self.arrays = [whole[at : at + size] for at, size in zip(offsets, sizes, strict=True)]
        self.addresses = [first + at for at in offsets]
