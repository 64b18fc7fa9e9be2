"""Results appear all at once, or not at all, and never over something that is not an older result."""

import contextlib
import errno
import shutil
import tempfile
from collections.abc import Iterable
from pathlib import Path

from framelane.base.claim import Claim, Kind
from framelane.base.errors import InputOptionError

_ADVICE = {
    errno.ENOSPC: "make room there, or give another {output}",
    errno.EDQUOT: "your quota is used up, give another {output}",
    errno.EFBIG: "files may not grow so large there (`ulimit -f`), give another {output}",
}


def check_no_input(output: Path, inputs: Iterable[Path], option: str = "output") -> None:
    """Raise InputError where the file `output`, which `option` has named, is one of `inputs`, by whatever name."""
    for each in inputs:
        if output.exists() and each.exists() and each.samefile(output):
            raise InputOptionError(f"cannot write {{0}}: it is an input of this run: give another {{{option}}}", output)


def check_free(output: Path, *, force: bool = False) -> None:
    """Raise InputError where the file `output` is there and `force` does not let it be replaced, or a run writes it."""
    Claim(output, force=force).release()


class OutputFolder:
    """A folder for the files `names`: `with OutputFolder(...) as work` gives a hidden folder in it to write them to.

    When the block ends, each file moves to `path`; when it raises, nothing of it stays. Older files of these names are
    replaced with `force`, or where the one named by `older` is of its kind: then they are results of an older run.
    InputError where `path` cannot be written, or a file would not replace an older result but one of `inputs`, or
    something else than a file.
    """

    def __init__(
        self,
        path: Path,
        names: Iterable[str],
        inputs: Iterable[Path] = (),
        *,
        older: tuple[str, Kind] | None = None,
        force: bool = False,
    ) -> None:
        self._path, self._older, self._force = path, older, force
        self._targets = [path / name for name in names]
        self._inputs = list(inputs)
        self._made = [folder for folder in (path, *path.parents) if not folder.exists()]

    def __enter__(self) -> Path:
        self._check()
        try:
            self._path.mkdir(parents=True, exist_ok=True)
            self._work = Path(tempfile.mkdtemp(prefix=".part-", dir=self._path))
        except OSError as error:
            self._unmake()
            raise self._failure(error) from error
        return self._work

    def __exit__(self, kind: object, error: BaseException | None, *trace: object) -> None:
        try:
            if kind is None:
                self._check()
                for target in self._targets:
                    (self._work / target.name).replace(target)
                self._made = []
        except OSError as failed:
            raise self._failure(failed) from failed
        finally:
            shutil.rmtree(self._work, ignore_errors=True)
            self._unmake()
        if isinstance(error, OSError) and error.errno in _ADVICE:
            raise self._failure(error) from error

    def _unmake(self) -> None:
        with contextlib.suppress(OSError):  # it was never made, or another run's results are in it
            for folder in self._made:
                folder.rmdir()

    def _check(self) -> None:
        for target in self._targets:
            if target.is_symlink() or (target.exists() and not target.is_file()):
                raise InputOptionError(
                    "cannot write {0}: it is a folder, a link or a device: give another {output}", target
                )
            check_no_input(target, self._inputs)
        there = [target for target in self._targets if target.exists() and target.stat().st_size]
        if there and not self._force and not self._of_older_run():
            raise InputOptionError(
                "cannot write {0}: there is a file of this name, of no older run: give another {output}, or {force} to "
                "replace it",
                there[0],
            )

    def _of_older_run(self) -> bool:
        if self._older is None:
            return False
        name, kind = self._older
        return (self._path / name).is_file() and kind.holds(self._path / name)

    def _failure(self, error: OSError) -> InputOptionError:
        advice = _ADVICE.get(error.errno or 0, "give another {output}")
        return InputOptionError("cannot write to the folder {0}: {1}: " + advice, self._path, error.strerror)
