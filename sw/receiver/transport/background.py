"""A transport that goes on placing while frames are read and written: in a thread of its own."""

import collections
import threading
from collections.abc import Callable
from typing import Self

from framelane.receiver.transport.transport import Completion, Counters, Transport

POLL_S = 0.05
"""How long a poll waits, in seconds."""


class Background:
    """`transport`, polled by a thread from now on: as with a NIC, packets are placed whatever the caller does.

    The ring alone keeps a slot from being written while its frame is read: by its credit, or in free-running mode
    by noticing it. `arrived` counts packets where the transport does not. What ends the thread (TransportError, say)
    is raised by `poll`. Closing it closes `transport`.
    """

    def __init__(self, transport: Transport, arrived: Callable[[], int] | None = None) -> None:
        self._transport = transport
        self._arrived = arrived or (lambda: transport.counters.packets)
        self.refuses_late = transport.refuses_late
        self._completions: collections.deque[Completion] = collections.deque()
        self._came = threading.Event()
        self._closing = False
        self.polls = 0
        """How many polls have ended."""
        self.fruitless = 0
        """How many of the last ones in a row have found nothing: each waited `POLL_S`, and left the queue empty."""
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._run, name="transport", daemon=True)
        self._thread.start()

    @property
    def ended(self) -> bool:
        """See `Transport`."""
        return not self._thread.is_alive() and not self._completions and self._error is None

    @property
    def counters(self) -> Counters:
        """See `Transport`. The numbers may be of two moments of one packet."""
        return self._transport.counters

    def poll(self, timeout_s: float) -> list[Completion]:
        """See `Transport`."""
        if self._error is None:
            self._came.wait(timeout_s)
        self._came.clear()
        completions = [self._completions.popleft() for _ in range(len(self._completions))]
        if self._error is not None and not completions:
            raise self._error
        return completions

    def halt(self) -> None:
        """Place nothing more; `poll` still gives what was placed before. May be called twice.

        An RDMA device goes on by itself until `close`.
        """
        self._closing = True
        self._thread.join()

    def close(self) -> None:
        """See `Transport`."""
        self.halt()
        self._transport.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def _run(self) -> None:
        try:
            packets = 0
            while not (self._closing or self._transport.ended):
                completions = self._transport.poll(POLL_S)
                if completions:
                    self._completions.extend(completions)
                    self._came.set()
                if completions or packets != (packets := self._arrived()):
                    self.fruitless = 0
                else:
                    self.fruitless += 1
                self.polls += 1
            if self._closing:  # a device may have placed a trailer since the last look
                self._completions.extend(self._transport.poll(0))
        except BaseException as error:
            self._error = error
        self._came.set()
