"""Launches that begin before the end of the one before on their stream.

What the CUDA C++ Programming Guide calls programmatic dependent launch: such a kernel waits by itself, by
`wait_for_launches` of kernels/ptx.cuh, and the one before says when it may begin, by `let_next_begin`.
"""

from functools import lru_cache
from typing import Any

from framelane.base.errors import ConfigError
from framelane.receiver.gpu._device import cupy
from framelane.receiver.gpu.arguments import Arguments
from framelane.receiver.gpu.driver import driver

_LEAST_CAPABILITY = 90


def can_overlap() -> bool:
    """Whether launches can, on the current GPU."""
    if int(cupy().cuda.Device().compute_capability) < _LEAST_CAPABILITY:
        return False
    try:
        driver()
    except ConfigError:
        return False
    return True


def launch_overlapped(function: Any, blocks: int, threads: int, arguments: tuple[Any, ...]) -> None:
    """Queue a kernel of CuPy with its arguments, numpy scalars, on the current stream. GpuError where that fails."""
    how = overlapping(blocks, threads, cupy().cuda.get_current_stream().ptr)
    given, kernel = Arguments(arguments), driver().api.CUfunction(function.kernel.ptr)
    driver().call("launch a kernel", "cuLaunchKernelEx", how, kernel, given.address, 0)


@lru_cache(maxsize=256)
def overlapping(blocks: int, threads: int, stream: int) -> Any:
    """How such a kernel is launched on a stream, by its address: a CUlaunchConfig, which takes long to make."""
    api = driver().api
    attribute = api.CUlaunchAttribute()
    attribute.id = api.CUlaunchAttributeID.CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION
    attribute.value.programmaticStreamSerializationAllowed = 1
    how = api.CUlaunchConfig()
    how.gridDimX, how.gridDimY, how.gridDimZ = blocks, 1, 1
    how.blockDimX, how.blockDimY, how.blockDimZ = threads, 1, 1
    how.hStream = api.CUstream(stream)
    how.attrs, how.numAttrs = [attribute], 1
    return how
