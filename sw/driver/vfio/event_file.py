"""Interrupts as an event file (eventfd(2)), which the kernel counts up."""

import contextlib
import os
import select


class EventFile:
    """A count of events, open until `close`."""

    def __init__(self) -> None:
        self.descriptor = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)

    def wait(self, timeout_s: float) -> bool:
        """Whether one has come since the last call, within that time."""
        if not select.select([self.descriptor], [], [], max(0.0, timeout_s))[0]:
            return False
        with contextlib.suppress(BlockingIOError):
            return os.eventfd_read(self.descriptor) > 0
        return False

    def close(self) -> None:
        """Let go of it. May be called twice."""
        if self.descriptor >= 0:
            os.close(self.descriptor)
            self.descriptor = -1
