"""A NIC in software that serves RC: it places packets in order, and acknowledges them. Packet by packet in Python."""

import collections
from dataclasses import replace
from typing import Protocol, Self, cast

import numpy as np
from numpy.typing import NDArray

from framelane.base.errors import ConfigError, PacketError, TransportError
from framelane.models.rc.rc_remote import acknowledgement
from framelane.models.rc.rc_responder import RcResponder, Region
from framelane.models.roce_tx import wire
from framelane.models.roce_tx.packet_batch import EMPTY
from framelane.models.station.roce_rx import FIRST_QPN, Event
from framelane.receiver.transport import sockets
from framelane.receiver.transport.admission import Admission
from framelane.receiver.transport.refusals import Refusal
from framelane.receiver.transport.softnic import Port
from framelane.receiver.transport.transport import Completion, Counters
from framelane.session.session import Session

_AFTER_UDP = wire.ETH_BYTES + wire.IP_BYTES + wire.UDP_BYTES


class AnsweringPort(Port, Protocol):
    """A port by which the source can be answered, from its own UDP port."""

    @property
    def address(self) -> tuple[str, int]: ...

    def answer(self, datagram: bytes) -> None:
        """Send the payload of a UDP packet to the source. TransportError where that cannot be."""


class RcSoftNic:
    """The transport of an RC `session` on `port`, as `RcResponder` serves its queue pair: for boards that are slow.

    A duplicate is acknowledged again, and not placed; a packet behind a gap is refused until those before it have come
    again. ConfigError for a session of UC, or of several sources, which need a queue pair each.
    """

    refuses_late = True

    def __init__(self, port: AnsweringPort, memory: NDArray[np.uint8], session: Session) -> None:
        if session.service != "RC" or session.sources != 1:
            raise ConfigError(f"this soft NIC serves one source by RC, not {session.sources} by {session.service}")
        self._port, self._session = port, session
        region = Region(session.base, session.rkey, cast("bytearray", memory.data))  # its length and slices are used
        index = session.source_qpn - FIRST_QPN
        self._responder = RcResponder(session.psn, session.mtu, region, qp=index, counts_writes=False)
        self._admission = Admission(session)
        self._counters = Counters()
        self._batch, self._next = EMPTY, 0
        self._drops: int | None = None
        self._fault = ""
        """Why the queue pair is in error."""

    @property
    def ended(self) -> bool:
        """See `Transport`."""
        return self._port.ended and self._next == len(self._batch)

    @property
    def counters(self) -> Counters:
        """See `Transport`."""
        now = self._counters
        drops = self._port.queue_drops if self._drops is None else self._drops
        return replace(now, queue_drops=drops, refused=collections.Counter(now.refused), examples=dict(now.examples))

    def poll(self, timeout_s: float) -> list[Completion]:
        """See `Transport`. TransportError, too, where a packet has put the queue pair into error (vol. 1, 9.9.3)."""
        if self._fault:
            raise TransportError(self._fault)
        for taken in range(sockets.BATCH):
            if self._next == len(self._batch):
                self._batch, self._next = self._port.batch(0 if taken else timeout_s), 0
                if not self._batch:
                    break
            self._next += 1
            completion = self._take(self._batch[self._next - 1])
            if completion:
                return [completion]
        return []

    def _take(self, frame: bytes) -> Completion | None:
        counters = self._counters
        counters.packets += 1
        try:
            headers, payload = wire.parse(frame)
            self._admission.check(frame, headers)
            before = self._responder.counts.copy()
            for event in self._responder.receive(headers, payload):
                self._answer(event, headers)
            came = self._responder.counts - before
            if self._responder.in_error:
                self._fault = (
                    f"the QP {self._session.qpn:#x} receives no more (as with any NIC): the packet of PSN "
                    f"{headers.psn:#x} had a wrong rkey, or an address outside the ring, or another length than its "
                    "RETH says: start the receiver anew, and give the source its session"
                )
                raise TransportError(self._fault)
            if came["out_of_sequence"] or not (came["placed"] or came["duplicate"]):
                raise PacketError(Refusal.SEQUENCE, f"PSN {headers.psn:#x}: packets before it have not come")
        except PacketError as error:
            counters.refused[error.reason] += 1
            counters.examples.setdefault(error.reason, f"packet {counters.packets}: {error}")
            return None
        if came["duplicate"]:
            counters.behind += 1
            return None
        counters.placed += 1
        counters.payload_bytes += headers.payload_bytes
        if headers.imm is None:
            return None
        counters.completions += 1
        return Completion(headers.imm, empty=not headers.payload_bytes)

    def _answer(self, event: Event, to: wire.Headers) -> None:
        packet = acknowledgement(event, self._session.receiver.endpoint(), to.src, self._port.address[1])
        self._port.answer(packet[_AFTER_UDP:])

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
