"""A file that can still be closed whole when its disk is full."""

import errno
import os
import resource
import tempfile
from pathlib import Path

from framelane.files.forgiving import ForgivingFile

SLACK_BYTES = 32 << 20
"""What HDF5 may still have to write of a file's structure, at most: its cache of that is as large."""

_NO_ROOM = errno.ENOSPC, errno.EDQUOT, errno.EFBIG


class ReservingFile(ForgivingFile):
    """A `ForgivingFile` beside which room is reserved, `frame_bytes` and `SLACK_BYTES`.

    When a write fails the room is given back and the write done again: `full` is why, and what is under way can be
    ended. The room has no name, so a process that is killed leaves none of it. A limit of the size of files
    (`ulimit -f`) is taken to begin before it does, by so much. OSError where there is no such room. A file system that
    reserves nothing for a file without a name (9p) is written to without.
    """

    def __init__(self, path: Path, frame_bytes: int) -> None:
        super().__init__(path)
        self.full: OSError | None = None
        self._room = room = frame_bytes + SLACK_BYTES
        self._limit, _ = resource.getrlimit(resource.RLIMIT_FSIZE)
        self._most = None if self._limit == resource.RLIM_INFINITY else self._limit - room
        if self._most is not None and self._most <= 0:
            super().close()
            raise self._explained(OSError(errno.EFBIG, ""))
        self._reserve = tempfile.TemporaryFile(dir=path.parent)  # noqa: SIM115  (freed below)
        try:
            os.posix_fallocate(self._reserve.fileno(), 0, room)
        except OSError as error:
            self._reserve.close()
            if error.errno in _NO_ROOM:
                super().close()
                raise self._explained(error, path.parent) from error
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Close the file, and give the room back."""
        self._reserve.close()
        super().close()

    def _put(self, view: memoryview, at: int) -> int:
        if self.full is None and self._most is not None and at + len(view) > self._most:
            self.full = self._explained(OSError(errno.EFBIG, ""))
        try:
            return super()._put(view, at)
        except OSError as error:
            if self.full is not None:
                raise
            self.full = self._explained(error)
            self._reserve.close()
            return super()._put(view, at)

    def _explained(self, error: OSError, folder: Path | None = None) -> OSError:
        """The error with the limit that was met, or the room that `folder` has, and what is reserved."""
        code, why = error.errno or 0, f"{_mb(self._room)} are for the end of the file"
        if code == errno.EFBIG:
            why = f"files end at {_mb(self._limit)}, see `ulimit -f`, of which {why}"
        elif folder is not None:
            free = os.statvfs(folder)
            why = f"{_mb(free.f_bavail * free.f_frsize)} are free, and {why}"
        return OSError(code, f"{os.strerror(code)} ({why})")


def _mb(size: int) -> str:
    return f"{size / 1e6:.1f} MB"
