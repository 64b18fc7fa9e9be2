"""A pedestal that is renewed while others correct with it: they see the old one or the new one, never half of each."""

import contextlib
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(eq=False, slots=True)
class _Buffer:
    plane: NDArray[np.uint16]
    users: int = 0


class LivePedestal:
    """Plane 0 of `FixedCalibration.pedestal`, copied at the start; for any number of threads.

    There are as many buffers as are in use at a time, and one more: two where one thread corrects. No one waits.
    """

    def __init__(self, plane: NDArray[np.uint16]) -> None:
        self._lock = threading.Lock()
        self._current = _Buffer(plane.copy())
        self._buffers = [self._current]
        self.updates = 0
        """Pedestals published so far."""

    @contextlib.contextmanager
    def use(self) -> Iterator[NDArray[np.uint16]]:
        """The newest pedestal, uint16 (rows, columns) in quarters of an ADU; it stays as it is within the block."""
        with self._lock:
            buffer = self._current
            buffer.users += 1
        try:
            yield buffer.plane
        finally:
            with self._lock:
                buffer.users -= 1

    def publish(self, write: Callable[[NDArray[np.uint16]], None]) -> None:
        """Renew the pedestal: `write` fills all of the array that it is given. From one thread at a time."""
        with self._lock:
            free = [buffer for buffer in self._buffers if buffer is not self._current and not buffer.users]
        if not free:
            free = [_Buffer(np.empty_like(self._current.plane))]
            self._buffers.append(free[0])
        write(free[0].plane)
        with self._lock:
            self._current = free[0]
            self.updates += 1
