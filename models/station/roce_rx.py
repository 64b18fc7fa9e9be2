"""What the receiver of a QP's packets says of them: acknowledgements, refusals, congestion.

InfiniBand vol. 1: 9.2 (BTH), 9.3.5 and 9.7.5.2 (AETH), 9.6 (what a packet must have), 7.8.1 and annex A17.3.3 (ICRC),
annex A17.9.3 (CNP).
"""

import struct
from collections.abc import Callable
from dataclasses import dataclass
from enum import IntEnum

from framelane.models.roce_tx import roce_icrc, wire

ACKNOWLEDGE = 0x11
CNP = 0x81
AETH_BYTES, CNP_BYTES = 4, 16
FIRST_QPN = 2
"""QP number of the first QP in the table; 0 and 1 are reserved (vol. 1, 3.5.3)."""
_BTH = wire.ETH_BYTES + wire.IP_BYTES + wire.UDP_BYTES


class EventKind(IntEnum):
    """What is said."""

    ACK = 0
    """All up to the PSN has arrived."""
    RNR = 1
    """No receive is posted for this PSN: it is to be sent again after a time."""
    NAK_SEQUENCE = 2
    """This PSN was expected, a later one came."""
    NAK_INVALID = 3
    """Invalid request."""
    NAK_ACCESS = 4
    """Remote access error."""
    NAK_OPERATION = 5
    """Remote operational error."""
    CNP = 6
    """Congestion."""


_NAKS = (EventKind.NAK_SEQUENCE, EventKind.NAK_INVALID, EventKind.NAK_ACCESS, EventKind.NAK_OPERATION)
"""By the code of a NAK (vol. 1, table 44). Code 4 is of another service; the others are reserved."""


class RoceDrop(IntEnum):
    """Why a packet is ignored, in the order in which it is asked: the first reason counts."""

    LENGTH = 0
    """Lengths of frame, IPv4 and UDP do not agree, or are not of whole words, or hold no BTH."""
    CHECKSUM = 1
    """The IPv4 header's checksum is wrong."""
    ICRC = 2
    VERSION = 3
    """The BTH's transport header version is not 0."""
    OPCODE = 4
    """Neither an acknowledgement of RC nor a CNP."""
    SIZE = 5
    """Longer or shorter than its opcode says, or with a pad count."""
    QP = 6
    """No such QP, or not enabled."""
    SERVICE = 7
    """An acknowledgement for a QP that is not of RC."""
    SOURCE = 8
    """Not from the QP's receiver."""
    PKEY = 9
    """Another partition, or both sides are limited members of it (vol. 1, 10.9.3)."""
    SYNDROME = 10
    """Reserved."""


@dataclass(frozen=True, slots=True)
class Peer:
    """What the table knows of a QP that is enabled: its service, and who receives its packets."""

    rc: bool
    ip: int
    pkey: int = 0xFFFF


@dataclass(frozen=True, slots=True)
class Event:
    """One packet: `qp` is the index in the table; `value` the RNR timer's code, an ACK's credits, or a NAK's code.

    A CNP has no MSN and no value: 0.
    """

    qp: int
    kind: EventKind
    psn: int
    value: int = 0
    msn: int = 0


LookUp = Callable[[int], Peer | None]
"""The table: what it knows of the QP at an index (0 to 255), None where no QP is enabled."""


def receive(frame: bytes, look_up: LookUp, first_qpn: int = FIRST_QPN) -> Event | RoceDrop:
    """What a frame of `RxClass.ROCE` says, without VLAN tag and FCS. Bytes behind the IPv4 total length are padding."""
    (length,) = struct.unpack_from(">H", frame.ljust(_BTH, b"\0"), wire.ETH_BYTES + 2)
    shortest = wire.IP_BYTES + wire.UDP_BYTES + wire.BTH_BYTES + wire.ICRC_BYTES
    if length < shortest or length % 4 or wire.ETH_BYTES + length > len(frame):
        return RoceDrop.LENGTH
    frame = frame[: wire.ETH_BYTES + length]
    if int.from_bytes(frame[_BTH - 4 : _BTH - 2], "big") != length - wire.IP_BYTES:
        return RoceDrop.LENGTH
    if wire.ip_checksum(frame[wire.ETH_BYTES : wire.ETH_BYTES + wire.IP_BYTES]):
        return RoceDrop.CHECKSUM
    if not roce_icrc.check(frame):
        return RoceDrop.ICRC
    (source,) = struct.unpack_from(">I", frame, wire.ETH_BYTES + 12)
    return _read(frame[_BTH : -wire.ICRC_BYTES], source, look_up, first_qpn)


def _read(packet: bytes, source: int, look_up: LookUp, first_qpn: int) -> Event | RoceDrop:
    """The same for what is between UDP header and ICRC, `source` being the sender's IP."""
    opcode, flags, pkey, qpn, psn = struct.unpack_from(">BBHII", packet)
    if flags & 0x0F:
        return RoceDrop.VERSION
    if opcode not in (ACKNOWLEDGE, CNP):
        return RoceDrop.OPCODE
    if flags & 0x30 or len(packet) != wire.BTH_BYTES + (CNP_BYTES if opcode == CNP else AETH_BYTES):
        return RoceDrop.SIZE
    index = (qpn & 0xFFFFFF) - first_qpn
    peer = look_up(index) if 0 <= index < 256 else None
    if peer is None:
        return RoceDrop.QP
    if opcode == ACKNOWLEDGE and not peer.rc:
        return RoceDrop.SERVICE
    if source != peer.ip:
        return RoceDrop.SOURCE
    if (pkey ^ peer.pkey) & 0x7FFF or not (pkey | peer.pkey) & 0x8000:
        return RoceDrop.PKEY
    if opcode == CNP:
        return Event(index, EventKind.CNP, psn & 0xFFFFFF)
    (aeth,) = struct.unpack_from(">I", packet, wire.BTH_BYTES)
    kind, value = aeth >> 29, aeth >> 24 & 0x1F
    if kind == 0:
        return Event(index, EventKind.ACK, psn & 0xFFFFFF, value, aeth & 0xFFFFFF)
    if kind == 1:
        return Event(index, EventKind.RNR, psn & 0xFFFFFF, value, aeth & 0xFFFFFF)
    if kind == 3 and value < len(_NAKS):
        return Event(index, _NAKS[value], psn & 0xFFFFFF, value, aeth & 0xFFFFFF)
    return RoceDrop.SYNDROME
