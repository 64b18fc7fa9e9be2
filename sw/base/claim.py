"""The right to write a file: no older file is replaced in silence, and no two runs write to one name."""

import contextlib
import errno
import fcntl
import json
import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from framelane.base.errors import InputError, InputOptionError

_MOST_JSON = 1 << 26
"""Bytes of a report, at most."""
_PATIENCE_S = 0.3
"""So long a lock is waited for: others may only be asking whether the file is free."""
_NO_LOCKS = errno.ENOTSUP, errno.ENOSYS, errno.ENOLCK, errno.EBADF, errno.EINVAL


@dataclass(frozen=True, slots=True)
class Kind:
    """What a file is: its `name` ("an HDF5 file"), and how it is known."""

    name: str
    holds: Callable[[Path], bool]


def json_with(name: str, *keys: str, **values: str) -> Kind:
    """A JSON object that has all of these keys, and these values."""

    def holds(path: Path) -> bool:
        try:
            found = json.loads(path.read_bytes()) if path.stat().st_size <= _MOST_JSON else None
        except (OSError, ValueError, RecursionError):
            return False
        return isinstance(found, dict) and found.keys() >= set(keys) and found.items() >= values.items()

    return Kind(name, holds)


class Claim:
    """The right of one run to write the file `target`, until `release`, or until its process ends.

    InputError if `target` is not a regular file, its folder cannot be written, another run is writing it, or an older
    file is there. That may be replaced with `force`; with `renews` also where it is of `kind`. One that is empty counts
    as none. The lock is flock(2) of a hidden file beside it, which goes with the claim; a process that was killed may
    leave it, and holds nothing by that. Where `target` is a symbolic link, its file is meant. On a file system without
    locks nobody is kept from writing at the same time.
    """

    def __init__(self, target: Path, *, force: bool = False, kind: Kind | None = None, renews: bool = False) -> None:
        self.path = target
        self.target = Path(os.path.realpath(target))
        self._force, self._kind, self._renews = force, kind, renews
        self._name = self.target.with_name(f".{self.target.name}.lock") if self.target.name else self.target
        self._lock: int | None = None
        try:
            self.check()
            self._lock = self._locked()
            self.check()
        except OSError as error:
            self.release()
            raise InputError(
                f"cannot write {target}: {error.strerror}: give a file in a folder that exists and may be written"
            ) from error
        except BaseException:
            self.release()
            raise

    def check(self) -> None:
        """InputError where there is a file that may not be replaced."""
        if not self.target.exists():
            return
        if not self.target.is_file():
            raise InputError(f"cannot write {self.path}: it is a folder or a device: give the name of a file")
        if self._force or not self.target.stat().st_size:
            return
        of_kind = self._kind is None or self._kind.holds(self.target)
        if of_kind and self._renews:
            return
        other = "" if of_kind or self._kind is None else f" that is not {self._kind.name}"
        raise InputOptionError(
            "cannot write {0}: there is a file of this name{1}: give another, or {force} to replace it",
            *(self.path, other),
        )

    def taken(self) -> None:
        """What is there now is this run's own: it may be replaced."""
        self._force = True

    def release(self) -> None:
        """Let others write it."""
        if self._lock is not None:
            with contextlib.suppress(OSError):
                self._name.unlink()
            os.close(self._lock)
            self._lock = None

    def _locked(self) -> int | None:
        """The open lock; None on a file system that has none."""
        end = time.monotonic() + _PATIENCE_S
        while True:
            lock = _open(self._name)
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                if os.path.samestat(os.fstat(lock), self._name.stat()) or time.monotonic() > end:
                    return lock
            except FileNotFoundError:  # who held it has just ended
                pass
            except OSError as error:
                os.close(lock)
                if error.errno == errno.EWOULDBLOCK:
                    if time.monotonic() < end:
                        time.sleep(0.01)
                        continue
                    raise InputError(f"cannot write {self.path}: another run is writing it: give another") from error
                if error.errno not in _NO_LOCKS:
                    raise
                with contextlib.suppress(OSError):
                    self._name.unlink()
                return None
            os.close(lock)


def is_claimed(target: Path) -> bool:
    """Whether a run of this machine is writing the file."""
    target = Path(os.path.realpath(target))
    try:
        lock = os.open(target.with_name(f".{target.name}.lock"), os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError as error:
        return error.errno == errno.EWOULDBLOCK
    finally:
        os.close(lock)
    return False


def _open(path: Path) -> int:
    try:
        return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
    except PermissionError as error:
        try:
            return os.open(path, os.O_RDONLY | os.O_CLOEXEC)  # another user's, who was killed
        except FileNotFoundError:
            raise error from None
