"""Frames in bands, each the work of a thread: how a compiled loop gets its arrays."""

import concurrent.futures
import itertools
from collections.abc import Callable
from typing import Any

from numpy.lib.stride_tricks import as_strided
from numpy.typing import NDArray

from framelane.base.lanes import LINE_BYTES, TILE

BAND_PIXELS = 1 << 19
"""Fewest pixels for which another thread is worth its start: a JUNGFRAU module."""

BANDS_A_THREAD = 4
"""So that a thread whose core is busy with other work leaves some of its bands to the rest."""

PAST_CACHES_BYTES = 1 << 24
"""Results from this size on are stored past the caches, in which they would not stay anyway."""


def bands(first: int, end: int, count: int) -> list[tuple[int, int]]:
    """Pixels `first` to `end` in so many bands, all but the last one of whole tiles."""
    tiles = -(-(end - first) // TILE)
    edges = [min(first + tiles * n // count * TILE, end) for n in range(count + 1)]
    return list(itertools.pairwise(edges))


def run(pool: concurrent.futures.Executor, work: Callable[..., None], *bands: Any) -> None:
    """Do the work of every band, with its further arguments; a single one in this thread."""
    if len(bands[0]) == 1:
        work(*(each[0] for each in bands))
    else:
        list(pool.map(work, *bands))


class BandedLoop:
    """A loop over frames, `frames` of `_correct_int16` or `_correct_float32`, with its constants, on `threads`."""

    def __init__(self, loop: Callable[..., None], constants: tuple[Any, ...], threads: int) -> None:
        self._loop = loop
        self._constants = constants
        self._threads = threads
        self._pool = concurrent.futures.ThreadPoolExecutor(threads)

    def __call__(self, raw: NDArray[Any], image: NDArray[Any], *codes: NDArray[Any]) -> None:
        """Correct (frames, rows, columns), each frame in one piece."""
        count, pixels = len(raw), raw[0].size
        head = _before_line(image)
        past_caches = image.nbytes >= PAST_CACHES_BYTES and head is not None
        before = (*_flat(raw), *self._constants, *_flat(image), *itertools.chain(*map(_flat, codes)), count)

        def correct(band: tuple[int, int]) -> None:
            self._loop(*before, *band, past_caches)

        start = 0
        if past_caches and head:
            start = min(head, pixels)
            self._loop(*before, 0, start, False)
        most = self._threads * BANDS_A_THREAD if self._threads > 1 else 1
        run(self._pool, correct, bands(start, pixels, min(most, max(1, count * pixels // BAND_PIXELS))))


def _flat(frames: NDArray[Any]) -> tuple[NDArray[Any], int]:
    """All elements from the first frame's beginning to the last one's end, and their number from frame to frame."""
    if not frames.size:
        return frames.reshape(-1), 0
    stride = frames.strides[0] // frames.itemsize if len(frames) > 1 else 0
    return as_strided(frames, ((len(frames) - 1) * stride + frames[0].size,), (frames.itemsize,)), stride


def _before_line(image: NDArray[Any]) -> int | None:
    """How many pixels of every frame come before its first cache line; None where the frames differ in that."""
    if len(image) > 1 and image.strides[0] % LINE_BYTES:
        return None
    return -image.ctypes.data % LINE_BYTES // image.itemsize
