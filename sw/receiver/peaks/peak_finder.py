"""The peak finder on the CPU: rows in bands, each the work of a thread, one frame after the other."""

import concurrent.futures
import itertools
import os
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from framelane.base.errors import InputError
from framelane.models.peaks.peak_finder import PEAK_FIELDS, PEAK_SUMS, Peaks
from framelane.models.peaks.peak_settings import SNR_STEPS, Panel, PeakSettings, check_layout
from framelane.receiver.peaks import _bright, _groups
from framelane.receiver.pipeline._bands import run

BAND_ROWS = 128
"""Rows of a panel that are one piece of work: many times those of a ring, which two pieces both have to sum."""

_Band = tuple[int, tuple[int, int, int, int], int, int]
"""The panel's number, its first row, first column, end row, end column, and the band's first and end row."""


class PeakFinder:
    """Finds the peaks of images of `shape` (rows, columns), as `models.peak_finder.find_peaks` with the same arguments.

    All memory is taken when it is made. `threads` at most; None: one a core. Not for use by several threads at once.
    """

    def __init__(
        self,
        shape: tuple[int, int],
        settings: PeakSettings,
        panels: Sequence[Panel] | None = None,
        usable: NDArray[np.bool_] | None = None,
        fraction_bits: int = 0,
        threads: int | None = None,
    ) -> None:
        panels, allowed = check_layout(shape, panels, usable)
        self._settings = settings
        self._masked = np.where(allowed, 0, _bright.UNUSABLE).astype(np.uint8)
        self._states = np.empty((2, *shape), np.uint8)
        self._places = np.empty(shape, np.int32)
        self._counts = np.zeros((len(panels), shape[0]), np.int32)
        self._queue = np.empty((shape[0] * shape[1], 2), np.int32)
        self._peaks = np.empty((len(panels), settings.limit, len(PEAK_FIELDS) - 2), np.int64)
        least = settings.least_value(fraction_bits)
        ring = settings.outer, settings.inner
        self._limits = (least, settings.snr_steps, *ring, settings.min_ring, SNR_STEPS**2)
        self._panels = [(p.row, p.column, p.row + p.rows, p.column + p.columns) for p in panels]
        self._first_pixels = [0, *itertools.accumulate(panel.rows * panel.columns for panel in panels)]
        self._bands: list[_Band] = [
            (n, panel, first, min(first + BAND_ROWS, panel[2]))
            for n, panel in enumerate(self._panels)
            for first in range(panel[0], panel[2], BAND_ROWS)
        ]
        widest = max((panel.columns for panel in panels), default=0)
        threads = min(threads or len(os.sched_getaffinity(0)), max(1, len(self._bands)))
        self._integrals = [np.empty((2 * settings.outer + 2, 2, widest + 1), np.int64) for _ in range(threads)]
        self._pool = concurrent.futures.ThreadPoolExecutor(threads)

    def __call__(self, images: NDArray[np.int16]) -> Peaks:
        """The peaks of a batch (frames, rows, columns) int16, frames of any stride, else InputError."""
        if images.dtype != np.int16 or images.ndim != 3 or images.shape[1:] != self._masked.shape:
            raise InputError(
                f"the images are {images.dtype} {images.shape}, needed is int16 (frames, rows, columns) of "
                f"{self._masked.shape}"
            )
        found = np.zeros(len(images), np.int64)
        tables = [self._frame(number, image, found) for number, image in enumerate(images)]
        sums = np.concatenate(tables) if tables else np.empty((0, len(PEAK_FIELDS)), np.int64)
        return Peaks(sums.view(PEAK_SUMS).reshape(-1), found)

    def _frame(self, number: int, image: NDArray[np.int16], found: NDArray[np.int64]) -> NDArray[np.int64]:
        """The table of one frame's peaks, in the order of `PEAK_FIELDS`."""
        before = self._masked
        for turn in range(self._settings.rounds):
            after = self._states[turn % 2]
            counted = before
            self._find(image, counted, after)
            before = after
        counts = self._gather(image, counted, after)
        found[number] = sum(counts)
        kept = [self._peaks[n][: min(count, self._settings.limit)] for n, count in enumerate(counts)]
        table = np.zeros((sum(map(len, kept)), len(PEAK_FIELDS)), np.int64)
        table[:, 0] = number
        table[:, 1] = np.repeat(np.arange(len(kept)), list(map(len, kept)))
        if kept:
            np.concatenate(kept, out=table[:, 2:])
        return table[: self._settings.limit]

    def _find(self, image: NDArray[np.int16], before: NDArray[np.uint8], after: NDArray[np.uint8]) -> None:
        """One round: the bright pixels of all panels."""
        np.copyto(after, self._masked)

        def work(band: _Band) -> None:
            number, panel, first, end = band
            scratch = self._integrals.pop()
            integral = scratch[:, :, : panel[3] - panel[1] + 1]
            found = self._places, self._counts[number]
            _bright.find(image, before, self._limits, panel, first, end, integral, after, *found)
            self._integrals.append(scratch)

        run(self._pool, work, self._bands)

    def _gather(self, image: NDArray[np.int16], before: NDArray[np.uint8], states: NDArray[np.uint8]) -> list[int]:
        """The peaks of each panel, to `_peaks`; how many there are."""
        settings = self._settings
        sizes, radii = (settings.min_pixels, settings.max_pixels), (settings.outer, settings.inner)

        def work(number: int) -> int:
            at, panel = self._first_pixels[number], self._panels[number]
            found = states, self._places, self._counts[number]
            found_at = self._queue[at:], self._peaks[number]
            return int(_groups.gather(image, before, *found, panel, sizes, radii, *found_at))

        return list(self._pool.map(work, range(len(self._panels))))
