"""Results appear all at once, or not at all."""

import shutil
import tempfile
from pathlib import Path

from framelane.models.errors import InputError


class OutputFolder:
    """A folder for results: `with OutputFolder(path) as work` gives a hidden folder in it to write to.

    When the block ends, each file moves to `path`, over an older one of its name; when it raises, nothing of it stays.
    InputError where `path` cannot be written.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._made = not path.exists()

    def __enter__(self) -> Path:
        try:
            self._path.mkdir(parents=True, exist_ok=True)
            self._work = Path(tempfile.mkdtemp(prefix=".part-", dir=self._path))
        except OSError as error:
            raise InputError(
                f"cannot write to the folder {self._path}: {error.strerror}: give another with --output"
            ) from error
        return self._work

    def __exit__(self, kind: object, *error: object) -> None:
        if kind is None:
            for file in self._work.iterdir():
                file.replace(self._path / file.name)
        shutil.rmtree(self._work)
        if kind is not None and self._made:
            self._path.rmdir()
