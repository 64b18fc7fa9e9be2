"""A source's session and its credit: from a file, which says both once, or from the receiver's link."""

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Protocol

from framelane.base.errors import OptionError, TransportError
from framelane.base.validation import shown
from framelane.session.session import Session
from framelane.session.session_client import SessionClient
from framelane.session.session_link import PORT

_PORT_DIGITS = 5


class Credit(Protocol):
    """Frame n may be sent only if n < `window_end`."""

    session: Session
    grows: bool
    """Whether the credit may still grow."""

    @property
    def window_end(self) -> int:
        """The newest credit."""

    @property
    def closed(self) -> bool:
        """The receiver has gone."""

    def report(self, offered: int, dropped: int, ended: bool = False) -> None:
        """Say what the source has done since frame 0; see `session_link.Report`."""


class FileCredit:
    """What a file says; nobody hears a report."""

    grows = closed = False

    def __init__(self, path: Path) -> None:
        self.session = Session.load(path)
        self.window_end = self.session.window_end

    def report(self, offered: int, dropped: int, ended: bool = False) -> None:
        """See `Credit`."""


class LinkCredit:
    """What the receiver says, to source number `source`."""

    grows = True

    def __init__(self, client: SessionClient, source: int) -> None:
        self.session = client.session
        self._client, self._source = client, source
        self._gone = False

    @property
    def window_end(self) -> int:
        """See `Credit`."""
        return self._client.window_end

    @property
    def closed(self) -> bool:
        """See `Credit`."""
        return self._gone or self._client.closed

    def report(self, offered: int, dropped: int, ended: bool = False) -> None:
        """See `Credit`. Where the receiver has gone, `closed` says it."""
        try:
            self._client.report(self._source, offered, dropped, ended)
        except TransportError:
            self._gone = True


@contextlib.contextmanager
def open_credit(path: Path | None, to: str | None, source: int, token_file: Path | None = None) -> Iterator[Credit]:
    """From the file `path`, or from the receiver `to` (HOST or HOST:PORT), whose token is in `token_file`, if given.

    TransportError if that does not answer, InputError where its token is not here.
    """
    if path is not None:
        yield FileCredit(path)
        return
    host, port = address(to or "")
    with SessionClient(host, port, source, token_file=token_file) as client:
        yield LinkCredit(client, source)


def address(text: str) -> tuple[str, int]:
    """HOST or HOST:PORT; without a port that of the session's link. ConfigError for anything else."""
    host, colon, port = text.partition(":")
    number = int(port) if port.isascii() and port.isdecimal() and len(port) <= _PORT_DIGITS else 0
    if not host or (colon and not 0 < number < 1 << 16):
        raise OptionError(
            "{to} {0} is not a receiver: give HOST or HOST:PORT, as `framelane recv` prints it", shown(text)
        )
    return host, number if colon else PORT
