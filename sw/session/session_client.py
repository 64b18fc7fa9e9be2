"""A source's end of the session link: it hears the receiver's session and its credit, and says what it has offered."""

import contextlib
import os
import socket
import threading
from typing import Self

from framelane.base.errors import InputError, TransportError
from framelane.session.session import Session
from framelane.session.session_link import MAX_LINE, PORT, WATCHED, Credit, Greeting, Report

_PATIENCE_S = 5.0


class SessionClient:
    """Connects to the receiver at TCP `host` and `port`, and waits for its session.

    TransportError where nobody answers, or something else than a receiver does.
    """

    def __init__(self, host: str, port: int = PORT) -> None:
        self._where = f"{host}:{port}"
        try:
            self._socket = socket.create_connection((host, port), _PATIENCE_S)
        except OSError as error:
            reason = error.strerror or str(error)
            raise TransportError(
                f"no receiver at TCP {self._where}: {reason}: start `framelane recv --plan` there first, or give the "
                "port that it prints"
            ) from error
        self._file = self._socket.makefile("rb")
        try:
            self.session: Session = Greeting.unpack(self._line()).session
            self._credit = Credit.unpack(self._line()).window_end
        except (InputError, OSError) as error:
            self._file.close()
            self._socket.close()
            raise TransportError(f"TCP {self._where} is no receiver of framelane: {error}") from error
        self._socket.settimeout(None)
        for option in WATCHED:
            self._socket.setsockopt(*option)
        self._closed = threading.Event()
        self._thread = threading.Thread(target=self._listen, name="session client", daemon=True)
        self._thread.start()

    @property
    def window_end(self) -> int:
        """The newest credit: send frame n only if n < `window_end`."""
        return self._credit

    @property
    def closed(self) -> bool:
        """The receiver has gone, or its machine is silent for `NOTICED_S`: the credit grows no more."""
        return self._closed.is_set()

    def wait_closed(self, timeout_s: float) -> bool:
        """Wait at most so many seconds for the receiver to go; whether it has."""
        return self._closed.wait(timeout_s)

    def report(self, source: int, offered: int, dropped: int, ended: bool = False) -> None:
        """Say what this source has done since frame 0. TransportError where the receiver has gone."""
        try:
            self._socket.sendall(Report(source=source, offered=offered, dropped=dropped, ended=ended).pack())
        except OSError as error:
            reason = os.strerror(error.errno or 0)
            raise TransportError(
                f"the receiver at TCP {self._where} has closed the session's link: {reason}"
            ) from error

    def close(self) -> None:
        """Let go of the receiver. May be called twice."""
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._thread.join(_PATIENCE_S)
        self._socket.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def _line(self) -> bytes:
        line = self._file.readline(MAX_LINE)
        if not line.endswith(b"\n"):
            raise InputError("the connection ended before a line did")
        return line

    def _listen(self) -> None:
        """Take the credit until the receiver goes, or says what it may not."""
        with self._file, contextlib.suppress(InputError, OSError):
            while True:
                self._credit = max(self._credit, Credit.unpack(self._line()).window_end)
        self._closed.set()
