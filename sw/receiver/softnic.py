"""A NIC in software: a transport that takes packets from a port and places them by a `Responder`."""

import collections
from collections.abc import Iterator
from dataclasses import replace
from typing import Protocol, Self

import numpy as np
from numpy.typing import NDArray

from framelane.models.session import Session
from framelane.receiver.responder import Responder
from framelane.receiver.transport import Completion, Counters


class Port(Protocol):
    """Where packets come from. It is open once it is made."""

    @property
    def ended(self) -> bool:
        """No more can come: the end of a capture."""

    @property
    def queue_drops(self) -> int:
        """Packets lost because they were not fetched in time."""

    def frames(self, timeout_s: float) -> Iterator[bytes]:
        """The packets that are there, as Ethernet frames without FCS, waiting at most `timeout_s` for the first."""

    def close(self) -> None:
        """Free the socket or the file. May be called twice."""


class SoftNic:
    """The transport of `session` on `port`: RoCEv2 UC without RDMA hardware, every refused packet counted."""

    def __init__(self, port: Port, memory: NDArray[np.uint8], session: Session) -> None:
        self._port = port
        self._responder = Responder(memory, session)

    @property
    def ended(self) -> bool:
        """See `Transport`."""
        return self._port.ended

    @property
    def counters(self) -> Counters:
        """See `Transport`."""
        now = self._responder.counters
        return replace(
            now,
            queue_drops=self._port.queue_drops,
            refused=collections.Counter(now.refused),
            examples=dict(now.examples),
        )

    def poll(self, timeout_s: float) -> list[Completion]:
        """See `Transport`."""
        for frame in self._port.frames(timeout_s):
            completion = self._responder.receive(frame)
            if completion:
                return [completion]
        return []

    def close(self) -> None:
        """See `Transport`."""
        self._port.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()
