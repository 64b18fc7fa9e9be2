"""A new HDF5 file of frames that can be read at every moment, also when the process or the machine ends."""

import contextlib
import errno
import io
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from framelane.base.claim import Claim
from framelane.base.errors import InputError
from framelane.files.committed_file import LAYOUT, CommittedFile
from framelane.files.new_hdf5 import NewHdf5

COMMIT_S = 0.5
"""What was written is readable after so many seconds, and the time that the disk takes."""


class GrowingHdf5(NewHdf5):
    """Writes the HDF5 file `path`: it appears under its name with its first frames, and grows.

    What was written in a `changing` block can be read after `COMMIT_S` and the time that the disk takes, by any reader
    of HDF5 that opens the file, whatever becomes of this process and its machine. An error removes the file, unless it
    is closed. One dataset has at most `MOST_CHUNKS` chunks, and what is written again of a chunk with a checksum is at
    most a `PAGE`. With `whole` it is a `NewHdf5`, which appears when it is closed. InputError as of that.
    """

    def __init__(self, path: Path | Claim, *, whole: bool = False, force: bool = False, **how: Any) -> None:
        self._whole = whole
        self._lock = threading.RLock()
        self._committing = threading.Lock()
        self._changed = False
        self._over = threading.Event()
        self._shown: Callable[[], None] | None = None
        self.closed = False
        """Whether it was ended, and is whole."""
        self._committer: threading.Thread | None = None
        super().__init__(path, force=force, **({} if whole else LAYOUT), **how)
        if not whole:
            self._committer = threading.Thread(target=self._commit_now_and_then, name="commit", daemon=True)
            self._committer.start()

    @property
    def filled(self) -> bool:
        """Whether what follows should go to another file."""
        return False

    def when_shown(self, then: Callable[[], None]) -> None:
        """Do this when the file has got its name, by another thread."""
        self._shown = then

    @contextlib.contextmanager
    def changing(self) -> Iterator[None]:
        """While it lasts nothing is committed: what is changed in it is seen together or not at all."""
        with self._lock:
            yield
            self._changed = True

    def commit(self) -> None:
        """Make all that was written readable, and wait until the disk has it."""
        with self._committing:
            with self._lock:
                if self._whole or not self._changed or self._disk.error:
                    return
                self._changed = False
                self._complete()
                self.file.flush()
                write = self._committed.begin()
            write()
            if not self._disk.error and self._part.gone:
                self._disk.error = OSError(errno.ENOENT, "it has gone while it was written, with its frames")
            if not self._disk.error:
                self._show()

    def _show(self) -> None:
        """Give the file its name with its first commit, and say so; where that fails, with the next one again."""
        try:
            self._part.show()
        except OSError as error:
            self._disk.error = error
            return
        except InputError:
            self._disk.error = OSError(errno.EEXIST, "a file of this name has come meanwhile")
            return
        if self._shown:
            with contextlib.suppress(InputError):
                self._shown()
                self._shown = None

    def close(self, last: bool = True) -> None:
        """End the file; where it is not the `last` of its run, it does not say that this has ended."""
        self._stop()
        self.commit()  # before it says that it has all frames
        self.check()
        with self._lock:
            if last:
                self._end()
            else:
                self._complete()
            self.check()
            self.file.close()
            if not self._whole:
                self._committed.begin()()
        self.check()
        self._disk.close()
        self._keep()
        self.closed = True

    def discard(self) -> None:
        """Leave nothing behind, unless the file is closed."""
        self._stop()
        super().discard()

    def leave(self) -> None:
        """Let the file be as it was committed last, unless it is closed; where nothing was, none is left."""
        self._stop()
        if not self._whole:
            self._committed.frozen = True
            if self._part.shown:
                with contextlib.suppress(OSError):  # the disk has gone: it has what it has
                    self._part.keep()
        self.discard()

    def _stop(self) -> None:
        self._over.set()
        if self._committer:
            self._committer.join()

    def _commit_now_and_then(self) -> None:
        while not self._over.wait(COMMIT_S):
            try:
                self.commit()
            except Exception as error:  # whoever writes is told: without commits nothing survives
                self._disk.error = self._disk.error or OSError(errno.EIO, f"it could not be committed: {error}")
                return

    def _seen(self) -> io.RawIOBase:
        if self._whole:
            return super()._seen()
        self._committed = CommittedFile(self._disk)
        return self._committed

    def _complete(self) -> None:
        """Write what is still in memory of the frames so far."""
