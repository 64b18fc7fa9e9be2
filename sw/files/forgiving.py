"""A file for the HDF5 library, which does not survive a failed write (it crashes when the file is closed)."""

import io
import os
from pathlib import Path
from typing import Any


class ForgivingFile(io.FileIO):
    """A new file that pretends that every write succeeds, and keeps the first failure in `error`, once one failed."""

    def __init__(self, path: Path) -> None:
        super().__init__(path, "w+")
        self.error: OSError | None = None

    def write(self, data: Any) -> int:
        """Write all of `data` at the current position, or none of it and all that follows."""
        view = memoryview(data).cast("B")
        at = self.tell()
        self.put(view, at)
        self.seek(at + len(view))
        return len(view)

    def put(self, view: memoryview, at: int) -> None:
        """The same at any position, which leaves the current one as it is."""
        done = 0
        while self.error is None and done < len(view):
            try:
                done += self._put(view[done:], at + done)
            except OSError as error:
                self.error = error

    def _put(self, view: memoryview, at: int) -> int:
        """Write some of `view`, as the disk does."""
        return os.pwrite(self.fileno(), view, at)

    def sync(self) -> None:
        """Wait until the disk has what was written."""
        if self.error is None:
            try:
                os.fdatasync(self.fileno())
            except OSError as error:
                self.error = error

    def truncate(self, size: int | None = None) -> int:
        """Set the size of the file, unless a write has failed."""
        if self.error is None:
            try:
                return super().truncate(size)
            except OSError as error:
                self.error = error
        return self.tell() if size is None else size
