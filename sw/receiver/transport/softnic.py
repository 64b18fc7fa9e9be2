"""A NIC in software: a transport that takes packets from a port and places them by a responder."""

import collections
from dataclasses import replace
from typing import Protocol, Self

import numpy as np
from numpy.typing import NDArray

from framelane.models.roce_tx.packet_batch import EMPTY, Batch
from framelane.receiver.transport import sockets
from framelane.receiver.transport.fast_responder import FastResponder
from framelane.receiver.transport.responder import QpState
from framelane.receiver.transport.transport import Completion, Counters
from framelane.session.session import Session


class Port(Protocol):
    """Where packets come from. It is open once it is made."""

    @property
    def ended(self) -> bool:
        """No more batches can come: the end of a capture."""

    @property
    def queue_drops(self) -> int:
        """Packets lost because they were not fetched in time."""

    def batch(self, timeout_s: float) -> Batch:
        """The next packets that are there, waiting at most `timeout_s` for the first; the batch before is void."""

    def close(self) -> None:
        """Free the socket or the file. May be called twice."""


class SoftNic:
    """The transport of `session` on `port`: RoCEv2 UC without RDMA hardware, every refused packet counted.

    ConfigError for a session of RC.
    """

    refuses_late = True

    def __init__(self, port: Port, memory: NDArray[np.uint8], session: Session) -> None:
        self._port = port
        self._responder = FastResponder(memory, session)
        self._batch, self._next = EMPTY, 0
        """What the port has delivered last, and the first packet of it that is not taken yet."""
        self._drops: int | None = None
        """The port's, once it is closed."""

    @property
    def ended(self) -> bool:
        """See `Transport`."""
        return self._port.ended and self._next == len(self._batch)

    @property
    def counters(self) -> Counters:
        """See `Transport`."""
        now = self._responder.counters
        return replace(
            now,
            queue_drops=self._port.queue_drops if self._drops is None else self._drops,
            refused=collections.Counter(now.refused),
            examples=dict(now.examples),
        )

    @property
    def qp(self) -> QpState:
        """What the QP remembers: the same as a `Responder` that got these packets."""
        return self._responder.state

    def poll(self, timeout_s: float) -> list[Completion]:
        """See `Transport`."""
        taken = 0
        while taken < sockets.BATCH:
            if self._next == len(self._batch):
                self._batch, self._next = self._port.batch(0 if taken else timeout_s), 0
                if not self._batch:
                    break
            first = self._next
            self._next, completion = self._responder.receive(self._batch, first)
            taken += self._next - first
            if completion:
                return [completion]
        return []

    def close(self) -> None:
        """See `Transport`."""
        self._batch, self._next = EMPTY, 0
        if self._drops is None:
            self._drops = self._port.queue_drops
        self._port.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()
