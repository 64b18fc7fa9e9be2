"""A new HDF5 file with images and a record of every frame: what our files of JUNGFRAU frames have in common."""

import contextlib
import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import framelane
from framelane.base.claim import Claim
from framelane.files.committed_file import PAGE
from framelane.files.growing_hdf5 import GrowingHdf5
from framelane.receiver.sinks import nxmx

_CHECKSUM_BYTES = 4
Columns = Mapping[str, tuple[str, tuple[int, ...]]]
"""Name, type and shape of each record."""


class FrameFile(GrowingHdf5):
    """A `GrowingHdf5` of frames.

    A subclass gives the function that makes its datasets, and appends to them. Frames were `taken` from one moment to
    another, ISO 8601, where they are of a recording. InputError when the file cannot be written.
    """

    def __init__(
        self, path: Path | Claim, format: str, make: Callable[[], None], taken: tuple[str, str] | None = None
    ) -> None:
        super().__init__(path)
        self.frames, self._taken = 0, taken
        self._waiting: dict[str, NDArray[Any]] = {}
        with contextlib.ExitStack() as undo:
            undo.callback(self.discard)
            self.file.attrs.update({"format": format, "program": f"framelane {framelane.__version__}"})
            self.file.attrs["begun"] = taken[0] if taken else nxmx.now()
            self._group: Any = self.file
            make()
            undo.pop_all()

    def make_records(self, group: Any, columns: Columns) -> None:
        """Datasets for records, one entry for each frame."""
        self._group = group
        for name, (dtype, shape) in columns.items():
            of_frame = np.dtype(dtype).itemsize * math.prod(shape)
            chunk = min(nxmx.RECORDS_A_CHUNK, (PAGE - _CHECKSUM_BYTES) // of_frame)
            nxmx.extensible(group, name, dtype, shape, chunk=chunk, fletcher32=True)
            self._waiting[name] = np.zeros((nxmx.RECORDS_A_CHUNK, *shape), dtype)

    def append(self, dataset: Any, image: NDArray[Any], record: Mapping[str, Any]) -> None:
        """Add a frame: its image to `dataset`, and its record."""
        with self.changing():
            for name, value in record.items():
                self._waiting[name][self.frames % nxmx.RECORDS_A_CHUNK] = value
            self.frames += 1
            dataset.resize(self.frames, axis=0)
            dataset[-1] = image
            if self.frames % nxmx.RECORDS_A_CHUNK == 0:
                self._flush(nxmx.RECORDS_A_CHUNK)
        self.check()

    def _complete(self) -> None:
        self._flush(self.frames % nxmx.RECORDS_A_CHUNK)

    def _end(self) -> None:
        self._complete()
        self.file.attrs["ended"] = self._taken[1] if self._taken else nxmx.now()

    def _flush(self, n: int) -> None:
        """Write the records of the last `n` frames."""
        for name, column in self._waiting.items() if n else ():
            dataset = self._group[name]
            dataset.resize(self.frames, axis=0)
            dataset[self.frames - n :] = column[:n]
