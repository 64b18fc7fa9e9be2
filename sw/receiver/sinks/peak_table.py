"""Where the Bragg peaks of every frame are, under the names by which CrystFEL and Cheetah know them.

`indexamajig --peaks=cxi` reads `nPeaks`, `peakXPosRaw`, `peakYPosRaw` and `peakTotalIntensity` of the group that
`peak_list` of its geometry names (libcrystfel, image-hdf5.c, `image_hdf5_read_peaks_cxi`): the first is one number a
frame, the others are (frames, most peaks), of which a frame's first `nPeaks` count. X counts along a row of the image,
Y its rows; the first pixel has its centre at 0, 0, to which CrystFEL adds the half pixel by itself
(`--no-half-pixel-shift`). The other two names are Cheetah's.
"""

from typing import Any

import numpy as np

from framelane.models.peaks.peak_finder import Peaks
from framelane.receiver.sinks import nxmx

GROUP = "result_1"
COUNT = f"{GROUP}/nPeaks"
_FIELDS = {
    "peakXPosRaw": ("column", "f4", "pixels"),
    "peakYPosRaw": ("row", "f4", "pixels"),
    "peakTotalIntensity": ("intensity", "f4", ""),
    "peakMaximumValue": ("max_value", "f4", ""),
    "peakNPixels": ("pixels", "u4", "pixels"),
}
"""Each dataset's field of `PEAK` (docs/reference/peaks.md), type and units; no units: those of the image."""


class PeakTable:
    """Makes `entry/result_1`, with room for the first `limit` peaks of a frame, and appends to it.

    How many more there are says the record `bragg_peaks`. What is behind a frame's last peak is NaN, or 0. A frame is a
    chunk, compressed by gzip, which every reader of HDF5 has.
    """

    def __init__(self, entry: Any, limit: int, unit: str, fraction_bits: int) -> None:
        self._fraction_bits = fraction_bits
        self.most = max(1, limit)
        """Peaks of a frame that there is room for."""
        group = nxmx.group(entry, GROUP, "NXcollection")
        nxmx.extensible(group, "nPeaks", "u4", (), chunk=nxmx.RECORDS_A_CHUNK)
        self._tables = {}
        for name, (field, dtype, units) in _FIELDS.items():
            fill = np.float32(np.nan) if dtype == "f4" else np.uint32(0)
            table = nxmx.extensible(
                *(group, name, dtype, (self.most,)),
                chunk=1,
                fillvalue=fill,
                compression="gzip",
                compression_opts=1,
                shuffle=True,
                fletcher32=True,
                rdcc_nbytes=1,  # no cache: no more has to go to a disk that is full
            )
            table.attrs["units"] = units or unit
            self._tables[field] = table

    def append(self, peaks: Peaks) -> int:
        """Add those of the next frame; how many of them there are in the table."""
        described = peaks.described(self._fraction_bits)[: self.most]
        for field, table in self._tables.items():
            row = np.full(self.most, table.fillvalue, table.dtype)
            row[: len(described)] = described[field]
            table.resize(len(table) + 1, axis=0)
            table[-1] = row
        return len(described)

    def retract(self) -> None:
        """Take those of the last frame out again."""
        for table in self._tables.values():
            table.resize(len(table) - 1, axis=0)


def table_bytes(limit: int) -> int:
    """What a frame takes at most, before it is compressed."""
    return max(1, limit) * sum(np.dtype(dtype).itemsize for _, dtype, _ in _FIELDS.values())
