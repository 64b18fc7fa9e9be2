"""What the kernels need of CuPy, without a GPU: arrays of numpy, and kernels that the host runs."""

import contextlib
import ctypes
import mmap
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest
from numpy.lib.stride_tricks import as_strided
from numpy.typing import DTypeLike, NDArray

from cuda_on_host import HostModule
from framelane.receiver.gpu import _device
from framelane.receiver.gpu._device import cupy

MULTIPROCESSORS = 1
"""Few, so that blocks take several parts of small images."""
ALIGNMENT = 16
NO_ACCESS = 0
STRAY = 0xA5


class HostArray(np.ndarray[Any, Any]):
    """An array of numpy with what CuPy's has besides."""

    @property
    def data(self) -> Any:
        """Where it is."""
        return SimpleNamespace(ptr=self.ctypes.data)

    def get(self) -> NDArray[Any]:
        """A copy as numpy's."""
        return np.array(self)

    def set(self, values: NDArray[Any]) -> None:
        """Copy from numpy's."""
        self[...] = values


def empty(shape: int | Sequence[int], dtype: DTypeLike) -> HostArray:
    """An array of stray bytes, behind which no memory can be touched."""
    count, item = int(np.prod(shape)), np.dtype(dtype)
    size = -(-count * item.itemsize // ALIGNMENT) * ALIGNMENT
    pages = -(-size // mmap.PAGESIZE) * mmap.PAGESIZE
    memory = mmap.mmap(-1, pages + mmap.PAGESIZE)
    whole = np.frombuffer(memory, np.uint8)
    whole[:pages] = STRAY
    libc = ctypes.CDLL(None, use_errno=True)
    status = libc.mprotect(ctypes.c_void_p(whole.ctypes.data + pages), ctypes.c_size_t(mmap.PAGESIZE), NO_ACCESS)
    assert status == 0, "mprotect"
    return np.frombuffer(memory, item, count, pages - size).reshape(shape).view(HostArray)


def full(shape: int | Sequence[int], value: Any, dtype: DTypeLike) -> HostArray:
    """An array of one value."""
    made = empty(shape, dtype)
    made[...] = value
    return made


def zeros(shape: int | Sequence[int], dtype: DTypeLike) -> HostArray:
    """An array of zeros."""
    return full(shape, 0, dtype)


def asarray(values: Any) -> HostArray:
    """A copy, where it is not on the 'GPU' already."""
    if isinstance(values, HostArray):
        return values
    made = empty(values.shape, values.dtype)
    made[...] = values
    return made


def cupy_on_host(folder: Path) -> ModuleType:
    """The module; `folder` keeps what is compiled."""
    module = ModuleType("cupy")
    stream = SimpleNamespace(synchronize=lambda: None, ptr=0)
    device = SimpleNamespace(
        id=0,
        attributes={"MultiProcessorCount": MULTIPROCESSORS},
        compute_capability="80",
        synchronize=lambda: None,
    )
    cuda = SimpleNamespace(
        runtime=SimpleNamespace(getDeviceCount=lambda: 1, CUDARuntimeError=OSError),
        Device=lambda _number=0: device,
        get_current_stream=lambda: stream,
    )

    class RawModule:
        def __init__(self, code: str, options: Sequence[str], backend: str) -> None:
            self._module = HostModule(folder, code)

        def get_function(self, name: str) -> Any:
            return Function(self._module.launch, name)

    names = {
        "on_host": True,
        "cuda": cuda,
        "RawModule": RawModule,
        "empty": empty,
        "full": full,
        "zeros": zeros,
        "asarray": asarray,
        "lib": SimpleNamespace(stride_tricks=SimpleNamespace(as_strided=partial(as_strided, subok=True))),
    }
    for name, value in names.items():
        setattr(module, name, value)
    return module


def on_host(module: Any) -> bool:
    """Whether a module is the one of here."""
    return hasattr(module, "on_host")


def libraries(factory: pytest.TempPathFactory) -> Path:
    """One folder for what all processes of a run of the tests compile."""
    folder = factory.getbasetemp()
    folder = (folder.parent if "PYTEST_XDIST_WORKER" in os.environ else folder) / "cuda_on_host"
    folder.mkdir(exist_ok=True)
    return folder


@contextlib.contextmanager
def in_the_place_of_cupy(folder: Path) -> Iterator[ModuleType]:
    """Let the receiver take this module for CuPy."""

    def forget() -> None:
        cupy.cache_clear()
        _device._kernel.cache_clear()

    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, "cupy", cupy_on_host(folder))
        forget()
        try:
            yield cupy()
        finally:
            forget()


class Function:
    """A kernel, called as CuPy's."""

    def __init__(self, launch: Callable[..., None], name: str) -> None:
        self._launch, self._name = launch, name

    def __call__(self, blocks: Sequence[int], threads: Sequence[int], arguments: Sequence[Any]) -> None:
        self._launch(self._name, blocks, threads[0], arguments)
