"""Images of raw words that stay raw, where there is no calibration: their codes are counted."""

import concurrent.futures
import os

import numpy as np
from numpy.typing import NDArray

from framelane.receiver.pipeline import _counting
from framelane.receiver.pipeline._bands import BAND_PIXELS, bands, run
from framelane.receiver.pipeline.result import Counts, Result
from framelane.receiver.pipeline.veto import Reason, Verdict

_KEPT = Verdict(peaks=0, threshold=0, minimum=0, reason=Reason.ENOUGH_PEAKS)


class RawWords:
    """Leaves an image as it is, on at most so many `threads` (None: one a core). Not for several threads at once.

    Every frame is accepted, and no peaks are looked for.
    """

    def __init__(self, threads: int | None = None) -> None:
        self._threads = threads or len(os.sched_getaffinity(0))
        self._pool = concurrent.futures.ThreadPoolExecutor(self._threads)
        self._counts = np.zeros((self._threads, 5), np.int64)
        _counting.count_raw(np.empty(0, np.uint16), 0, 0, self._counts[0])  # compiled now, and not while frames come

    def __call__(self, raw: NDArray[np.uint16], /, keep: bool = False) -> Result:
        """Count the codes of an image, uint16 (rows, columns), which is the result's image too."""
        words = np.ascontiguousarray(raw).reshape(-1)
        parts = bands(0, words.size, min(self._threads, max(1, words.size // BAND_PIXELS)))
        counts = self._counts[: len(parts)]

        def count(band: tuple[int, int], counts: NDArray[np.int64]) -> None:
            _counting.count_raw(words, *band, counts)

        run(self._pool, count, parts, counts)
        return Result(raw, Counts(*counts.sum(0).tolist()), _KEPT)
