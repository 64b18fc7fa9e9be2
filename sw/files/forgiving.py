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
        done = 0
        while self.error is None and done < len(view):
            try:
                done += self._put(view[done:])
            except OSError as error:
                self.error = error
        if self.error is not None:
            self.seek(len(view) - done, os.SEEK_CUR)
        return len(view)

    def _put(self, view: memoryview) -> int:
        """Write some of `view`, as the disk does."""
        return super().write(view) or 0

    def truncate(self, size: int | None = None) -> int:
        """Set the size of the file, unless a write has failed."""
        if self.error is None:
            try:
                return super().truncate(size)
            except OSError as error:
                self.error = error
        return self.tell() if size is None else size
