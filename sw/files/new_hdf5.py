"""A new HDF5 file that appears under its name once it is whole: what all HDF5 files that grow here have in common."""

import contextlib
import io
from pathlib import Path
from typing import Any, Self

import h5py

from framelane.base.claim import Claim, Kind
from framelane.base.errors import FramelaneError, InputError
from framelane.base.part_file import PartFile
from framelane.files.forgiving import ForgivingFile

HDF5 = Kind("an HDF5 file", lambda path: bool(h5py.is_hdf5(path)))


class NewHdf5:
    """Writes the HDF5 file `path`: it appears under its name when it is closed, whole; an error leaves nothing behind.

    `file` is h5py's, `how` are options of it. An older file is replaced only with `force`; `path` may be the claim to
    it that the caller holds. InputError where the disk takes the file not, or not all of it, and as of a `Claim`.
    """

    def __init__(self, path: Path | Claim, *, force: bool = False, **how: Any) -> None:
        self.path = path.path if isinstance(path, Claim) else path
        self._part = PartFile(path, force=force, kind=HDF5)
        with contextlib.ExitStack() as undo:
            undo.callback(self._part.discard)
            try:
                self._disk = self._open(self._part.path)
            except OSError as error:
                raise self._failure(error) from error
            undo.callback(self._disk.close)
            self.file: Any = h5py.File(self._seen(), "w", **{"libver": "v110", **how})
            undo.pop_all()

    def check(self) -> None:
        """InputError if the disk has not taken all that was written."""
        if self._disk.error:
            raise self._failure(self._disk.error) from self._disk.error

    def close(self) -> None:
        """End the file and give it its name."""
        self._end()
        self.check()
        self.file.close()
        self.check()
        self._disk.close()
        self._keep()

    def _keep(self) -> None:
        try:
            self._part.keep()
        except OSError as error:
            raise self._failure(error) from error

    def discard(self) -> None:
        """Leave nothing behind, unless the file is closed."""
        with contextlib.suppress(OSError, RuntimeError):
            self.file.close()
        self._disk.close()
        self._part.discard()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        try:
            if kind is None:
                self.close()
            elif isinstance(error, Exception) and not isinstance(error, FramelaneError):
                self.check()  # HDF5 reads what it took to be written, and fails in any of many ways
        finally:
            self.discard()

    def _open(self, path: Path) -> ForgivingFile:
        """The file on the disk. OSError where it cannot be."""
        return ForgivingFile(path)

    def _seen(self) -> io.RawIOBase:
        """The file on the disk as HDF5 sees it."""
        return self._disk

    def _end(self) -> None:
        """Write what is still missing."""

    def _failure(self, error: OSError) -> InputError:
        return InputError(f"cannot write {self.path}: {error.strerror}: make room there, or give another file")
