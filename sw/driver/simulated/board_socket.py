"""The local socket on which a board is served: this user's alone, and one board's."""

import contextlib
import os
import socket
import stat
from collections.abc import Iterator
from pathlib import Path

from framelane.base.errors import InputError, InputOptionError, OptionError
from framelane.driver.registers.socket_registers import MOST_PATH_BYTES
from framelane.session.alone import alone

_BACKLOG = 8
_PROBE_S = 1.0
_WHO = "another process has been opening the socket of its board"


@contextlib.contextmanager
def listening(path: Path) -> Iterator[socket.socket]:
    """Listen on the socket `path`, of mode 0600, which is removed at the end.

    One that a killed process has left is replaced. OptionError where a board is served there, InputError where
    something else has that name, or no socket can be made.
    """
    if len(os.fsencode(path)) > MOST_PATH_BYTES or "\0" in str(path):
        raise InputOptionError(
            "{0!r} can be no socket, whose name has {1} bytes at most: give a shorter one with {socket}",
            str(path),
            MOST_PATH_BYTES,
        )
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_CLOEXEC) as listener:
        with alone("serving", _WHO):
            _make_way(path)
            mask = os.umask(0o177)
            try:
                listener.bind(os.fspath(path))
            except OSError as error:
                raise InputError(f"cannot make the socket {path}: {error.strerror}") from error
            finally:
                os.umask(mask)
            listener.listen(_BACKLOG)
            listener.setblocking(False)
            ours = _inode(path)
        try:
            yield listener
        finally:
            if _inode(path) == ours:
                with contextlib.suppress(OSError):
                    path.unlink()


def _make_way(path: Path) -> None:
    """Remove a socket that nobody listens on any more."""
    try:
        there = path.lstat()
    except OSError:
        return  # binding says what is wrong
    if not stat.S_ISSOCK(there.st_mode):
        raise InputOptionError("{0} is there, and is not a socket: give another name with {socket}", path)
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        probe.settimeout(_PROBE_S)
        try:
            probe.connect(os.fspath(path))
        except ConnectionRefusedError:
            path.unlink(missing_ok=True)
            return
        except PermissionError as error:
            raise InputOptionError("{0} is another user's: give another name with {socket}", path) from error
        except OSError:
            pass  # it is too busy to answer
    raise OptionError("a board is served at {0}: use it, end it, or give another name with {socket}", path)


def _inode(path: Path) -> tuple[int, int] | None:
    try:
        status = path.lstat()
    except OSError:
        return None
    return status.st_dev, status.st_ino
