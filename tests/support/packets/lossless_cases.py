"""Cases of the transports' contract in which every packet is placed."""

from itertools import chain
from typing import Any

from framelane.models.roce_tx import wire
from framelane.models.roce_tx.roce_segment import Message
from framelane.models.roce_tx.roce_tx import RoceTx
from framelane.models.roce_tx.wire import Reth
from framelane.session.session import Session
from transport_cases import Case, Sent, forged, frames

ACK = 0x1F
"""AETH syndrome (InfiniBand vol. 1, 9.7.5.2.1): acknowledgement, without a limit of credits."""


def four(session: Session) -> list[Sent]:
    """Four frames, one for each slot."""
    return frames(session, 4)


def ten(session: Session) -> list[Sent]:
    """More frames than slots: what lies in a slot is overwritten by the next frame there."""
    return frames(session, 10)


def odd_sizes(session: Session) -> list[Sent]:
    """Messages of any length, each with its own immediate, one behind the other with a byte between."""
    nic = RoceTx(session.source.endpoint(), (session.qp_context(),))
    mtu, at, sent = session.mtu, 1, []
    for index, size in enumerate((1, 2, 3, 4, 5, 63, mtu - 1, mtu, mtu + 1, 2 * mtu, 2 * mtu + 3)):
        payload = bytes((index + n) % 251 for n in range(size))
        imm = 0xF0E1_0000 + index
        packets = nic.send(Message(session.base + at, size, imm=imm), payload)[1]
        for offset, packet in zip(range(0, size, mtu), packets, strict=True):
            last = packet is packets[-1]
            sent.append(Sent(packet, at + offset, payload[offset : offset + mtu], imm if last else None))
        at += size + 1
    return sent


def three_sources(session: Session) -> list[Sent]:
    """Three sources, their packets in turn: their PSNs say nothing of each other."""
    return list(chain.from_iterable(zip(*(frames(session, 4, source) for source in range(3)), strict=True)))


def nothing(session: Session) -> list[Sent]:
    """A WRITE of no bytes with an immediate: neither address nor rkey is looked at (C9-88)."""
    last = frames(session, 1)[-1]
    empty = forged(last.frame, b"", reth=Reth(0, 0, 0), imm=0x0102_0304, psn=session.psn)
    return [Sent(empty, 0, b"", 0x0102_0304)]


def varied(session: Session) -> list[Sent]:
    """What routers, partitions and senders may change without harm."""
    sent = frames(session, 1)
    changes: tuple[dict[str, Any], ...] = (
        {"tos": 0x6B},
        {"ttl": 1},
        {"pkey": 0x7FFF},
        {"src_port": 0xFFFF},
        {"ack_request": True},
    )
    return [
        Sent(forged(each.frame, **change), each.offset, each.payload, each.imm)
        for each, change in zip(sent, changes, strict=True)
    ]


def jumping(session: Session) -> list[Sent]:
    """PSNs that jump forward and back between messages: UC takes a message with any."""
    sent = frames(session, 1)
    return [
        Sent(forged(each.frame, psn=session.psn + jump & 0xFFFFFF), each.offset, each.payload, each.imm)
        for each, jump in zip(sent, (0, 5000, 100, 5001, 0), strict=True)
    ]


def to_the_edges(session: Session) -> list[Sent]:
    """The first and the last byte of the ring."""
    sent, size = frames(session, 1)[0], session.layout.ring_bytes
    found = []
    for offset in (0, size - 1):
        target = Reth(session.base + offset, session.rkey, 1)
        found.append(Sent(forged(sent.frame, b"\x5a", reth=target), offset, b"\x5a"))
    return found


def _acks(*psns: int) -> tuple[tuple[int, int], ...]:
    return tuple((psn, ACK) for psn in psns)


_MESSAGES = {"segmentation": "message"}
_RC = {"service": "RC"}

LOSSLESS = [
    Case("frames, every packet a message", four),
    Case("frames, one message each", four, _MESSAGES),
    *(Case(f"path MTU {mtu}", four, {"mtu": mtu}) for mtu in wire.MTUS if mtu != 1024),
    *(Case(f"messages, path MTU {mtu}", four, _MESSAGES | {"mtu": mtu}) for mtu in wire.MTUS if mtu != 1024),
    Case("a frame of one pixel", four, {"rows": 1, "columns": 1}),
    Case("more frames than slots", ten),
    Case("messages, more frames than slots", ten, _MESSAGES),
    Case("odd sizes", odd_sizes),
    Case("messages, odd sizes", odd_sizes, _MESSAGES),
    Case("PSNs that come round", four, psn=0xFFFFFE),
    Case("messages, PSNs that come round", four, _MESSAGES, psn=0xFFFFFE),
    Case("three sources", three_sources, {"sources": 3, "rows": 18}),
    Case("a message of no bytes", nothing),
    Case("what may vary", varied, below_udp=True),
    Case("PSNs that jump", jumping, lost=4997),
    Case("the edges of the ring", to_the_edges),
]
"""Over UC."""

LOSSLESS_RC = [
    Case("RC: frames, every packet a message", four, _RC, replies=_acks(3, 4, 8, 9, 13, 14, 18, 19)),
    Case("RC: frames, one message each", four, _RC | _MESSAGES, replies=_acks(3, 4, 8, 9, 13, 14, 18, 19)),
    Case("RC: odd sizes, one message each", odd_sizes, _RC | _MESSAGES, replies=_acks(*range(8), 9, 11, 14)),
    Case("RC: PSNs that come round", four, _RC, psn=0xFFFFFE, replies=_acks(3, 4, 8, 9, 13, 14, 18, 19)),
]
"""Over RC, with every acknowledgement."""
