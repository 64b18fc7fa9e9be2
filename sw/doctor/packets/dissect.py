"""A packet taken apart as far as it goes: nothing is refused here, what is not there is None.

Layouts: see `framelane.models.roce_tx.wire`.
"""

import struct
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from framelane.models.roce_tx.wire import (
    ETHERTYPE_IPV4,
    ETHERTYPE_VLAN,
    ICRC_BYTES,
    PROTOCOL_UDP,
    ROCE_PORT,
    UC,
    Opcode,
    Reth,
)

ETHERTYPE_QINQ = 0x88A8
_IP = struct.Struct(">BBHHHBBHII")
_UDP = struct.Struct(">HHHH")
_BTH = struct.Struct(">BBHII")
_RETH = struct.Struct(">QII")
_WRITES = frozenset(int(opcode) + service for opcode in Opcode for service in (0, UC))


class Ip(NamedTuple):
    """The IPv4 header; `fragment` holds the 3 flags and the offset (RFC 791)."""

    version_ihl: int
    tos: int
    total_bytes: int
    id: int
    fragment: int
    ttl: int
    protocol: int
    checksum: int
    src: int
    dst: int


class Udp(NamedTuple):
    """The UDP header (RFC 768)."""

    src_port: int
    dst_port: int
    bytes: int
    checksum: int


class Bth(NamedTuple):
    """The base transport header (InfiniBand vol. 1, 9.2); `flags` is SE, M, Pad (2) and TVer (4)."""

    opcode: int
    flags: int
    pkey: int
    qpn: int
    psn: int
    ack_request: bool

    @property
    def pad(self) -> int:
        """Bytes of padding that the header announces."""
        return self.flags >> 4 & 3


@dataclass
class Packet:
    """One captured frame: `number` from 1 in its capture, `time_ns` since 1970, `wire_bytes` as it was on the wire."""

    number: int
    time_ns: int
    frame: bytes
    wire_bytes: int
    tags: tuple[tuple[int, int], ...] = ()
    """VLAN tags as (tag protocol, tag control information)."""
    ethertype: int = -1
    ip_at: int = 14
    ip: Ip | None = None
    udp: Udp | None = None
    bth: Bth | None = None
    write: Opcode | None = None
    """The RDMA WRITE operation, of either service; None for any other opcode."""
    reth: Reth | None = None
    imm: int | None = None
    payload_at: int = 0
    end: int = 0
    """Where the UDP datagram ends by its headers, at most at the end of what was captured."""

    @property
    def dst_mac(self) -> int:
        """48 bits."""
        return int.from_bytes(self.frame[:6], "big")

    @property
    def src_mac(self) -> int:
        """48 bits."""
        return int.from_bytes(self.frame[6:12], "big")

    @property
    def header_bytes(self) -> int:
        """Bytes of the IPv4 header, with its options."""
        return (self.ip.version_ihl & 15) * 4 if self.ip else 0

    @property
    def udp_at(self) -> int:
        """Offset of the UDP header."""
        return self.ip_at + self.header_bytes

    @property
    def icrc_at(self) -> int:
        """Offset of the ICRC: the last 4 bytes of the datagram."""
        return self.end - ICRC_BYTES

    @property
    def is_cut(self) -> bool:
        """The capture holds only its beginning: what lies behind, or is computed from it, is not known."""
        return self.wire_bytes > len(self.frame)

    @property
    def is_whole(self) -> bool:
        """The lengths of capture, IP and UDP agree, and there are no IP options: its end is where they say."""
        ip, udp = self.ip, self.udp
        if ip is None or udp is None or self.header_bytes != _IP.size or self.is_cut:
            return False
        return udp.bytes == ip.total_bytes - _IP.size and self.ip_at + ip.total_bytes <= len(self.frame)

    @property
    def is_roce(self) -> bool:
        """For UDP port 4791, and long enough for a BTH."""
        return self.bth is not None and self.udp is not None and self.udp.dst_port == ROCE_PORT

    @cached_property
    def payload_bytes(self) -> int:
        """Bytes of payload without pad; negative where the headers do not fit."""
        return self.icrc_at - (self.bth.pad if self.bth else 0) - self.payload_at

    @property
    def payload(self) -> bytes:
        """Without pad and ICRC."""
        return self.frame[self.payload_at : self.payload_at + max(0, self.payload_bytes)]


def dissect(number: int, time_ns: int, frame: bytes, wire_bytes: int | None = None) -> Packet:
    """Take `frame`, Ethernet without FCS, apart."""
    packet = Packet(number, time_ns, frame, len(frame) if wire_bytes is None else wire_bytes)
    if len(frame) < 14:
        return packet
    at = 12
    tags = []
    kind = int.from_bytes(frame[at : at + 2], "big")
    while kind in (ETHERTYPE_VLAN, ETHERTYPE_QINQ) and len(frame) >= at + 6:
        tags.append((kind, int.from_bytes(frame[at + 2 : at + 4], "big")))
        at += 4
        kind = int.from_bytes(frame[at : at + 2], "big")
    packet.tags, packet.ethertype, packet.ip_at = tuple(tags), kind, at + 2
    if kind == ETHERTYPE_IPV4 or (len(frame) > at + 2 and frame[at + 2] == 0x45):
        _dissect_ip(packet)
    return packet


def _dissect_ip(packet: Packet) -> None:
    frame = packet.frame
    if len(frame) < packet.ip_at + _IP.size:
        return
    packet.ip = ip = Ip(*_IP.unpack_from(frame, packet.ip_at))
    if packet.header_bytes < _IP.size or len(frame) < packet.udp_at + _UDP.size:
        return
    packet.end = min(len(frame), packet.ip_at + ip.total_bytes)
    udp = Udp(*_UDP.unpack_from(frame, packet.udp_at))
    looks = udp.dst_port == ROCE_PORT
    if not looks and (ip.protocol != PROTOCOL_UDP or ip.fragment & 0x1FFF):  # a later fragment has no UDP header
        return
    packet.udp = udp
    at = packet.udp_at + _UDP.size
    if packet.end < at + _BTH.size + ICRC_BYTES:
        return
    opcode, flags, pkey, qpn, psn = _BTH.unpack_from(frame, at)
    packet.bth = Bth(opcode, flags, pkey, qpn & 0xFFFFFF, psn & 0xFFFFFF, bool(psn >> 31))
    at += _BTH.size
    if opcode in _WRITES:
        _dissect_write(packet, Opcode(opcode & ~UC), at)
    else:
        packet.payload_at = at


def _dissect_write(packet: Packet, opcode: Opcode, at: int) -> None:
    packet.write = opcode
    if opcode.starts and len(packet.frame) >= at + _RETH.size:
        packet.reth = Reth(*_RETH.unpack_from(packet.frame, at))
    at += _RETH.size * opcode.starts
    if opcode.has_imm and len(packet.frame) >= at + 4:
        packet.imm = int.from_bytes(packet.frame[at : at + 4], "big")
    packet.payload_at = at + 4 * opcode.has_imm
