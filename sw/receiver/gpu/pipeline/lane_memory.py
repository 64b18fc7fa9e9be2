"""Memory of the host that a lane's kernels write its results to, and that they are told by."""

import numpy as np

from framelane.models.peaks.peak_finder import PEAK_SUMS, Peaks
from framelane.receiver.gpu.ladder import COUNT_BYTES
from framelane.receiver.gpu.pinned_buffer import PinnedBuffer
from framelane.receiver.pipeline.result import Counts, Result, SparseRows
from framelane.receiver.pipeline.veto import Veto

RELEASED, WANTED = 0, 1
"""Words that the host writes: the number of the newest frame that may begin, and of one that is kept."""
JUDGED, DONE = 5, 6
"""Words of `Report` of kernels/reports.cuh, behind the counts."""
_FOUND = 7
_WORD = 4


class LaneMemory:
    """For an image of `shape` (rows, columns): each part of no size where there is no such result.

    That is without `images` or `sparse` rows, for no `rungs` of a ladder, and for at most `peaks` Bragg peaks; None:
    there is no peak finder.
    """

    def __init__(self, shape: tuple[int, int], *, images: bool, sparse: bool, rungs: int, peaks: int | None) -> None:
        rows, columns = shape
        pixels = rows * columns
        sizes = (8 * (rows + 1), 4 * pixels, 2 * pixels) if sparse else (0, 0, 0)
        table = PEAK_SUMS.itemsize * (peaks or 0)
        pinned = PinnedBuffer(8, 32, COUNT_BYTES * rungs, 2 * pixels * images, *sizes, table)
        told, report, ladder, image, *rows_of, peaks_of = pinned.arrays
        self.told, self.report = told.view(np.uint32), report.view(np.uint32)
        self.image = image.view(np.int16).reshape(-1, columns)
        self._ladder = ladder.view(np.int64) if rungs else None
        self._rows = SparseRows(rows_of[0].view(np.int64), rows_of[1].view(np.int32), rows_of[2].view(np.int16))
        self._has_rows = sparse
        self._peaks = None if peaks is None else peaks_of.view(PEAK_SUMS)

        at = pinned.addresses
        self.released_at, self.wanted_at, self.report_at, self.ladder_at = at[0], at[0] + _WORD * WANTED, at[1], at[2]
        self.image_at, self.pointers_at, self.columns_at, self.values_at, self.peaks_at = at[3:]
        """Addresses for kernels."""

    def result(self, veto: Veto, keep: bool) -> Result:
        """The newest frame's, when it is there: views."""
        counts, found = Counts(*self.report[:JUDGED].tolist()), int(self.report[_FOUND])
        verdict = veto.judge(found, counts.holes, keep)
        rows, sparse, bragg = self._rows, None, None
        if self._has_rows and verdict.accepted:
            pixels = rows.pointers[-1]
            sparse = SparseRows(rows.pointers, rows.columns[:pixels], rows.values[:pixels])
        if self._peaks is not None:
            bragg = Peaks(self._peaks[:found], np.array([found], np.int64))
        return Result(self.image if verdict.accepted else self.image[:0], counts, verdict, sparse, self._ladder, bragg)
