"""The CPU pipeline: a raw image in its slot of the ring to photons, a verdict and sparse rows."""

import concurrent.futures
import itertools
import os
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from framelane.models.errors import ConfigError, InputError
from framelane.models.jf_correct import (
    ERROR_WORD,
    FORBIDDEN_STAGE,
    G1_ZERO_WORD,
    SATURATED_WORD,
    STAGE_SHIFT,
)
from framelane.models.jf_fixed import FixedCalibration
from framelane.models.slots import HOLE_WORD
from framelane.receiver import _kernels
from framelane.receiver.result import Counts, Result, SparseRows
from framelane.receiver.veto import Reason, Verdict, Veto

BAND_PIXELS = 1 << 19
"""Fewest pixels for which another thread is worth its start: a JUNGFRAU module."""


Process = Callable[[NDArray[np.uint16]], Result]
"""What becomes of a raw image, uint16 (rows, columns), between the ring and the sinks."""


def raw_words(raw: NDArray[np.uint16]) -> Result:
    """Leave an image as it is, where there is no calibration: every frame is accepted, no peaks are looked for."""
    holes, saturated = int((raw == HOLE_WORD).sum()), int((raw == SATURATED_WORD).sum())
    wrong = (raw == ERROR_WORD) | (raw == G1_ZERO_WORD) | (raw >> STAGE_SHIFT == FORBIDDEN_STAGE)
    counts = Counts(holes, saturated, invalid=int(wrong.sum()) - holes, masked=0, peaks=0)
    return Result(raw, counts, Verdict(peaks=0, threshold=0, minimum=0, reason=Reason.ENOUGH_PEAKS))


class Pipeline:
    """Corrects with `fixed`, counts, and judges by `veto`; all memory is taken here, none for a frame.

    Photons equal `models.jf_correct.correct_int16` bit for bit. Sparse rows hold the pixels of at least
    `sparse_threshold` photons (None: no sparse rows). `threads` at most; None: one a core. Not for use by several
    threads at once.
    """

    def __init__(
        self, fixed: FixedCalibration, veto: Veto, sparse_threshold: int | None = None, threads: int | None = None
    ) -> None:
        if fixed.fraction_bits:
            raise ConfigError(
                f"the pipeline counts whole photons: quantize with 0 fraction bits, not {fixed.fraction_bits}"
            )
        _, rows, columns = fixed.pedestal.shape
        size = rows * columns
        self._veto = veto
        self._image = np.empty((rows, columns), np.int16)
        self._pedestal = np.ascontiguousarray(fixed.pedestal).reshape(3, size)
        self._mantissa = np.ascontiguousarray(fixed.mantissa).reshape(3, size)
        self._shift = np.array(fixed.shift, np.int64)
        threads = min(threads or len(os.sched_getaffinity(0)), max(1, size // BAND_PIXELS))
        edges = [size * n // threads for n in range(threads + 1)]
        self._bands = list(itertools.pairwise(edges))
        self._counts = np.zeros((threads, 5), np.int64)
        self._pool = concurrent.futures.ThreadPoolExecutor(threads)
        self._sparse_threshold = sparse_threshold
        if sparse_threshold is not None:
            self._rows = SparseRows(np.zeros(rows + 1, np.int64), np.empty(size, np.int32), np.empty(size, np.int16))

    def __call__(self, raw: NDArray[np.uint16]) -> Result:
        """Process one image: C-contiguous uint16 (rows, columns) of the calibration's shape, else InputError."""
        if raw.dtype != np.uint16 or raw.shape != self._image.shape or not raw.flags.c_contiguous:
            raise InputError(
                f"the image is {raw.dtype} {raw.shape}, the calibration is for uint16 {self._image.shape} without gaps"
            )
        words, image, threshold = raw.reshape(-1), self._image.reshape(-1), np.int16(self._veto.threshold)
        constants = self._pedestal, self._mantissa, self._shift

        def correct(band: tuple[int, int], counts: NDArray[np.int64]) -> None:
            _kernels.correct(words, *constants, threshold, image, *band, counts)

        if len(self._bands) == 1:
            correct(self._bands[0], self._counts[0])
        else:
            list(self._pool.map(correct, self._bands, self._counts))
        counts = Counts(*self._counts.sum(0).tolist())
        verdict = self._veto.judge(counts.peaks, counts.holes)
        return Result(self._image, counts, verdict, self._gather() if verdict.accepted else None)

    def _gather(self) -> SparseRows | None:
        if self._sparse_threshold is None:
            return None
        rows = self._rows
        _kernels.gather(self._image, np.int16(self._sparse_threshold), rows.pointers, rows.columns, rows.values)
        n = rows.pointers[-1]
        return SparseRows(rows.pointers, rows.columns[:n], rows.values[:n])
