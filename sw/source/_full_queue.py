"""The wait for room in the queue of a socket, or of the interface behind it."""

import errno
import math
import select
import socket
import time
from collections.abc import Callable

FULL = (errno.EAGAIN, errno.ENOBUFS)
"""The queue of the socket, or of the interface, is full."""
PATIENCE_S = 5.0
"""Longest time without a packet."""
GRACE_S = 1.0
"""Longest time from the wish to stop on: a link that is only slow still takes the rest of a frame."""
_STEP_MS = 50
"""Longest time in which the wish to stop is not looked for."""
_NAP_S = 100e-6
"""Room in the queue of an interface wakes nobody."""


class FullQueue:
    """The waits of one batch for the non-blocking `sock`, at every step of which `stopped` is asked."""

    def __init__(self, sock: socket.socket, stopped: Callable[[], bool]) -> None:
        self._socket = sock
        self._stopped = stopped
        self._deadline = self._last = math.inf

    @property
    def stopped(self) -> bool:
        """Whether a wait has seen the wish to stop."""
        return self._last < math.inf

    def taken(self) -> None:
        """Some packets have left: the patience begins anew."""
        self._deadline = math.inf

    def wait(self, code: int) -> bool:
        """Wait until there may be room, but not for long, after error `code` of `FULL`; False: that was enough."""
        now = time.monotonic()
        self._deadline = min(self._deadline, now + PATIENCE_S)
        if self._stopped():
            self._last = min(self._last, now + GRACE_S)
        if now >= min(self._deadline, self._last):
            return False
        if code == errno.EAGAIN:
            poll = select.poll()
            poll.register(self._socket, select.POLLOUT)
            poll.poll(_STEP_MS)
        else:
            time.sleep(_NAP_S)
        return True
