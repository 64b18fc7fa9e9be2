"""A file that appears under its name once it is whole."""

import errno
import os
import secrets
from pathlib import Path
from typing import Self

from framelane.base.errors import InputError


class PartFile:
    """A new, empty file at `path`, hidden beside `target`, until `keep` gives it that name or `discard` removes it.

    `with PartFile(target) as part` keeps it where the block ends, and discards it where it raises. Its name is its own:
    of runs with the same target none sees another's, and the last to keep wins. Where `target` is a symbolic link, the
    link stays and its file is replaced. What was written, and the name, are on the disk when they are kept. `mode` is
    its permissions, less those of the umask. InputError where `target` is no regular file, or its folder cannot be
    written.
    """

    def __init__(self, target: Path, mode: int = 0o666) -> None:
        self._target = Path(os.path.realpath(target))
        self._kept = False
        self.path = self._target.with_name(f".part-{secrets.token_hex(8)}") if self._target.name else self._target
        try:
            if self._target.exists() and not self._target.is_file():
                raise InputError(f"cannot write {target}: it is a folder or a device: give the name of a file")
            self.path.touch(mode, exist_ok=False)
        except OSError as error:
            raise InputError(
                f"cannot write {target}: {error.strerror}: give a file in a folder that exists and may be written"
            ) from error

    def show(self) -> None:
        """Give the file the target's name already; `discard` still removes it. An older file of that name is gone."""
        if not self.shown:
            _sync(self.path)
            self.path.replace(self._target)
            self.path = self._target
            _sync(self._target.parent)

    @property
    def shown(self) -> bool:
        """Whether it has the target's name."""
        return self.path == self._target

    def keep(self) -> None:
        """Give the file the target's name; an older file of that name is gone."""
        self._kept = self.shown
        _sync(self.path)
        self.show()
        self._kept = True

    def discard(self) -> None:
        """Remove the file, unless it was kept."""
        if not self._kept:
            self.path.unlink(missing_ok=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, *error: object) -> None:
        try:
            if kind is None:
                self.keep()
        finally:
            self.discard()


def _sync(path: Path) -> None:
    """Wait until the disk has a file, or the names in a folder."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno != errno.EINVAL:  # of a file system that syncs no folders
            raise
    finally:
        os.close(descriptor)
