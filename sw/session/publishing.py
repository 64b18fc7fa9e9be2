"""A session in a file, which belongs to one receiver as long as that runs."""

import contextlib
import errno
import fcntl
import os
from collections.abc import Iterator
from pathlib import Path

from framelane.base.errors import OptionError
from framelane.session.link_key import LinkKey
from framelane.session.session import Session


@contextlib.contextmanager
def published(session: Session, path: Path | None, key: LinkKey, *, force: bool = False) -> Iterator[None]:
    """Write the session to `path`, if given, with the key of its link; within the block no other receiver does so.

    The file stays. An older session there is replaced, with `force` a file of another kind, too, else InputError.

    ConfigError where another one has that file: its sources would be told a session that is not theirs. On a file
    system without locks (flock(2)) nobody is kept from it.
    """
    with contextlib.ExitStack() as held:
        if path is not None:
            with contextlib.ExitStack() as folder:
                _lock(path.parent, folder, wait=True)  # from the question to the answer
                if path.is_file() and not _lock(path, folder):
                    raise OptionError(
                        "another receiver has published its session in {0} and still runs: give another file with "
                        "{publish}, or end that one",
                        path,
                    )
                session.save(path, key.document(), force=force)
                _lock(path, held)
        yield


def _lock(path: Path, held: contextlib.ExitStack, wait: bool = False) -> bool:
    """Lock it until `held` ends; False where somebody else has the lock."""
    try:
        file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return True  # it is not there, or is nobody's business: writing it says so
    held.callback(os.close, file)
    try:
        fcntl.flock(file, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except OSError as error:
        return error.errno != errno.EWOULDBLOCK
    return True
