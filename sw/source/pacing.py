"""An absolute schedule: what is late does not move what comes after it."""

import time
from collections.abc import Callable

from framelane.base.stopping import Stop

_NAP_S = 0.05
"""Longest time in which a signal is not looked for."""


class Pace:
    """Item n is due `due_s(n)` seconds after the first call of `wait`."""

    def __init__(self, due_s: Callable[[int], float]) -> None:
        self._due_s = due_s
        self._start: float | None = None
        self.late_s = 0.0
        """How late the last item was that `wait` has returned for."""
        self.worst_s = 0.0
        """The same of the latest of all."""

    @property
    def elapsed_s(self) -> float:
        """Since the start."""
        return 0.0 if self._start is None else time.monotonic() - self._start

    def wait(self, item: int, stop: Stop, idle: Callable[[], None] = lambda: None) -> bool:
        """Wait until `item` is due, calling `idle` now and then; False where a signal came before."""
        if self._start is None:
            self._start = time.monotonic()
        while not stop.wanted:
            left = self._start + self._due_s(item) - time.monotonic()
            if left <= 0:
                self.late_s = -left
                self.worst_s = max(self.worst_s, self.late_s)
                return True
            idle()
            time.sleep(min(left, _NAP_S))
        return False


def at_rate(per_s: float) -> Pace:
    """So many items a second, evenly."""
    return Pace(lambda item: item / per_s)


def at_once() -> Pace:
    """All items are due."""
    return Pace(lambda item: 0.0)
