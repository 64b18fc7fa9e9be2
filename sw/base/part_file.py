"""A file that appears under its name once it is whole."""

import errno
import os
import secrets
from pathlib import Path
from typing import Self

from framelane.base.claim import Claim, Kind
from framelane.base.errors import InputError


class PartFile:
    """A new, empty file at `path`, hidden beside `target`, until `keep` gives it that name or `discard` removes it.

    `with PartFile(target) as part` keeps it where the block ends, and discards it where it raises. An older file is
    replaced as a `Claim` with `force`, `kind` and `renews` allows it; `target` may be one that the caller holds. Where
    it is a symbolic link, the link stays and its file is replaced. What was written, and the name, are on the disk when
    they are kept. `mode` is its permissions, less those of the umask. InputError as of a `Claim`, and where the folder
    cannot be written.
    """

    def __init__(
        self,
        target: Path | Claim,
        mode: int = 0o666,
        *,
        force: bool = False,
        kind: Kind | None = None,
        renews: bool = False,
    ) -> None:
        self._own = not isinstance(target, Claim)
        self._claim = target if isinstance(target, Claim) else Claim(target, force=force, kind=kind, renews=renews)
        self._target = self._claim.target
        self._kept = False
        self.path = self._target.with_name(f".part-{secrets.token_hex(8)}")
        try:
            self.path.touch(mode, exist_ok=False)
        except OSError as error:
            self._release()
            raise InputError(
                f"cannot write {self._claim.path}: {error.strerror}: give a file in a folder that exists and may be "
                "written"
            ) from error

    def show(self) -> None:
        """Give the file the target's name already; `discard` still removes it. An older file of that name is gone.

        InputError where one has come meanwhile that may not be replaced.
        """
        if not self.shown:
            _sync(self.path)
            self._claim.check()
            self.path.replace(self._target)
            self.path = self._target
            self._claim.taken()
            _sync(self._target.parent)

    @property
    def shown(self) -> bool:
        """Whether it has the target's name."""
        return self.path == self._target

    @property
    def gone(self) -> bool:
        """Whether it has lost its name: its folder, or its disk, was taken away."""
        try:
            return not self.path.exists()
        except OSError:
            return True

    def keep(self) -> None:
        """Give the file the target's name; an older file of that name is gone."""
        self._kept = self.shown
        _sync(self.path)
        self.show()
        self._kept = True
        self._release()

    def discard(self) -> None:
        """Remove the file, unless it was kept."""
        if not self._kept:
            self.path.unlink(missing_ok=True)
        self._release()

    def _release(self) -> None:
        if self._own:
            self._claim.release()

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
