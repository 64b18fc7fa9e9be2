"""Cases of the transports' contract in which packets are lost, late, doubled, or wrong."""

from dataclasses import replace
from typing import Any

from framelane.models.roce_tx import wire
from framelane.models.roce_tx.wire import UC, Opcode
from framelane.receiver.transport.refusals import Refusal
from framelane.session.session import Session
from lossless_cases import ACK
from transport_cases import Case, Sent, forged, frames, reth

NAK_SEQUENCE, NAK_ACCESS = 0x60, 0x62
"""AETH syndromes (InfiniBand vol. 1, 9.7.5.2.1 and table 45)."""

_MESSAGES = {"segmentation": "message"}
_RC = {"service": "RC"}
STUCK = "after a MIDDLE or LAST is missing, rxe drops all that follows until the QP is reset"
TRUSTING = "rxe takes a packet of the path MTU for a part of any longer message, and its opcode for the truth"
TWICE = "rxe acknowledges every packet that comes again, whether it asks for that or not"
UNAWARE = "a NIC knows no frames: it places a packet of a frame that is over"


def lost(*numbers: int) -> Any:
    """Two frames of single packets, some lost on the way."""
    return lambda session: [each for n, each in enumerate(frames(session, 2)) if n not in numbers]


def lost_of_message(number: int) -> Any:
    """Three frames, one message each; of the second frame one packet is lost: the rest of its message is refused."""

    def make(session: Session) -> list[Sent]:
        sent = frames(session, 3)
        stuck = number > 0
        after = [replace(each, rxe_places=False) if stuck else each for each in sent[9:]]
        rest = [each.but(Refusal.SEQUENCE) for each in sent[5 + number + 1 : 9]]
        return [*sent[: 5 + number], *rest, *after]

    return make


def last_twice(session: Session) -> list[Sent]:
    """A packet that comes twice in a row, and its frame's trailer that does: the second one is late."""
    sent = frames(session, 2)
    again = replace(sent[4], refused=Refusal.LATE, rxe_places=True)
    return [*sent[:2], sent[1], *sent[2:5], again, *sent[5:]]


def doubled_in_message(session: Session) -> list[Sent]:
    """A MIDDLE that comes twice ends its message."""
    sent = frames(session, 2)
    rest = [each.but(Refusal.SEQUENCE) for each in (sent[1], *sent[2:4])]
    return [*sent[:2], *rest, *(replace(each, rxe_places=False) for each in sent[4:])]


def shuffled(session: Session) -> list[Sent]:
    """Single packets of a frame in another order."""
    sent = frames(session, 2)
    return [*(sent[n] for n in (2, 0, 3, 1, 4)), *sent[5:]]


def late(session: Session) -> list[Sent]:
    """A packet of the first frame that comes when it is over."""
    sent = frames(session, 2)
    return [sent[0], *sent[2:7], replace(sent[1], refused=Refusal.LATE, rxe_places=True), *sent[7:]]


def wrong(reason: str, forge: Any, changes: dict[str, Any] | None = None) -> Any:
    """Two frames; the second packet is one that is refused, the others are placed."""

    def make(session: Session) -> list[Sent]:
        sent = frames(session, 2)
        sent[1] = sent[1].but(reason, forge(sent[1].frame, session))
        return sent

    return make


def too_long(session: Session) -> list[Sent]:
    """ONLY with exactly the path MTU of payload, for a message that is longer by its RETH."""
    sent = frames(session, 2)
    sent[1] = replace(sent[1].but(Refusal.LENGTH, reth(sent[1].frame, length=1028)), rxe_places=True)
    return sent


def flipped(offset: int) -> Any:
    """A bit changed on the wire."""

    def forge(frame: bytes, session: Session) -> bytes:
        return frame[:offset] + bytes([frame[offset] ^ 0x10]) + frame[offset + 1 :]

    return forge


def with_reth(**changes: Any) -> Any:
    """Other fields in the RETH; a function is called with the session."""
    return lambda frame, session: reth(frame, **{k: v(session) if callable(v) else v for k, v in changes.items()})


def with_headers(**changes: Any) -> Any:
    """Other header fields; a function is called with the session."""
    return lambda frame, session: forged(frame, **{k: v(session) if callable(v) else v for k, v in changes.items()})


def _wrong(name: str, reason: str, forge: Any, lost: int = 0, below_udp: bool = False) -> Case:
    return Case(name, wrong(reason, forge), lost=lost, below_udp=below_udp)


def _other(node: str, **changes: int) -> Any:
    return lambda session: replace(getattr(session, node).endpoint(), **changes)


LOSSY = [
    Case("the first packet is lost", lost(0), lost=1),
    Case("a packet is lost", lost(2), lost=1),
    Case("a trailer is lost", lost(4), lost=1),
    Case("a frame is lost", lost(5, 6, 7, 8, 9)),
    Case("all but the trailers are lost", lost(0, 1, 2, 3, 5, 6, 7, 8), lost=8),
    Case("FIRST is lost", lost_of_message(0), _MESSAGES, lost=1),
    Case("MIDDLE is lost", lost_of_message(1), _MESSAGES, lost=1, known=STUCK),
    Case("LAST is lost", lost_of_message(3), _MESSAGES, lost=1, known=STUCK),
    Case("MIDDLE comes twice", doubled_in_message, _MESSAGES, known=STUCK),
    Case("packets and a trailer come twice", last_twice, known=UNAWARE),
    Case("packets of a frame in another order", shuffled),
    Case("a packet is late", late, known=UNAWARE),
]
"""Packets that are lost, doubled, late or out of order, over UC."""

