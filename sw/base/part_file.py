"""A file that appears under its name once it is whole."""

import os
import secrets
from pathlib import Path
from typing import Self

from framelane.base.errors import InputError


class PartFile:
    """A new, empty file at `path`, hidden beside `target`, until `keep` gives it that name or `discard` removes it.

    `with PartFile(target) as part` keeps it where the block ends, and discards it where it raises. Its name is its own:
    of runs with the same target none sees another's, and the last to keep wins. Where `target` is a symbolic link, the
    link stays and its file is replaced. `mode` is its permissions, less those of the umask. InputError where `target`
    is no regular file, or its folder cannot be written.
    """

    def __init__(self, target: Path, mode: int = 0o666) -> None:
        self._target = Path(os.path.realpath(target))
        self.path = self._target.with_name(f".part-{secrets.token_hex(8)}") if self._target.name else self._target
        try:
            if self._target.exists() and not self._target.is_file():
                raise InputError(f"cannot write {target}: it is a folder or a device: give the name of a file")
            self.path.touch(mode, exist_ok=False)
        except OSError as error:
            raise InputError(
                f"cannot write {target}: {error.strerror}: give a file in a folder that exists and may be written"
            ) from error

    def keep(self) -> None:
        """Give the file the target's name; an older file of that name is gone."""
        self.path.replace(self._target)

    def discard(self) -> None:
        """Remove the file, unless it was kept."""
        self.path.unlink(missing_ok=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, *error: object) -> None:
        try:
            if kind is None:
                self.keep()
        finally:
            self.discard()
