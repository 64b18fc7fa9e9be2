"""A file that can still be closed whole when its disk is full."""

import errno
import os
import resource
import tempfile
from pathlib import Path

from framelane.receiver.forgiving import ForgivingFile

SLACK_BYTES = 32 << 20
"""What HDF5 may still have to write of a file's structure, at most: its cache of that is as large."""


class ReservingFile(ForgivingFile):
    """A `ForgivingFile` beside which room is reserved, `frame_bytes` and `SLACK_BYTES`.

    When a write fails the room is given back and the write done again: `full` is why, and what is under way can be
    ended. The room has no name, so a process that is killed leaves none of it. A limit of the size of files
    (`ulimit -f`) is taken to begin before it does, by so much. OSError where there is no such room.
    """

    def __init__(self, path: Path, frame_bytes: int) -> None:
        super().__init__(path)
        self.full: OSError | None = None
        room = frame_bytes + SLACK_BYTES
        limit, _ = resource.getrlimit(resource.RLIMIT_FSIZE)
        self._most = None if limit == resource.RLIM_INFINITY else limit - room
        self._reserve = tempfile.TemporaryFile(dir=path.parent)  # noqa: SIM115  (freed below)
        try:
            os.posix_fallocate(self._reserve.fileno(), 0, room if self._most is None else max(1, min(room, limit)))
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Close the file, and give the room back."""
        self._reserve.close()
        super().close()

    def _put(self, view: memoryview) -> int:
        if self.full is None and self._most is not None and self.tell() + len(view) > self._most:
            self.full = OSError(errno.EFBIG, os.strerror(errno.EFBIG))
        try:
            return super()._put(view)
        except OSError as error:
            if self.full is not None:
                raise
            self.full = error
            self._reserve.close()
            return super()._put(view)