WRONG = [
    _wrong("ICRC: payload changed on the wire", Refusal.ICRC, flipped(500), lost=1),
    _wrong("ICRC: rkey changed on the wire", Refusal.ICRC, flipped(64), lost=1),
    _wrong("ICRC: itself changed", Refusal.ICRC, lambda frame, session: frame[:-1] + bytes([frame[-1] ^ 1]), lost=1),
    _wrong("rkey of another region", Refusal.RKEY, with_reth(rkey=lambda s: s.rkey ^ 0x100)),
    _wrong("rkey of an earlier region", Refusal.RKEY, with_reth(rkey=lambda s: s.rkey ^ 1)),
    _wrong("a byte before the ring", Refusal.BOUNDS, with_reth(address=lambda s: s.base - 1)),
    _wrong(
        "a byte behind the ring",
        Refusal.BOUNDS,
        with_reth(address=lambda s: s.base + s.layout.ring_bytes - s.mtu + 1),
    ),
    _wrong("address 0", Refusal.BOUNDS, with_reth(address=0)),
    _wrong("an address that wraps around", Refusal.BOUNDS, with_reth(address=(1 << 64) - 512)),
    Case("RETH longer than a payload of the path MTU", too_long, known=TRUSTING),
    Case("RETH longer than the payload", wrong(Refusal.LENGTH, with_reth(length=900)), {"columns": 60}),
    _wrong("RETH shorter than the payload", Refusal.LENGTH, with_reth(length=1020)),
    _wrong(
        "more than the path MTU",
        Refusal.LENGTH,
        lambda frame, s: forged(reth(frame, length=1028), wire.parse(frame)[1] + b"more"),
    ),
    _wrong("another QP", Refusal.QPN, with_headers(dest_qpn=lambda s: s.qpn ^ 0x800), lost=1),
    _wrong("another partition", Refusal.PKEY, with_headers(pkey=0x8001), lost=1),
    _wrong("an operation of RC", Refusal.SERVICE, with_headers(opcode=Opcode.WRITE_ONLY), lost=1),
    _wrong("no operation", Refusal.OPCODE, with_headers(opcode=0x3F), lost=1),
    _wrong("MIDDLE without FIRST", Refusal.SEQUENCE, with_headers(opcode=Opcode.WRITE_MIDDLE + UC, reth=None)),
    _wrong("LAST without FIRST", Refusal.SEQUENCE, with_headers(opcode=Opcode.WRITE_LAST + UC, reth=None)),
    _wrong("another source", Refusal.SOURCE, with_headers(src=_other("source", ip=0x0A4D0063)), 1, True),
    _wrong("another receiver's IP", Refusal.DESTINATION, with_headers(dst=_other("receiver", ip=0x0A4D0063)), 1, True),
    _wrong("another receiver's MAC", Refusal.DESTINATION, with_headers(dst=_other("receiver", mac=0x02AA)), 1, True),
    _wrong("IPv4 checksum", Refusal.CHECKSUM, flipped(24), lost=1, below_udp=True),
    _wrong("cut short", Refusal.IPV4, lambda frame, session: frame[:-100], lost=1, below_udp=True),
]
"""One packet that must not be placed, over UC."""


def rc_lost(session: Session) -> list[Sent]:
    """A packet is lost, and what follows refused, until the source goes back to it."""
    sent = frames(session, 1)
    return [*sent[:1], *(each.but(Refusal.SEQUENCE) for each in sent[2:]), *sent[1:]]


def rc_again(session: Session) -> list[Sent]:
    """A frame that the source sends twice, as if it had heard no acknowledgement: it is acknowledged, not placed."""
    sent = frames(session, 1)
    return [*sent, *(replace(each, refused="duplicate") for each in sent)]


def rc_wrong(change: Any) -> Any:
    """The second packet is refused for good: the QP ends."""

    def make(session: Session) -> list[Sent]:
        sent = frames(session, 1)
        return [
            sent[0],
            sent[1].but("ended", change(sent[1].frame, session)),
            *(each.but("ended") for each in sent[2:]),
        ]

    return make


LOSSY_RC = [
    Case(
        "RC: a packet is lost and sent again",
        rc_lost,
        _RC,
        replies=((1, NAK_SEQUENCE), (3, ACK), (4, ACK)),
    ),
    Case("RC: a frame is sent twice", rc_again, _RC, replies=((3, ACK), *[(4, ACK)] * 6), known=TWICE),
    Case(
        "RC: rkey of another region",
        rc_wrong(with_reth(rkey=lambda s: s.rkey ^ 0x100)),
        _RC,
        replies=((1, NAK_ACCESS),),
        ends="the QP .* receives no more .*wrong rkey, or an address outside the ring",
    ),
    Case(
        "RC: a byte behind the ring",
        rc_wrong(with_reth(address=lambda s: s.base + s.layout.ring_bytes - s.mtu + 1)),
        _RC,
        replies=((1, NAK_ACCESS),),
        ends="the QP .* receives no more .*wrong rkey, or an address outside the ring",
    ),
]
"""Over RC, with every acknowledgement."""
