"""Locks of files: of several processes of a user one does something at a time."""

import contextlib
import errno
import fcntl
import os
from collections.abc import Iterator
from pathlib import Path
from time import monotonic, sleep

from framelane.base.errors import TransportError
from framelane.session.link_key import state_folder

PATIENCE_S = 5.0


@contextlib.contextmanager
def alone(name: str, who: str) -> Iterator[None]:
    """Within the block no other process of this user is in one of that `name`; TransportError where one is for long.

    `who` has been doing what, for the sentence. The lock's file is this user's alone: a lock of the folder in which
    something is made would be anybody's who can read that.
    """
    path = state_folder() / f"{name}.lock"
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise _no_lock(path, error) from error
    with contextlib.ExitStack() as held:
        end = monotonic() + PATIENCE_S
        while not lock(path, held, os.O_RDWR | os.O_CREAT):
            if monotonic() > end:
                raise TransportError(f"{who} for {PATIENCE_S:g} s: see who holds {path} with `lslocks`, and end it")
            held.close()
            sleep(0.02)
        yield


def lock(path: Path, held: contextlib.ExitStack, flags: int = os.O_RDONLY) -> bool:
    """Lock it until `held` ends; False where somebody else has the lock.

    With O_CREAT, TransportError where it cannot be made.
    """
    try:
        file = os.open(path, flags | os.O_CLOEXEC, 0o600)
    except OSError as error:
        if flags & os.O_CREAT:
            raise _no_lock(path, error) from error
        return True  # it is not there, or is nobody's business: writing it says so
    held.callback(os.close, file)
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        return error.errno != errno.EWOULDBLOCK
    return True


def _no_lock(path: Path, error: OSError) -> TransportError:
    return TransportError(
        f"cannot lock {path}: {os.strerror(error.errno or 0)}: remove it where another user has left it, or set "
        "XDG_STATE_HOME to a folder of your own"
    )
