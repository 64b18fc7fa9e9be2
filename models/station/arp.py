"""ARP of one station with one address: it answers, asks on command, announces itself, and keeps no table.

RFC 826 (the packet, answering), RFC 5227 (2.3 announcements, 2.4 conflicts; probes are answered as requests are).
Frames are without FCS and without VLAN tag, which travels beside them as its control information (None: no tag).
"""

import struct
from collections import deque
from dataclasses import dataclass, field
from enum import Enum, IntEnum, auto

from framelane.base.errors import PacketError
from framelane.models.roce_tx import wire
from framelane.models.roce_tx.wire import Endpoint

ETHERTYPE_ARP = 0x0806
BROADCAST_MAC = 0xFFFFFFFFFFFF
FRAME_BYTES_MIN = 60
"""Shortest Ethernet frame without FCS (IEEE 802.3, 4A.4.2); shorter ones are padded with zeros."""
ARP_BYTES = 42
"""Bytes of Ethernet header and packet."""
ANNOUNCE_MS = 2000
"""ANNOUNCE_INTERVAL of RFC 5227: from the first announcement to the second."""
DEFEND_MS = 10_000
"""DEFEND_INTERVAL of RFC 5227: one conflict in this time is answered by an announcement, the others are counted."""
_FORMAT = struct.Struct(">HHBBH6s4s6s4s")


class Operation(IntEnum):
    """What a packet is."""

    REQUEST = 1
    REPLY = 2


@dataclass(frozen=True, slots=True)
class ArpPacket:
    """One ARP packet for IPv4 on Ethernet: who says it, and to whom. A request's target has the MAC 0."""

    operation: Operation
    sender: Endpoint
    target: Endpoint

    def frame(self, dst_mac: int) -> bytes:
        """The Ethernet frame to `dst_mac`, 60 bytes."""
        header = dst_mac.to_bytes(6, "big") + self.sender.mac.to_bytes(6, "big") + ETHERTYPE_ARP.to_bytes(2, "big")
        ends = [part for end in (self.sender, self.target) for part in (end.mac.to_bytes(6), end.ip.to_bytes(4))]
        packet = _FORMAT.pack(1, wire.ETHERTYPE_IPV4, 6, 4, self.operation, *ends)
        return (header + packet).ljust(FRAME_BYTES_MIN, b"\0")


def parse(frame: bytes) -> ArpPacket:
    """The packet in an Ethernet frame; PacketError where it is none, or where its sender cannot be one station."""
    if len(frame) < ARP_BYTES or frame[12:14] != ETHERTYPE_ARP.to_bytes(2, "big"):
        raise PacketError("malformed", f"{len(frame)} bytes are not an ARP packet")
    hardware, protocol, mac_bytes, ip_bytes, operation, *ends = _FORMAT.unpack_from(frame, wire.ETH_BYTES)
    if (hardware, protocol, mac_bytes, ip_bytes) != (1, wire.ETHERTYPE_IPV4, 6, 4) or operation not in (1, 2):
        raise PacketError("malformed", f"ARP operation {operation} of hardware {hardware}, protocol {protocol:#x}")
    sender_mac, sender_ip, target_mac, target_ip = (int.from_bytes(part) for part in ends)
    if sender_mac >> 40 & 1 or not sender_mac:
        raise PacketError("malformed", f"the sender's MAC {sender_mac:012x} is not a station's")
    return ArpPacket(Operation(operation), Endpoint(sender_mac, sender_ip), Endpoint(target_mac, target_ip))


class Heard(Enum):
    """What a frame was to the station; the names are those of the counters, but for OTHERS."""

    MALFORMED = auto()
    ANSWERED = auto()
    """A request for our address."""
    RESOLVED = auto()
    """The reply that was waited for."""
    STRAY = auto()
    """A reply that nobody waits for: late, twice, from another than was asked, on another VLAN."""
    CONFLICT = auto()
    """Somebody else uses our address."""
    OTHERS = auto()
    """None of our business; our own frames too."""


@dataclass(frozen=True, slots=True)
class Resolved:
    """How a question ended: `mac` is None where nobody has answered."""

    ip: int
    mac: int | None


@dataclass(slots=True)
class _Question:
    ip: int
    tci: int | None
    retries: int
    ms: int


def _vlan_id(tci: int | None) -> int:
    return (tci or 0) & 0xFFF


@dataclass(slots=True)
class Arp:
    """`arp.sv`, event by event, never busy. What it sends is appended to `sent`: frames and their tags.

    A request is repeated `retries` times, each after more than `timeout_ms` and at most one millisecond more. `tci` is
    the tag of announcements.
    """

    local: Endpoint
    tci: int | None = None
    timeout_ms: int = 100
    retries: int = 3
    sent: deque[tuple[bytes, int | None]] = field(default_factory=deque)
    resolved: deque[Resolved] = field(default_factory=deque)
    conflict_mac: int = 0
    _question: _Question | None = None
    _announce_ms: int = 0
    _quiet_ms: int = 0

    def receive(self, frame: bytes, tci: int | None = None) -> Heard:
        """A frame comes."""
        try:
            packet = parse(frame)
        except PacketError:
            return Heard.MALFORMED
        if packet.sender.mac == self.local.mac:
            return Heard.OTHERS
        if packet.sender.ip == self.local.ip:
            self._defend(packet.sender.mac, tci)
            return Heard.CONFLICT
        if packet.operation is Operation.REPLY:
            return self._reply(packet, tci)
        if packet.target.ip != self.local.ip:
            return Heard.OTHERS
        self.sent.append((ArpPacket(Operation.REPLY, self.local, packet.sender).frame(packet.sender.mac), tci))
        return Heard.ANSWERED

    def announce(self) -> None:
        """The link is up: tell all, twice."""
        self._tell(self.local.ip, self.tci)
        self._announce_ms = ANNOUNCE_MS

    def resolve(self, ip: int, tci: int | None = None) -> None:
        """Ask who has `ip`; no other question is open."""
        assert self._question is None
        self._question = _Question(ip, tci, self.retries, self.timeout_ms)
        self._tell(ip, tci)

    def tick(self) -> None:
        """A millisecond is over."""
        self._quiet_ms = max(0, self._quiet_ms - 1)
        if self._announce_ms:
            self._announce_ms -= 1
            if not self._announce_ms:
                self._tell(self.local.ip, self.tci)
        question = self._question
        if question is None:
            return
        question.ms -= 1
        if question.ms >= 0:
            return
        if question.retries:
            question.retries -= 1
            question.ms = self.timeout_ms
            self._tell(question.ip, question.tci)
        else:
            self._end(None)

    def _tell(self, ip: int, tci: int | None) -> None:
        self.sent.append((ArpPacket(Operation.REQUEST, self.local, Endpoint(0, ip)).frame(BROADCAST_MAC), tci))

    def _reply(self, packet: ArpPacket, tci: int | None) -> Heard:
        question = self._question
        if question is None or packet.sender.ip != question.ip or packet.target.ip != self.local.ip:
            return Heard.STRAY
        if _vlan_id(tci) != _vlan_id(question.tci):
            return Heard.STRAY
        self._end(packet.sender.mac)
        return Heard.RESOLVED

    def _end(self, mac: int | None) -> None:
        assert self._question is not None
        self.resolved.append(Resolved(self._question.ip, mac))
        self._question = None

    def _defend(self, mac: int, tci: int | None) -> None:
        self.conflict_mac = mac
        if not self._quiet_ms:
            self._tell(self.local.ip, tci)
            self._quiet_ms = DEFEND_MS
