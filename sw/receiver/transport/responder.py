"""A UC responder in user space: it judges one packet as a NIC does, and places its payload in the ring's memory.

InfiniBand vol. 1, 9.6 (packet headers), 9.8.2 (UC responder), C9-88 (a WRITE of zero bytes needs no rkey). Where Linux
rxe drops everything after a lost MIDDLE until the QP is reset, this follows the specification: the rest of that message
is dropped, the next one is served. The ICRC is checked before the transport's own fields: where it is right, a wrong
field is the sender's mistake and not the wire's. A packet of a frame that has ended is refused, which a NIC cannot do
(`docs/decisions/host/0005-late-packets.md`).
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from framelane.base.errors import ConfigError, PacketError
from framelane.models.roce_tx import wire
from framelane.models.roce_tx.roce_segment import MAX_MESSAGE_BYTES
from framelane.models.roce_tx.wire import Headers, Opcode, Reth
from framelane.receiver.transport.admission import Admission
from framelane.receiver.transport.refusals import Refusal
from framelane.receiver.transport.transport import Completion, Counters
from framelane.session.session import Session

_UNENDED = (Opcode.WRITE_FIRST + wire.UC, Opcode.WRITE_MIDDLE + wire.UC)
_PSN_MASK = 0xFFFFFF


@dataclass(slots=True)
class QpState:
    """What a QP remembers from one packet to the next."""

    newest_psn: int
    offset: int = 0
    left: int = 0
    psn: int = 0
    """The open message: its next byte in the memory, the bytes to come (0: none is open), its next PSN."""
    ended: int | None = None
    """PSN of the last trailer that was placed. An immediate without a trailer at its place ends nothing."""


class Responder:
    """The QP of `session`; `memory` (uint8, C-contiguous) is its one region, at virtual address `session.base`.

    A packet is placed whole or refused whole. Nothing is ever written outside `memory`. `counters` and `state` are
    shared with the compiled loop that takes the plain packets of a soft NIC. ConfigError for a session of RC.
    """

    def __init__(self, memory: NDArray[np.uint8], session: Session) -> None:
        if session.service != "UC":
            raise ConfigError(f"a soft NIC has no {session.service}: give a session of service UC, or use a NIC")
        self.counters = Counters()
        self.state = QpState(newest_psn=session.psn - 1 & _PSN_MASK)
        self._memory = memory.data
        self._session = session
        self._layout = session.layout
        self._admission = Admission(session)

    def receive(self, frame: bytes) -> Completion | None:
        """Take one packet (Ethernet without FCS); a completion where it ends a message WITH_IMM."""
        counters = self.counters
        counters.packets += 1
        try:
            headers, payload = wire.parse(frame)
            self._admission.check(frame, headers)
            self._count_psn(headers.psn)
            self._check_late(headers.psn)
            if headers.reth is not None:
                self._begin(headers, headers.reth)
            else:
                self._continue(headers)
        except PacketError as error:
            counters.refused[error.reason] += 1
            counters.examples.setdefault(error.reason, f"packet {counters.packets}: {error}")
            return None
        state, size = self.state, headers.payload_bytes
        self._memory[state.offset : state.offset + size] = payload
        state.offset += size
        state.left -= size
        state.psn = headers.psn + 1 & _PSN_MASK
        counters.placed += 1
        counters.payload_bytes += size
        if headers.imm is None:
            return None
        if self._layout.ends_frame(headers.imm, payload, state.offset):
            state.ended = headers.psn
        counters.completions += 1
        return Completion(headers.imm, empty=not size)

    def _count_psn(self, psn: int) -> None:
        ahead = _ahead(psn, self.state.newest_psn)
        if ahead:
            self.counters.skipped += ahead - 1
            self.state.newest_psn = psn
        else:
            self.counters.behind += 1

    def _check_late(self, psn: int) -> None:
        """Nothing is placed from before the last trailer. The PSNs of several sources interleave, and tell nothing."""
        ended = self.state.ended
        if ended is not None and self._session.sources == 1 and not _ahead(psn, ended):
            raise PacketError(Refusal.LATE, f"PSN {psn:#x} is not after {ended:#x}, where the last frame ended")

    def _begin(self, h: Headers, reth: Reth) -> None:
        """FIRST or ONLY, with any PSN: a message that has not ended is given up."""
        self.state.left = 0
        if reth.length > MAX_MESSAGE_BYTES:
            raise PacketError(Refusal.LENGTH, f"a message of {reth.length} bytes: {MAX_MESSAGE_BYTES} at most")
        self._check_length(h, reth.length)
        offset = reth.address - self._session.base
        if not reth.length:
            offset = 0
        elif reth.rkey != self._session.rkey:
            raise PacketError(Refusal.RKEY, f"PSN {h.psn:#x}: the rkey is not the session's")
        elif offset < 0 or offset + reth.length > len(self._memory):
            raise PacketError(Refusal.BOUNDS, f"{reth.length} bytes at {reth.address:#x} are not all in the ring")
        self.state.offset, self.state.left = offset, reth.length

    def _continue(self, h: Headers) -> None:
        """MIDDLE or LAST: only the very next packet of the open message."""
        state = self.state
        left, state.left = state.left, 0
        if not left or h.psn != state.psn:
            raise PacketError(Refusal.SEQUENCE, f"PSN {h.psn:#x}: its message did not begin, or lost a packet before")
        self._check_length(h, left)
        state.left = left

    def _check_length(self, h: Headers, left: int) -> None:
        """The path MTU exactly in all packets of a message but the last, and there all that is `left`."""
        mtu, size = self._session.mtu, h.payload_bytes
        right = size == mtu < left if h.opcode in _UNENDED else size == left <= mtu
        if not right:
            raise PacketError(Refusal.LENGTH, f"PSN {h.psn:#x}: {size} bytes where {left} are to come, path MTU {mtu}")


def _ahead(psn: int, other: int) -> int:
    """How far `psn` comes after `other`, modulo 2^24; 0 if it does not. Half of the numbers count as before it."""
    ahead = psn - other & _PSN_MASK
    return ahead if ahead < 1 << 23 else 0
