"""Peaks that are known by the number of their frame, and whether a file has them."""

from collections.abc import Iterable
from typing import Any

import numpy as np

from framelane.models.peaks.peak_finder import PEAK_SUMS, Peaks

LIMIT = 3


def made_peaks(number: int) -> Peaks:
    """0 to 4 peaks, the first `LIMIT` of which are described: peak k of frame n is at row n, column k."""
    found = number % 5
    sums = np.ones(min(found, LIMIT), PEAK_SUMS)
    sums["weight_row"], sums["weight_column"] = number, np.arange(len(sums))
    sums["value_sum"], sums["ring_sum"], sums["pixels"], sums["max_value"] = number + 2, 1, 2, number
    return Peaks(sums, np.array([found]))


def check_peaks(file: Any, frames: Iterable[int]) -> None:
    """The file has the peaks of these frames."""
    table = file["entry/result_1"]
    for n in frames:
        found = min(n % 5, LIMIT)
        assert table["nPeaks"][n] == found
        assert table["peakXPosRaw"][n].tolist()[:found] == list(range(found))
        assert table["peakYPosRaw"][n].tolist()[:found] == [n] * found
        assert table["peakTotalIntensity"][n].tolist()[:found] == [n] * found
        assert table["peakNPixels"][n].tolist() == [2] * found + [0] * (LIMIT - found)
        assert np.isnan(table["peakMaximumValue"][n][found:]).all()
