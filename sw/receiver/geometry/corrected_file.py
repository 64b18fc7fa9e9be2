"""Corrected frames of a JUNGFRAU to an HDF5 file, laid out like NXmx (manual.nexusformat.org, NXmx)."""

import contextlib
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

import hdf5plugin
import numpy as np
from numpy.typing import NDArray

import framelane
from framelane.files.new_hdf5 import NewHdf5
from framelane.models.jungfrau.jf_correct import PixelCode
from framelane.receiver.pipeline.judging import Judging
from framelane.receiver.pipeline.random_share import RandomShare
from framelane.receiver.pipeline.result import Result
from framelane.receiver.sinks import nxmx
from framelane.receiver.sinks.judged_frames import JudgedFrames

FORMAT = "framelane-corrected-1"


class CorrectedFile(NewHdf5):
    """The file of images (rows, columns) of `dtype`: `/entry/data/data`, bitshuffle and LZ4; it appears whole.

    int16 has the codes of `PixelCode`, which are attributes; float32 has NaN. `pixel_mask` is
    `/entry/instrument/detector/pixel_mask`, in the bits of NXmx. All else is as in the file of a receiver: `records` of
    every frame, names of `nxmx.RECORD`, and what `judging` asks for (`JudgedFrames`); `share` are the rejected frames
    that are kept.
    """

    def __init__(
        self,
        path: Path,
        shape: tuple[int, int],
        dtype: type[np.int16 | np.float32],
        unit: str,
        *,
        records: Collection[str],
        photon_energy_kev: float,
        pixel_mask: NDArray[np.uint32],
        judging: Judging,
        share: RandomShare | None = None,
    ) -> None:
        super().__init__(path)
        with contextlib.ExitStack() as undo:
            undo.callback(self.discard)
            self.file.attrs.update({"format": FORMAT, "program": f"framelane {framelane.__version__}"})
            self.file.attrs["begun"] = nxmx.now()
            self._make(shape, dtype, unit, photon_energy_kev, pixel_mask)
            self._judged = JudgedFrames(
                self.file["entry"],
                unit=unit,
                records=[name for name in nxmx.RECORD if name in records or name not in nxmx.OF_SOURCE],
                judging=judging,
                share=share,
                sparse=judging.sparse is not None,
            )
            undo.pop_all()

    def write(self, record: Mapping[str, Any], result: Result, image: NDArray[Any] | None = None) -> None:
        """Append one frame with its `records`. Its `image` is that of the result, where no other is given."""
        self._judged.append(record, result, image)
        self.check()

    def _end(self) -> None:
        self._judged.complete()
        self.file["entry/end_time"] = nxmx.now()
        self.file.attrs["ended"] = nxmx.now()

    def _make(
        self,
        shape: tuple[int, int],
        dtype: type[np.int16 | np.float32],
        unit: str,
        photon_energy_kev: float,
        pixel_mask: NDArray[np.uint32],
    ) -> None:
        entry = nxmx.group(self.file, "entry", "NXentry", default="data")
        entry["definition"] = "NXmx"
        entry["start_time"] = nxmx.now()
        images = nxmx.group(entry, "data", "NXdata", signal="data")
        fill: Any = np.int16(PixelCode.HOLE) if dtype is np.int16 else np.float32(np.nan)
        data = nxmx.compressed(images, "data", dtype, shape, chunk=1, fillvalue=fill)
        data.attrs["units"] = unit
        if dtype is np.int16:
            data.attrs.update({f"code_{name}": np.int16(code) for name, code in nxmx.PHOTON_CODES.items()})
        nxmx.describe_instrument(entry, photon_energy_kev)
        entry["instrument/detector"].create_dataset(
            "pixel_mask", data=pixel_mask, chunks=shape, fletcher32=True, **hdf5plugin.Bitshuffle()
        )
