"""What the pipeline makes of one frame."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from framelane.models.peaks.peak_finder import Peaks
from framelane.receiver.pipeline.veto import Verdict


@dataclass(frozen=True, slots=True)
class Counts:
    """Pixels of one image that carry a code, and those that reach the veto's threshold. A pixel is in one at most."""

    holes: int
    saturated: int
    invalid: int
    masked: int
    peaks: int


@dataclass(frozen=True, slots=True, eq=False)
class SparseRows:
    """The pixels of one image that reach a threshold, row after row (compressed sparse rows).

    Those of row r are at `pointers[r]` to `pointers[r + 1]` of `columns` (int32) and `values` (int16 photons);
    `pointers` is int64 (rows + 1).
    """

    pointers: NDArray[np.int64]
    columns: NDArray[np.int32]
    values: NDArray[np.int16]

    def dense(self, n_columns: int, fill: int = 0) -> NDArray[np.int16]:
        """The image (rows, n_columns) with `fill` wherever no value was kept."""
        image = np.full((len(self.pointers) - 1, n_columns), fill, np.int16)
        rows = np.repeat(np.arange(len(image)), np.diff(self.pointers))
        image[rows, self.columns] = self.values
        return image


@dataclass(frozen=True, slots=True, eq=False)
class Result:
    """One image after correction: views of the pipeline's buffers, valid until it takes the next image.

    `image` is (rows, columns): int16 photons with their pixel codes, or uint16 raw words where there was no
    calibration. `sparse` is None for a rejected frame, and where no sparse rows were asked for. `ladder` has the number
    of pixels that reach each threshold of the ladder (int64), `bragg` the Bragg peaks of this one frame; None where
    there is no ladder or peak finder.
    """

    image: NDArray[np.integer[Any]]
    counts: Counts
    verdict: Verdict
    sparse: SparseRows | None = None
    ladder: NDArray[np.int64] | None = None
    bragg: Peaks | None = None
