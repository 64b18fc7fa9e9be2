"""Pages of the host that a GPU reaches."""

import weakref

import numpy as np
from numpy.typing import NDArray

from framelane.receiver.gpu.driver import driver
from framelane.receiver.gpu.pinned_buffer import MAPPED


class Pin:
    """Pages of the host, pinned until nobody has this object any more."""

    def __init__(self, memory: NDArray[np.uint8]) -> None:
        """GpuError where they cannot be pinned. Memory that is pinned already stays so."""
        start = memory.ctypes.data
        already = driver().api.CUresult.CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED
        (code,) = driver().api.cuMemHostRegister(start, memory.nbytes, MAPPED)
        self._end = weakref.finalize(self, driver().api.cuMemHostUnregister if not int(code) else int, start)
        self._end.atexit = False
        if int(code) and code != already:
            self._end.detach()
            what = f"pin {memory.nbytes} bytes of the host: raise the limit (`ulimit -l`), or give a smaller ring; it"
            raise driver().error(what, "cuMemHostRegister", code)
        self.address = int(driver().call("reach pinned memory", "cuMemHostGetDevicePointer", start, 0))
        """The address of the first byte, for kernels and copies."""

    def close(self) -> None:
        """Pin them no more. Waits for all work of the GPU."""
        self._end()
