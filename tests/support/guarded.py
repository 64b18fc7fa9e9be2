"""Memory between pages that may not be touched: the process dies of one byte before or behind it."""

import ctypes
import mmap

import numpy as np
from numpy.typing import NDArray

_NOTHING = 0
_library = ctypes.CDLL(None, use_errno=True)
_library.mprotect.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)


def guarded(size: int) -> NDArray[np.uint8]:
    """`size` zeros that end where a forbidden page begins; they begin behind one if they are whole pages."""
    page = mmap.PAGESIZE
    inner = -(-size // page) * page
    pages = mmap.mmap(-1, inner + 2 * page)
    whole = np.frombuffer(pages, np.uint8)
    for offset in (0, page + inner):
        if _library.mprotect(whole.ctypes.data + offset, page, _NOTHING):
            raise OSError(ctypes.get_errno(), "mprotect")
    return whole[page + inner - size : page + inner]
