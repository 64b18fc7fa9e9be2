"""The calls of the CUDA driver that CuPy has not (CUDA driver API), each with its error in words."""

import importlib
from collections.abc import Callable
from functools import cache
from typing import Any

from framelane.base.errors import ConfigError
from framelane.receiver.gpu._device import cupy
from framelane.receiver.gpu.gpu_error import GpuError


class Driver:
    """`cuda.bindings.driver`, in the context of CuPy's current GPU."""

    def __init__(self) -> None:
        """ConfigError where cuda-bindings, the driver or a GPU is missing."""
        try:
            self.api: Any = importlib.import_module("cuda.bindings.driver")
        except ImportError as error:
            raise ConfigError(f"the GPU pipeline needs the package cuda-bindings: install it ({error})") from error
        cupy().cuda.runtime.free(0)  # makes the context of the current GPU, which CuPy uses as well
        self._good = self.api.CUresult.CUDA_SUCCESS
        self._not_ready = self.api.CUresult.CUDA_ERROR_NOT_READY

    def call(self, what: str, name: str, *arguments: Any) -> Any:
        """The result of a call. GpuError "cannot `what`" where it fails."""
        code, *results = getattr(self.api, name)(*arguments)
        if code != self._good:
            raise self.error(what, name, code)
        return results[0] if results else None

    def bound(self, what: str, name: str, *first: Any) -> Callable[..., None]:
        """A call that is made often, with its first arguments: GpuError where it fails."""
        function, good = getattr(self.api, name), self._good

        def call(*arguments: Any) -> None:
            (code,) = function(*first, *arguments)
            if code != good:
                raise self.error(what, name, code)

        return call

    def idle(self, stream: Any) -> bool:
        """Whether all work of a stream has ended. GpuError where it has failed."""
        (code,) = self.api.cuStreamQuery(stream)
        if code not in (self._good, self._not_ready):
            raise self.error("go on", "cuStreamQuery", code)
        return bool(code == self._good)

    def attribute(self, name: str) -> int:
        """What the GPU can: CU_DEVICE_ATTRIBUTE_`name`."""
        attribute = getattr(self.api.CUdevice_attribute, f"CU_DEVICE_ATTRIBUTE_{name}")
        device = self.call("find the GPU", "cuCtxGetDevice")
        return int(self.call("ask the GPU what it can", "cuDeviceGetAttribute", attribute, device))

    def stream(self) -> Any:
        """A new stream, which does not wait for the default one."""
        return self.call("make a stream", "cuStreamCreate", self.api.CUstream_flags.CU_STREAM_NON_BLOCKING)

    def error(self, what: str, name: str, code: Any) -> GpuError:
        """The error of a call that has returned `code`."""
        text = self.api.cuGetErrorString(code)[1]
        words = text.decode() if isinstance(text, bytes) else "unknown error"
        return GpuError(f"the GPU cannot {what}: {name} says {getattr(code, 'name', code)}, {words}")


@cache
def driver() -> Driver:
    """The only one."""
    return Driver()
