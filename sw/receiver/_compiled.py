"""How the loops of this package are compiled.

numba's cache sees changes of a function's own file only: whoever edits a loop that others call (`_lanes.py`,
`_vector_loops.py`, `_codes.py`, `_pedestal_update.py`) deletes the package's `__pycache__`.
"""

from collections.abc import Callable
from typing import Any

import numba


def compiled(function: Callable[..., Any]) -> Any:
    """Machine code for `function` that releases the GIL; kept for the next process where numba may write it."""
    try:
        return numba.njit(nogil=True, cache=True)(function)
    except RuntimeError:  # the source and the home folder are read-only
        return numba.njit(nogil=True)(function)
