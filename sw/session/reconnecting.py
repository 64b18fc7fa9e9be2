"""Connecting to a receiver that has gone, as soon as it is there again."""

import threading
from collections.abc import Callable

from framelane.base.errors import FramelaneError
from framelane.session.session_client import SessionClient

RETRY_S = 0.5
"""Seconds between two attempts; one may take as long as `SessionClient` is patient."""


class Reconnecting:
    """Tries `connect` in a thread of its own, so that nobody else waits for a machine that is away."""

    def __init__(self, connect: Callable[[], SessionClient]) -> None:
        self._connect = connect
        self._client: SessionClient | None = None
        self._lock = threading.Lock()
        self._stop = threading.Event()
        threading.Thread(target=self._try, name="reconnecting", daemon=True).start()

    def take(self) -> SessionClient | None:
        """The connection, for the caller to close; None while there is none."""
        with self._lock:
            client, self._client = self._client, None
            return client

    def close(self) -> None:
        """Try no more."""
        self._stop.set()
        if client := self.take():
            client.close()

    def _try(self) -> None:
        while not self._stop.wait(RETRY_S):
            try:
                client = self._connect()
            except FramelaneError:  # it may have no new token yet
                continue
            with self._lock:
                self._client = client
            if self._stop.is_set():
                self.close()
            return
