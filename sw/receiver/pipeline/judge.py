"""What becomes of an image of photons, whoever corrected it: codes and peaks are counted, it is judged, sparse rows."""

import concurrent.futures
import os
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from framelane.base.errors import ConfigError
from framelane.models.jungfrau.jf_correct import MAX_VALUE
from framelane.receiver.peaks import PeakFinder
from framelane.receiver.pipeline import _sparse, ladder
from framelane.receiver.pipeline._bands import BAND_PIXELS, bands, run
from framelane.receiver.pipeline.judging import Judging
from framelane.receiver.pipeline.result import Counts, Result, SparseRows
from framelane.receiver.pipeline.veto import Veto

Count = Callable[[tuple[int, int], NDArray[np.int64]], None]
"""Counts the pixels from the first to before the second, as `_counting` does."""


class Judge:
    """Judges images of `shape` (rows, columns) by `judging`; all memory is taken here, none for a frame.

    Values are in units of `2**-fraction_bits` photons or keV: ConfigError where they do not reach a threshold;
    ConfigError or InputError where panels or usable pixels do not fit the shape. `threads` at most; None: one a
    core. Not for use by several threads at once.
    """

    def __init__(
        self, shape: tuple[int, int], judging: Judging, *, threads: int | None = None, fraction_bits: int = 0
    ) -> None:
        rows, columns = shape
        size = rows * columns
        self._finder = None
        if judging.bragg:
            self._finder = PeakFinder(
                shape, judging.bragg, judging.panels, judging.usable, fraction_bits=fraction_bits, threads=threads
            )
        threads = min(threads or len(os.sched_getaffinity(0)), max(1, size // BAND_PIXELS))
        self._bands = bands(0, size, threads)
        self._counts = np.zeros((threads, 5), np.int64)
        self._pool = concurrent.futures.ThreadPoolExecutor(threads)
        self._rungs = ladder.check_thresholds(judging.rungs, fraction_bits)
        self._ladder = np.zeros((threads, len(judging.rungs)), np.int64)
        self._fraction_bits = fraction_bits
        self._veto, self._threshold = self._next = judging.veto, _scaled(judging.veto.threshold, fraction_bits)
        self._sparse_threshold = None
        if judging.sparse is not None:
            self._sparse_threshold = _scaled(judging.sparse, fraction_bits)
            self._rows = SparseRows(np.zeros(rows + 1, np.int64), np.empty(size, np.int32), np.empty(size, np.int16))

    def begin(self) -> np.int16:
        """Begin an image: the value from which on a pixel of it is a peak."""
        self._veto, self._threshold = self._next
        return self._threshold

    def change_veto(self, veto: Veto) -> None:
        """Judge by another veto from the next image on; from any thread.

        ConfigError where no value reaches its threshold, or for another threshold of Bragg peaks.
        """
        if self._finder and veto.threshold != self._next[0].threshold:
            raise ConfigError(
                f"the threshold of Bragg peaks stays {self._next[0].threshold} while a run lasts: change the minimum "
                "number of peaks, or begin another run"
            )
        self._next = veto, _scaled(veto.threshold, self._fraction_bits)

    def __call__(self, image: NDArray[np.int16], count: Count, keep: bool = False) -> Result:
        """The result for `image`, when `count` has gone through every band of it; with `keep` it is not rejected.

        `begin` comes before: what `count` counts is from that threshold on.
        """
        run(self._pool, count, self._bands, self._counts)
        counts = Counts(*self._counts.sum(0).tolist())
        bragg = self._finder(image[None]) if self._finder else None
        peaks = int(bragg.found[0]) if bragg else counts.peaks
        verdict = self._veto.judge(peaks, counts.holes, keep)
        sparse = self._gather(image) if verdict.accepted else None
        return Result(image, counts, verdict, sparse, self._climb(image), bragg)

    def _climb(self, image: NDArray[np.int16]) -> NDArray[np.int64] | None:
        if not len(self._rungs):
            return None
        pixels = image.reshape(-1)

        def count(band: tuple[int, int], counts: NDArray[np.int64]) -> None:
            ladder.count(pixels, self._rungs, *band, counts)

        run(self._pool, count, self._bands, self._ladder)
        total: NDArray[np.int64] = self._ladder.sum(0)
        return total

    def _gather(self, image: NDArray[np.int16]) -> SparseRows | None:
        if self._sparse_threshold is None:
            return None
        rows = self._rows
        _sparse.gather(image, self._sparse_threshold, rows.pointers, rows.columns, rows.values)
        n = rows.pointers[-1]
        return SparseRows(rows.pointers, rows.columns[:n], rows.values[:n])


def _scaled(threshold: int, fraction_bits: int) -> np.int16:
    """A threshold in photons or keV as a value."""
    if threshold << fraction_bits > MAX_VALUE:
        raise ConfigError(
            f"no pixel reaches a threshold of {threshold}: with {fraction_bits} fraction bits values end at "
            f"{MAX_VALUE / 2**fraction_bits:g}: give a lower one"
        )
    return np.int16(threshold << fraction_bits)
