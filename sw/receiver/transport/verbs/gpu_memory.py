"""GPU memory for a NIC: exported by the CUDA driver as a dma-buf, which the RDMA driver registers.

CUDA driver API, 6.14 (cuMemGetHandleForAddressRange) and 6.36 (GPUDirect RDMA); Linux, ibv_reg_dmabuf_mr(3).
"""

import errno
import importlib
import math
import mmap
import os
from typing import Any, Protocol

from framelane.base.errors import TransportError
from framelane.receiver.transport.verbs.library import Pyverbs
from framelane.receiver.transport.verbs.region import LibraryRegion, access_flags

_OWNER = 100
"""CU_GPU_DIRECT_RDMA_WRITES_ORDERING_OWNER: what a NIC has written, the GPU that owns the memory sees in order."""
_FLUSH_BY_HOST = 1
"""CU_FLUSH_GPU_DIRECT_RDMA_WRITES_OPTION_HOST."""
_UNSUPPORTED = (
    "its driver registers no dma-buf: that takes a ConnectX-5 or later (mlx5), Linux 5.12 or later with "
    "CONFIG_DMA_SHARED_BUFFER and CONFIG_INFINIBAND_ON_DEMAND_PAGING, and rdma-core 34 or later"
)
_ADVICE = {
    errno.EOPNOTSUPP: _UNSUPPORTED,
    errno.ENOSYS: _UNSUPPORTED,
    errno.EPROTONOSUPPORT: _UNSUPPORTED,
    errno.EFAULT: "the NIC cannot reach the GPU's memory: see `nvidia-smi topo -m`, IOMMU and PCIe ACS",
    errno.ENOMEM: "the GPU's BAR1 is too small for the ring (`nvidia-smi -q -d MEMORY`), or its memory is not mappable",
}


class GpuArray(Protocol):
    """Any array of CuPy, PyTorch or numba in GPU memory."""

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]: ...


def gpu_bytes(memory: GpuArray) -> int:
    """Size of the array in bytes."""
    found = memory.__cuda_array_interface__
    return int(math.prod(found["shape"]) * int(found["typestr"][2:]))


class GpuRegion(LibraryRegion):
    """The ring in GPU memory. Its base address is 0: pyverbs registers a dma-buf under the offset in it only."""

    def __init__(self, library: Pyverbs, pd: Any, memory: GpuArray, size: int) -> None:
        """TransportError says which piece is missing: CUDA, its driver, the kernel, or the NIC."""
        self._cuda = _Cuda()
        address = gpu_address(memory, size)
        file = self._cuda.export(address, size)
        try:
            with library.explaining(f"register {size} bytes of GPU memory", _ADVICE):
                mr = library.mr.DmaBufMR(pd, size, access_flags(library), dmabuf=file, offset=0)
        finally:
            os.close(file)
        super().__init__(mr, 0, memory)
        self._must_flush = self._cuda.must_flush(address)

    def flush(self) -> None:
        """Make what the NIC has written so far visible to kernels that start from now on. Any thread may call it."""
        if self._must_flush:
            self._cuda.flush()


class _Cuda:
    """The calls of the CUDA driver, each with its error in words."""

    def __init__(self) -> None:
        try:
            self._driver: Any = importlib.import_module("cuda.bindings.driver")
        except ImportError as error:
            raise TransportError(
                "a ring in GPU memory needs the package cuda-bindings: `pip install cuda-bindings`"
            ) from error
        self._call("find a GPU", "cuInit", 0)
        self._context = self._call("find the context of the ring", "cuCtxGetCurrent")

    def export(self, address: int, size: int) -> int:
        """The descriptor of a dma-buf of this range."""
        driver = self._driver
        supported = driver.CUdevice_attribute.CU_DEVICE_ATTRIBUTE_DMA_BUF_SUPPORTED
        if not self._attribute(address, supported):
            raise TransportError(
                "the GPU's driver exports no dma-buf: install the open kernel modules (nvidia-open, 515 or later) on "
                "Linux 5.12 or later"
            )
        sync = driver.CUpointer_attribute.CU_POINTER_ATTRIBUTE_SYNC_MEMOPS
        self._call("keep copies of GPU memory in order", "cuPointerSetAttribute", 1, sync, driver.CUdeviceptr(address))
        kind = driver.CUmemRangeHandleType.CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD
        return int(self._call("export GPU memory", "cuMemGetHandleForAddressRange", address, size, kind, 0))

    def must_flush(self, address: int) -> bool:
        """Whether what a NIC has written needs `flush` to be seen. TransportError where only a stream can do it."""
        names = self._driver.CUdevice_attribute
        if self._attribute(address, names.CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_WRITES_ORDERING) >= _OWNER:
            return False
        options = self._attribute(address, names.CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_FLUSH_WRITES_OPTIONS)
        if not options & _FLUSH_BY_HOST:
            raise TransportError("this GPU cannot be told by the host to show what a NIC wrote: use host memory")
        return True

    def flush(self) -> None:
        driver = self._driver
        target = driver.CUflushGPUDirectRDMAWritesTarget.CU_FLUSH_GPU_DIRECT_RDMA_WRITES_TARGET_CURRENT_CTX
        scope = driver.CUflushGPUDirectRDMAWritesScope.CU_FLUSH_GPU_DIRECT_RDMA_WRITES_TO_OWNER
        self._call("flush what the NIC has written", "cuCtxSetCurrent", self._context)  # in this thread, too
        self._call("flush what the NIC has written", "cuFlushGPUDirectRDMAWrites", target, scope)

    def _attribute(self, address: int, attribute: Any) -> int:
        ordinal = self._driver.CUpointer_attribute.CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL
        device = self._call("find the GPU of the memory", "cuPointerGetAttribute", ordinal, address)
        return int(self._call("ask the GPU what it can", "cuDeviceGetAttribute", attribute, int(device)))

    def _call(self, what: str, name: str, *arguments: Any) -> Any:
        """The result of a call. TransportError "cannot `what`" where it fails."""
        code, *results = getattr(self._driver, name)(*arguments)
        if int(code):
            raise TransportError(f"cannot {what}: {name} says {getattr(code, 'name', code)}")
        return results[0] if results else None


def gpu_address(memory: GpuArray, size: int) -> int:
    """Where the array lies in GPU memory. TransportError where it cannot be exported."""
    found = memory.__cuda_array_interface__
    address, read_only = found["data"]
    if read_only or found.get("strides"):
        raise TransportError("this GPU memory cannot be registered: it is read-only, or has gaps")
    if address % mmap.PAGESIZE or size % mmap.PAGESIZE:
        raise TransportError(
            f"GPU memory at {address:#x} of {size} bytes is not of whole pages of {mmap.PAGESIZE} bytes"
        )
    return int(address)
