"""The contract of all transports, as cases: the packets of a source, and what must be in the ring after them.

Used by `test_transport_contract.py` for the soft NIC, and on the Linux driver by `contract_guest.py`.
"""

import collections
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from framelane.models.placement.slots import HOLE_WORD
from framelane.models.roce_tx import roce_icrc, wire
from framelane.models.tx import tx
from framelane.session.session import Session
from framelane.session.session_plan import SessionPlan

PLAN = {"n_slots": 4, "rows": 16, "columns": 100, "mtu": 1024}
"""A frame is 3200 bytes, 3 packets and a rest, then its trailer: 5 packets."""


@dataclass(frozen=True, slots=True)
class Sent:
    """One packet: its `payload` belongs at `offset` of the ring, and ends a message with the immediate `imm`.

    `refused`: by this word of `Refusal`, or "" where it is placed. `rxe_places`: what the Linux driver does, where that
    is not the same.
    """

    frame: bytes
    offset: int
    payload: bytes
    imm: int | None = None
    refused: str = ""
    rxe_places: bool | None = None

    def placed(self, rxe: bool) -> bool:
        """Whether its payload is written."""
        return self.rxe_places if rxe and self.rxe_places is not None else not self.refused

    def but(self, refused: str, frame: bytes | None = None) -> "Sent":
        """The same packet, or `frame` in its place: refused."""
        return replace(self, refused=refused, frame=self.frame if frame is None else frame)


@dataclass(frozen=True, slots=True)
class Case:
    """`make` gives the packets for a session of the plan `PLAN` with these `changes`.

    `lost` packets are seen to be missing by their PSNs. `below_udp`: what is wrong is not to be seen through a UDP
    socket. `psn`: the session's, else a random one. `replies` on RC: the PSN after the session's, and the syndrome.
    `ends`: after it the QP is dead, by this cause. `known`: in what the Linux driver differs from the specification.
    """

    name: str
    make: Callable[[Session], list[Sent]]
    changes: dict[str, Any] = field(default_factory=dict)
    lost: int = 0
    below_udp: bool = False
    psn: int | None = None
    replies: tuple[tuple[int, int], ...] = ()
    ends: str = ""
    known: str = ""

    @property
    def service(self) -> str:
        """UC or RC."""
        return str(self.changes.get("service", "UC"))

    def plan(self, source: Any, receiver: Any) -> SessionPlan:
        """The plan between these two nodes."""
        return SessionPlan(**PLAN | {"source": source, "receiver": receiver} | self.changes)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of the packets: bytes of the ring, immediates in their order."""

    ring: bytes
    immediates: list[int]


def outcome(session: Session, sent: Iterable[Sent], rxe: bool = False) -> Outcome:
    """What must come of them: every placed byte at its place, in their order, and holes elsewhere."""
    ring = np.full(session.layout.ring_bytes // 2, HOLE_WORD, "<u2").view(np.uint8)
    immediates = []
    for packet in sent:
        if packet.placed(rxe):
            ring[packet.offset : packet.offset + len(packet.payload)] = np.frombuffer(packet.payload, np.uint8)
            immediates += [] if packet.imm is None else [packet.imm]
    return Outcome(ring.tobytes(), immediates)


def refusals(sent: Iterable[Sent]) -> collections.Counter[str]:
    """How often each reason must be counted."""
    return collections.Counter(packet.refused for packet in sent if packet.refused)


def images(session: Session, n: int, source: int = 0) -> list[NDArray[np.uint8]]:
    """`n` shares of raw images of a source, as bytes, with no word of gain code 10."""
    words = session.image_bytes // session.sources // 2
    numbers = np.random.default_rng([7, source]).integers(0, HOLE_WORD, (n, words), np.uint16)
    return list(numbers.astype("<u2").view(np.uint8))


def frames(session: Session, n: int, source: int = 0) -> list[Sent]:
    """The packets of `n` frames from the golden transmitter. Where they belong is said by the ring's layout alone."""
    layout, shares = session.layout, images(session, n, source)
    packets = iter(tx([share.tobytes() for share in shares], session.tx_config(source)))
    sent = []
    for number, share in enumerate(shares):
        slot = layout.slot_offset(number)
        for at in range(0, len(share), session.mtu):
            piece = share[at : at + session.mtu].tobytes()
            sent.append(Sent(next(packets), slot + source * len(share) + at, piece))
        frame = next(packets)
        headers, payload = wire.parse(frame)
        sent.append(Sent(frame, slot + layout.trailer_offset(source), payload, headers.imm))
    assert next(packets, None) is None
    return sent


def forged(frame: bytes, payload: bytes | None = None, **changes: Any) -> bytes:
    """The same packet with other header fields or other payload; lengths, checksum and ICRC are right for them."""
    headers, old = wire.parse(frame)
    payload = old if payload is None else payload
    headers = replace(headers, **{"payload_bytes": len(payload)} | changes)
    return roce_icrc.append(wire.pack(headers) + payload + bytes(headers.pad))


def reth(frame: bytes, **changes: int) -> bytes:
    """The same packet with other fields in its RETH."""
    found = wire.parse(frame)[0].reth
    assert found
    return forged(frame, reth=replace(found, **changes))
