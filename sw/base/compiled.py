"""How loops are compiled, and kept.

numba keeps machine code as long as the function's own file is the same. What the function calls, and the numbers of the
models that became a part of it, lie in other files: here the code is kept as long as none of all their files changes.
"""

import contextlib
import functools
import hashlib
import sys
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numba

import framelane

_COMMANDS = {"cli", "demo", "bench", "doctor", "serve"}
"""Packages of which nothing is compiled: a change of theirs compiles nothing anew."""


def _arrays_without_scipy() -> None:
    """Have numba's functions of arrays imported without scipy.

    numba imports all of scipy's BLAS to see whether it is there: a sixth of the processor time of a short
    `framelane recv`. No loop here multiplies matrices. numba asks again for a program whose own loops do.
    """
    if "numba.np.arraymath" in sys.modules or find_spec("scipy") is None:
        return
    from numba.np import linalg

    ask = linalg.ensure_blas
    linalg.ensure_blas = lambda: None
    try:
        from numba.np import arraymath
    finally:
        linalg.ensure_blas = ask
    arraymath.ensure_blas = ask  # type: ignore[attr-defined]


with contextlib.suppress(ImportError, AttributeError, ValueError):  # of another numba: it only starts more slowly
    _arrays_without_scipy()


def compiled(function: Callable[..., Any]) -> Any:
    """Machine code for `function` that releases the GIL; kept for the next process where numba may write it."""
    try:
        dispatcher: Any = numba.njit(nogil=True, cache=True)(function)
    except RuntimeError:  # the source and the home folder are read-only
        return numba.njit(nogil=True)(function)
    index = dispatcher._cache._cache_file  # numba has no public way to say what a cache depends on
    index._source_stamp = (index._source_stamp, _sources())
    return dispatcher


@functools.cache
def _sources() -> str:
    """A digest of the sources that are compiled, or may be a part of what is."""
    folders = {Path(folder) for folder in framelane.__path__}
    models = find_spec("framelane.models")  # lies elsewhere in a checkout
    folders.update(map(Path, models.submodule_search_locations or ()) if models else ())
    digest = hashlib.sha256()
    for path in sorted(
        {
            path
            for folder in folders
            for path in folder.rglob("*.py")
            if _COMMANDS.isdisjoint(path.relative_to(folder).parts)
        }
    ):
        digest.update(path.read_bytes())
    return digest.hexdigest()
