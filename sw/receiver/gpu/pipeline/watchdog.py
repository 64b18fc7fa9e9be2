"""What keeps work that waits on a GPU from waiting for ever."""

import threading
import time
from collections.abc import Callable

QUIET_S = 1.0
"""After so many seconds without a sign of life the thread that owns the pipeline is taken to be stuck."""


class Watchdog:
    """Calls `release`, in a thread of its own, whenever `alive` has not been called for `QUIET_S`.

    A program that waits for the whole GPU, such as to load a kernel or to free memory, waits for what waits there too:
    nobody else could ever release it.
    """

    def __init__(self, release: Callable[[], None]) -> None:
        self._release = release
        self._seen = time.monotonic()
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._run, name="gpu watchdog", daemon=True)
        self._thread.start()

    def alive(self) -> None:
        """Give a sign of life."""
        self._seen = time.monotonic()

    def close(self) -> None:
        """Stop watching."""
        self._closing.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._closing.wait(QUIET_S / 4):
            if time.monotonic() - self._seen > QUIET_S:
                self._release()
