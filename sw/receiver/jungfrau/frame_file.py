"""A new HDF5 file with images and a record of every frame: what our files of JUNGFRAU frames have in common."""

import contextlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Self

import h5py
import numpy as np
from numpy.typing import NDArray

import framelane
from framelane.models.errors import InputError
from framelane.models.part_file import PartFile
from framelane.receiver import nxmx
from framelane.receiver.forgiving import ForgivingFile

Columns = Mapping[str, tuple[str, tuple[int, ...]]]
"""Of each record its name, its type and the shape of one."""


class FrameFile:
    """Writes the file `path`: it appears under its name when it is closed, whole; an error leaves nothing behind.

    A subclass gives the function that makes its datasets, and appends to them. InputError when the file cannot be
    written.
    """

    def __init__(self, path: Path, format: str, make: Callable[[], None]) -> None:
        self.path = path
        self.frames = 0
        self._waiting: dict[str, NDArray[Any]] = {}
        self._part = PartFile(path)
        with contextlib.ExitStack() as undo:
            undo.callback(self._part.discard)
            self._disk = self._open(self._part.path)
            undo.callback(self._disk.close)
            self._file = h5py.File(self._disk, "w", libver="v110")
            undo.callback(self._file.close)
            self._file.attrs.update({"format": format, "program": f"framelane {framelane.__version__}"})
            self._file.attrs["begun"] = nxmx.now()
            self._group: Any = self._file
            make()
            undo.pop_all()

    def make_records(self, group: Any, columns: Columns) -> None:
        """Datasets for records, one entry for each frame."""
        self._group = group
        for name, (dtype, shape) in columns.items():
            nxmx.extensible(group, name, dtype, shape, chunk=nxmx.RECORDS_A_CHUNK, fletcher32=True)
            self._waiting[name] = np.zeros((nxmx.RECORDS_A_CHUNK, *shape), dtype)

    def append(self, dataset: Any, image: NDArray[Any], record: Mapping[str, Any]) -> None:
        """Add a frame: its image to `dataset`, and its record."""
        for name, value in record.items():
            self._waiting[name][self.frames % nxmx.RECORDS_A_CHUNK] = value
        self.frames += 1
        dataset.resize(self.frames, axis=0)
        dataset[-1] = image
        if self.frames % nxmx.RECORDS_A_CHUNK == 0:
            self._flush(nxmx.RECORDS_A_CHUNK)
        self._check()

    def close(self) -> None:
        """End the file and give it its name."""
        self._flush(self.frames % nxmx.RECORDS_A_CHUNK)
        self._file.attrs["ended"] = nxmx.now()
        self._check()
        self._file.close()
        self._check()
        self._disk.close()
        self._part.keep()

    def discard(self) -> None:
        """Leave nothing behind."""
        with contextlib.suppress(OSError, RuntimeError):
            self._file.close()
        self._disk.close()
        self._part.discard()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, *error: object) -> None:
        try:
            if kind is None:
                self.close()
        finally:
            self.discard()

    def _open(self, path: Path) -> ForgivingFile:
        """The file on the disk."""
        return ForgivingFile(path)

    def _flush(self, n: int) -> None:
        """Write the records of the last `n` frames."""
        for name, column in self._waiting.items() if n else ():
            dataset = self._group[name]
            dataset.resize(self.frames, axis=0)
            dataset[self.frames - n :] = column[:n]

    def _check(self) -> None:
        if self._disk.error:
            reason = self._disk.error.strerror
            raise InputError(
                f"cannot write {self.path}: {reason}: make room there, or give another file"
            ) from self._disk.error
