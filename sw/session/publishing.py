"""A session in a file, which belongs to one receiver as long as that runs."""

import contextlib
import errno
import fcntl
import os
from collections.abc import Iterator
from pathlib import Path
from time import monotonic, sleep

from framelane.base.errors import OptionError, TransportError
from framelane.session.link_key import LinkKey, state_folder
from framelane.session.session import Session

_PATIENCE_S = 5.0


@contextlib.contextmanager
def published(session: Session, path: Path | None, key: LinkKey, *, force: bool = False) -> Iterator[None]:
    """Write the session to `path`, if given, with the key of its link; within the block no other receiver does so.

    The file stays. An older session there is replaced, with `force` a file of another kind, too, else InputError.

    ConfigError where another one has that file: its sources would be told a session that is not theirs. On a file
    system without locks (flock(2)) nobody is kept from it.
    """
    with contextlib.ExitStack() as held:
        if path is not None:
            with _alone(), contextlib.ExitStack() as asked:  # from the question to the answer
                if path.is_file() and not _lock(path, asked):
                    raise OptionError(
                        "another receiver has published its session in {0} and still runs: give another file with "
                        "{publish}, or end that one",
                        path,
                    )
                session.save(path, key.document(), force=force)
                _lock(path, held)
        yield


@contextlib.contextmanager
def _alone() -> Iterator[None]:
    """Within the block no other receiver of this user is publishing; TransportError where one does so for long.

    The lock's file is this user's alone. A lock of the session's folder would be anybody's who can read that.
    """
    path = state_folder() / "publishing.lock"
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with contextlib.ExitStack() as held:
        end = monotonic() + _PATIENCE_S
        while not _lock(path, held, os.O_RDWR | os.O_CREAT):
            if monotonic() > end:
                raise TransportError(
                    f"another receiver has been publishing its session for {_PATIENCE_S:g} s: see who holds {path} "
                    "with `lslocks`, and end it"
                )
            held.close()
            sleep(0.02)
        yield


def _lock(path: Path, held: contextlib.ExitStack, flags: int = os.O_RDONLY) -> bool:
    """Lock it until `held` ends; False where somebody else has the lock."""
    try:
        file = os.open(path, flags | os.O_CLOEXEC, 0o600)
    except OSError:
        return True  # it is not there, or is nobody's business: writing it says so
    held.callback(os.close, file)
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        return error.errno != errno.EWOULDBLOCK
    return True
