"""The GPU by CuPy: asked for here, and nowhere at import."""

from collections.abc import Mapping
from functools import cache
from typing import Any

from framelane.base.errors import ConfigError
from framelane.receiver.gpu._source import OPTIONS, source


@cache
def cupy() -> Any:
    """The module, where there is a GPU. ConfigError where CuPy, CUDA's driver or a GPU is missing."""
    try:
        import cupy as module
    except ImportError as error:
        raise ConfigError(
            f"the GPU cannot be used without CuPy: install framelane[gpu], or cupy-cuda13x for CUDA 13 ({error})"
        ) from error
    try:
        devices = module.cuda.runtime.getDeviceCount()
    except module.cuda.runtime.CUDARuntimeError as error:
        raise ConfigError(f"no GPU can be used: check `nvidia-smi` ({error})") from error
    if not devices:
        raise ConfigError("there is no GPU: check `nvidia-smi` and CUDA_VISIBLE_DEVICES")
    return module


def memory_in_use() -> tuple[int, int] | None:
    """Bytes in use of the current GPU's memory, by all programs, and all there are; None of a GPU that has failed."""
    runtime = cupy().cuda.runtime
    try:
        free, total = runtime.memGetInfo()
    except runtime.CUDARuntimeError:
        return None
    return total - free, total


def kernel(name: str, function: str, macros: Mapping[str, int]) -> Any:
    """A kernel of `kernels/<name>.cu`, compiled for the current GPU with these macros; compiled once a GPU.

    ConfigError where the GPU is older than compute capability 8.0.
    """
    return _kernel(name, function, tuple(sorted(macros.items())), cupy().cuda.Device().id)


@cache
def _kernel(name: str, function: str, macros: tuple[tuple[str, int], ...], device: int) -> Any:
    capability = cupy().cuda.Device(device).compute_capability
    if int(capability) < 80:
        raise ConfigError(
            f"GPU {device} has compute capability {capability[:-1]}.{capability[-1]}, needed is 8.0 or later: choose "
            "another by CUDA_VISIBLE_DEVICES"
        )
    module = cupy().RawModule(code=source(name, dict(macros)), options=OPTIONS, backend="nvrtc")
    return module.get_function(function)
