"""Corrected frames of a JUNGFRAU to an HDF5 file, laid out like NXmx (manual.nexusformat.org, NXmx)."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import hdf5plugin
import numpy as np
from numpy.typing import NDArray

from framelane.models.jungfrau.jf_correct import PixelCode
from framelane.receiver.jungfrau.frame_file import FrameFile
from framelane.receiver.sinks import nxmx

FORMAT = "framelane-corrected-1"


class CorrectedFile(FrameFile):
    """The file of images (rows, columns) of `dtype`: `/entry/data/data`, bitshuffle and LZ4, with `records` beside it.

    int16 has the codes of `PixelCode`, which are attributes; float32 has NaN. `pixel_mask` is
    `/entry/instrument/detector/pixel_mask`, in the bits of NXmx.
    """

    def __init__(
        self,
        path: Path,
        shape: tuple[int, int],
        dtype: type[np.int16 | np.float32],
        unit: str,
        records: Iterable[str],
        photon_energy_kev: float,
        pixel_mask: NDArray[np.uint32],
    ) -> None:
        super().__init__(
            path, FORMAT, lambda: self._make(shape, dtype, unit, records, photon_energy_kev, pixel_mask), whole=True
        )

    def write(self, image: NDArray[Any], record: dict[str, int]) -> None:
        """Append one image with its records."""
        self.append(self._data, image, record)

    def _make(
        self,
        shape: tuple[int, int],
        dtype: type[np.int16 | np.float32],
        unit: str,
        records: Iterable[str],
        photon_energy_kev: float,
        pixel_mask: NDArray[np.uint32],
    ) -> None:
        entry = nxmx.group(self.file, "entry", "NXentry", default="data")
        entry["definition"] = "NXmx"
        entry["start_time"] = nxmx.now()
        images = nxmx.group(entry, "data", "NXdata", signal="data")
        fill: Any = np.int16(PixelCode.HOLE) if dtype is np.int16 else np.float32(np.nan)
        self._data = nxmx.compressed(images, "data", dtype, shape, chunk=1, fillvalue=fill)
        self._data.attrs["units"] = unit
        if dtype is np.int16:
            self._data.attrs.update({f"code_{name}": np.int16(code) for name, code in nxmx.PHOTON_CODES.items()})
        nxmx.describe_instrument(entry, photon_energy_kev)
        entry["instrument/detector"].create_dataset(
            "pixel_mask", data=pixel_mask, chunks=shape, fletcher32=True, **hdf5plugin.Bitshuffle()
        )
        self.make_records(images, dict.fromkeys(records, ("u8", ())))
