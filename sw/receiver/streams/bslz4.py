"""Bitshuffle and LZ4 in the framing of the HDF5 filter 32008, by the filter itself, as hdf5plugin has it.

It is called by HDF5's interface of plugins (H5PLget_plugin_info, H5Z_class2_t), without a file: h5py's lock stays free
for whoever writes one, and the GIL is released.
"""

import ctypes
import functools
from pathlib import Path
from typing import Any

import hdf5plugin
import numpy as np
from numpy.typing import NDArray

from framelane.base.errors import ConfigError

_LZ4 = 2
"""The filter's option for LZ4 (bshuf_h5filter.h, BSHUF_H5_COMPRESS_LZ4)."""
_FILTER = ctypes.CFUNCTYPE(
    ctypes.c_size_t,
    ctypes.c_uint,
    ctypes.c_size_t,
    ctypes.POINTER(ctypes.c_uint),
    ctypes.c_size_t,
    ctypes.POINTER(ctypes.c_size_t),
    ctypes.POINTER(ctypes.c_void_p),
)


class _FilterClass(ctypes.Structure):
    """H5Z_class2_t."""

    _fields_ = (
        ("version", ctypes.c_int),
        ("id", ctypes.c_int),
        ("encodes", ctypes.c_uint),
        ("decodes", ctypes.c_uint),
        ("name", ctypes.c_char_p),
        ("can_apply", ctypes.c_void_p),
        ("set_local", ctypes.c_void_p),
        ("filter", ctypes.c_void_p),
    )


def bslz4(array: NDArray[Any]) -> bytes:
    """The array's bytes packed: length (u64) and bytes of a block (u32), big endian, then block after block."""
    packing, libc = _filter()
    array = np.ascontiguousarray(array)
    size = ctypes.c_size_t(max(1, array.nbytes))
    buffer = ctypes.c_void_p(libc.malloc(size))
    if buffer.value is None:
        raise MemoryError
    ctypes.memmove(buffer, array.ctypes.data, array.nbytes)
    options = (ctypes.c_uint * 5)(0, 0, array.itemsize, 0, _LZ4)  # version, size of an element, of a block: its own
    try:
        packed = packing(0, len(options), options, array.nbytes, ctypes.byref(size), ctypes.byref(buffer))
        if not packed:
            raise MemoryError("bitshuffle has failed")
        return ctypes.string_at(buffer, packed)
    finally:
        libc.free(buffer)


@functools.cache
def _filter() -> tuple[Any, Any]:
    """The filter's function, and the library whose malloc it uses. ConfigError where there is none."""
    path = Path(hdf5plugin.PLUGIN_PATH) / "libh5bshuf.so"
    try:
        library = ctypes.CDLL(str(path))
    except OSError as error:
        raise ConfigError(f"cannot compress images: {error}: install hdf5plugin anew") from error
    library.H5PLget_plugin_info.restype = ctypes.POINTER(_FilterClass)
    libc = ctypes.CDLL(None)
    libc.malloc.restype, libc.malloc.argtypes = ctypes.c_void_p, [ctypes.c_size_t]
    libc.free.restype, libc.free.argtypes = None, [ctypes.c_void_p]
    return _FILTER(library.H5PLget_plugin_info().contents.filter), libc
