"""A port of a soft NIC whose packets wait in a list."""

from collections import deque
from collections.abc import Iterator


class Cable:
    """What the tests put into `waiting` arrives in that order."""

    ended = False
    queue_drops = 0

    def __init__(self) -> None:
        self.waiting: deque[bytes] = deque()

    def frames(self, timeout_s: float) -> Iterator[bytes]:
        """See `Port`."""
        while self.waiting:
            yield self.waiting.popleft()

    def close(self) -> None:
        """See `Port`."""
        self.waiting.clear()
