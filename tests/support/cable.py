"""A port of a soft NIC whose packets wait in a list."""

from collections import deque

from framelane.models.roce_tx.packet_batch import Batch


class Cable:
    """What the tests put into `waiting` arrives in that order, one by one."""

    ended = False
    queue_drops = 0

    def __init__(self) -> None:
        self.waiting: deque[bytes] = deque()

    def batch(self, timeout_s: float) -> Batch:
        """See `Port`."""
        return Batch.of([self.waiting.popleft()] if self.waiting else [])

    def close(self) -> None:
        """See `Port`."""
        self.waiting.clear()
