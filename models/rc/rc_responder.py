"""The receiver's side of an RC QP for RDMA WRITE: by InfiniBand vol. 1, 9.7, and as Linux' rxe does it."""

from collections import Counter
from dataclasses import dataclass
from enum import Enum

import numpy as np
from numpy.typing import NDArray

from framelane.models.rc.rc_protocol import PSNS, distance
from framelane.models.roce_tx.wire import UC, Headers, Opcode
from framelane.models.station.roce_rx import Event, EventKind


class Manner(Enum):
    """Where responders differ, and all are right."""

    IBA = "iba"
    """Acknowledges where it is asked to; one NAK until the packet that it expected has come."""
    RXE = "rxe"
    """As IBA, but after an RNR NAK also one NAK of the sequence; silent in error."""
    CHATTY = "chatty"
    """Acknowledges every packet, and says NAK to every packet out of sequence."""
    COALESCING = "coalescing"
    """Acknowledges late, when asked: one acknowledgement for up to four requests (`RcResponder.flush` for the last)."""


@dataclass(frozen=True, slots=True)
class Region:
    """Registered memory: its first virtual address, its key, its bytes."""

    base: int
    rkey: int
    memory: bytearray


class RcResponder:
    """One QP, `qp` being the sender's index in the events that it returns.

    `receives` is how many WRITEs with immediate find a receive posted; `rnr_code` the timer code of the RNR NAKs.
    `writes` counts how often each byte of the memory was written, unless `counts_writes` is False; a duplicate writes
    nothing (9.7.1.1).
    """

    def __init__(
        self,
        psn: int,
        mtu: int,
        region: Region,
        *,
        qp: int = 0,
        manner: Manner = Manner.IBA,
        counts_writes: bool = True,
    ) -> None:
        self.expected = psn
        self.receives = 1 << 30
        self.rnr_code = 1
        self.in_error = False
        self.counts: Counter[str] = Counter()
        """Packets: placed, duplicate, out_of_sequence, not_ready, refused; acknowledgements by their kind."""
        self.immediates: list[int] = []
        self.writes: NDArray[np.uint16] = np.zeros(len(region.memory) if counts_writes else 0, np.uint16)
        self._mtu, self._region, self._qp, self._manner = mtu, region, qp, manner
        self._msn = 0
        self._nak_sent = False
        self._held = 0  # acknowledgements not given yet
        self._at: int | None = None  # next byte of a message in the middle
        self._left = 0

    def receive(self, h: Headers, payload: bytes) -> list[Event]:
        """One packet for this QP, its ICRC right; what is answered."""
        if self.in_error:
            return []
        ahead = distance(h.psn, self.expected)
        if ahead > 0:
            self.counts["out_of_sequence"] += 1
            if self._nak_sent and self._manner is not Manner.CHATTY:
                return []
            self._nak_sent = True
            return [self._say(EventKind.NAK_SEQUENCE, self.expected)]
        if ahead < 0:
            self.counts["duplicate"] += 1
            return [self._say(EventKind.ACK, self.expected - 1)]
        if self._manner is Manner.RXE:
            self._nak_sent = False
        return self._execute(h, payload)

    def flush(self) -> list[Event]:
        """The acknowledgement that was held back, if there is one."""
        return [self._say(EventKind.ACK, self.expected - 1)] if self._held else []

    def _execute(self, h: Headers, payload: bytes) -> list[Event]:
        opcode = Opcode(h.opcode & ~UC)
        if opcode.has_imm and self.receives <= 0:
            self.counts["not_ready"] += 1
            return [self._say(EventKind.RNR, h.psn, self.rnr_code)]
        if fatal := self._refuses(opcode, h, payload):
            self.in_error = True
            self.counts["refused"] += 1
            return [self._say(fatal, h.psn, fatal - EventKind.NAK_SEQUENCE)]
        self._nak_sent = False
        self.expected = (h.psn + 1) % PSNS
        self.counts["placed"] += 1
        self._place(opcode, h, payload)
        if opcode.ends:
            self._msn = (self._msn + 1) % PSNS
        if opcode.has_imm and h.imm is not None:
            self.receives -= 1
            self.immediates.append(h.imm)
        self._held += h.ack_request
        if self._held > 3 * (self._manner is Manner.COALESCING) or self._manner is Manner.CHATTY:
            return [self._say(EventKind.ACK, h.psn)]
        return []

    def _refuses(self, opcode: Opcode, h: Headers, payload: bytes) -> EventKind | None:
        if opcode.starts != (self._at is None):
            return EventKind.NAK_INVALID
        left = h.reth.length if h.reth else self._left
        if len(payload) != (left if opcode.ends else self._mtu) or opcode.ends != (left <= self._mtu):
            return EventKind.NAK_INVALID
        if h.reth:
            offset = h.reth.address - self._region.base
            if h.reth.rkey != self._region.rkey or offset < 0 or offset + left > len(self._region.memory):
                return EventKind.NAK_ACCESS
        return None

    def _place(self, opcode: Opcode, h: Headers, payload: bytes) -> None:
        if h.reth:
            self._at, self._left = h.reth.address - self._region.base, h.reth.length
        assert self._at is not None
        end = self._at + len(payload)
        self._region.memory[self._at : end] = payload
        self.writes[self._at : end] += 1
        self._at, self._left = (None, 0) if opcode.ends else (end, self._left - len(payload))

    def _say(self, kind: EventKind, psn: int, value: int = 0) -> Event:
        self.counts[kind.name.lower()] += 1
        self._held = 0
        return Event(self._qp, kind, psn % PSNS, value, self._msn)
