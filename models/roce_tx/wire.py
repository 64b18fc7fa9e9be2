"""RoCEv2 packets of an RDMA WRITE on the wire: Ethernet with or without VLAN tag, IPv4, UDP, BTH, RETH, ImmDt.

Layouts: IEEE 802.3; IEEE 802.1Q, 9.6 (VLAN tag); RFC 791; RFC 768; InfiniBand Architecture Specification vol. 1, 9.2
(BTH), 9.3.3 (RETH), 9.3.6 (ImmDt), annex A17 (RoCEv2). Multi-byte fields are big-endian; the ICRC alone is sent least
significant byte first.
"""

import struct
from dataclasses import dataclass
from enum import IntEnum

from framelane.base.errors import PacketError

ROCE_PORT = 4791
ETHERTYPE_IPV4 = 0x0800
ETHERTYPE_VLAN = 0x8100
PROTOCOL_UDP = 17
FRAGMENT = 0x3FFF
"""MF and the fragment offset in IPv4's 16 bits of flags and offset: set in fragments only."""
ETH_BYTES, VLAN_BYTES, IP_BYTES, UDP_BYTES, BTH_BYTES, RETH_BYTES, IMM_BYTES, ICRC_BYTES = 14, 4, 20, 8, 12, 16, 4, 4
LINE_BYTES = 24
"""Bytes of the line beside an Ethernet frame without FCS (IEEE 802.3): preamble and SFD 8, FCS 4, gap 12."""

MTUS = (256, 512, 1024, 2048, 4096)
"""Path MTUs of InfiniBand: bytes of payload in every packet of a message but the last."""

UC = 0x20
"""The bits that make an RC opcode (00x) the same operation of the UC service (20x)."""


class Opcode(IntEnum):
    """BTH opcodes of the RDMA WRITE operations (vol. 1, table 38), as sent over RC; add `UC` for the UC service."""

    WRITE_FIRST = 0x06
    WRITE_MIDDLE = 0x07
    WRITE_LAST = 0x08
    WRITE_LAST_IMM = 0x09
    WRITE_ONLY = 0x0A
    WRITE_ONLY_IMM = 0x0B

    @property
    def starts(self) -> bool:
        """The packet begins a message: it carries a RETH."""
        return self in (Opcode.WRITE_FIRST, Opcode.WRITE_ONLY, Opcode.WRITE_ONLY_IMM)

    @property
    def ends(self) -> bool:
        """The packet ends a message: its payload may be shorter than the path MTU."""
        return self not in (Opcode.WRITE_FIRST, Opcode.WRITE_MIDDLE)

    @property
    def has_imm(self) -> bool:
        """The packet carries an ImmDt."""
        return self in (Opcode.WRITE_LAST_IMM, Opcode.WRITE_ONLY_IMM)


@dataclass(frozen=True, slots=True)
class Endpoint:
    """One end of a link: `mac` (48 bits) and IPv4 `ip` (32 bits), as integers in network order."""

    mac: int
    ip: int


@dataclass(frozen=True, slots=True)
class Reth:
    """RDMA extended transport header: virtual address (64 bits), rkey (32), bytes of the whole message (32)."""

    address: int
    rkey: int
    length: int


@dataclass(frozen=True, slots=True)
class Headers:
    """Every header field of one packet that is not fixed by the format.

    `opcode` includes the service's bits; `vlan` is the tag control information (priority 3 bits, DEI 1, VLAN id 12) or
    None for a frame without tag.
    """

    src: Endpoint
    dst: Endpoint
    src_port: int
    opcode: int
    dest_qpn: int
    psn: int
    payload_bytes: int
    reth: Reth | None = None
    imm: int | None = None
    pkey: int = 0xFFFF
    tos: int = 0
    ttl: int = 64
    ack_request: bool = False
    vlan: int | None = None

    @property
    def pad(self) -> int:
        """Zero bytes between the payload and the ICRC: the payload is padded to a multiple of 4."""
        return -self.payload_bytes % 4


def ip_checksum(header: bytes) -> int:
    """Internet checksum (RFC 1071) of a header whose checksum field is zero; 0 for a valid header with it filled."""
    total: int = sum(struct.unpack(f">{len(header) // 2}H", header))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


def pack(h: Headers) -> bytes:
    """The header bytes of a packet, Ethernet to ImmDt: 54, 58, 70 or 74 bytes, 4 more with a VLAN tag.

    IP: ID 0 with DF (RFC 6864 allows it, and a receiver behind a UDP socket can then check the ICRC). UDP checksum 0
    (annex A17). BTH: SE 0, M 1 (migrated), transport version 0.
    """
    extra = (RETH_BYTES if h.reth else 0) + (IMM_BYTES if h.imm is not None else 0)
    udp_bytes = UDP_BYTES + BTH_BYTES + extra + h.payload_bytes + h.pad + ICRC_BYTES
    tag = struct.pack(">HH", ETHERTYPE_VLAN, h.vlan) if h.vlan is not None else b""
    eth = h.dst.mac.to_bytes(6, "big") + h.src.mac.to_bytes(6, "big") + tag + struct.pack(">H", ETHERTYPE_IPV4)
    ip = struct.pack(
        ">BBHHHBBHII", 0x45, h.tos, IP_BYTES + udp_bytes, 0, 0x4000, h.ttl, PROTOCOL_UDP, 0, h.src.ip, h.dst.ip
    )
    ip = ip[:10] + struct.pack(">H", ip_checksum(ip)) + ip[12:]
    udp = struct.pack(">HHHH", h.src_port, ROCE_PORT, udp_bytes, 0)
    bth = struct.pack(">BBHII", h.opcode, 0x40 | h.pad << 4, h.pkey, h.dest_qpn, h.ack_request << 31 | h.psn)
    reth = struct.pack(">QII", h.reth.address, h.reth.rkey, h.reth.length) if h.reth else b""
    imm = struct.pack(">I", h.imm) if h.imm is not None else b""
    return eth + ip + udp + bth + reth + imm


def ip_offset(frame: bytes) -> int:
    """Bytes in front of the IPv4 header: 14, or 18 in a frame with a VLAN tag."""
    tagged = frame[12:14] == ETHERTYPE_VLAN.to_bytes(2, "big")
    return ETH_BYTES + VLAN_BYTES if tagged else ETH_BYTES


def parse(frame: bytes) -> tuple[Headers, bytes]:
    """Invert `pack` on a whole Ethernet frame (without FCS): its headers and its payload without pad and ICRC.

    Raises PacketError with the field that is wrong. The ICRC is not checked here: see `roce_icrc.check`. Nor is a UDP
    checksum: RoCEv2 needs none, and on the sender's own machine a capture sees it before the NIC has filled it in.
    """
    at = ip_offset(frame)
    if len(frame) < at + IP_BYTES or frame[at - 2 : at] != ETHERTYPE_IPV4.to_bytes(2, "big"):
        raise PacketError("ethernet", f"not an IPv4 packet ({len(frame)} bytes)")
    version, tos, ip_bytes, _, flags, ttl, protocol, _, src_ip, dst_ip = struct.unpack_from(">BBHHHBBHII", frame, at)
    if version != 0x45 or protocol != PROTOCOL_UDP or ip_bytes > len(frame) - at:
        raise PacketError("ipv4", f"version/IHL {version:#x}, protocol {protocol}, {ip_bytes} bytes announced")
    if flags & FRAGMENT:
        raise PacketError("ipv4", f"a fragment, flags and offset {flags:#06x}: RoCEv2 packets are sent whole")
    if ip_checksum(frame[at : at + IP_BYTES]):
        raise PacketError("checksum", "the IPv4 header checksum is wrong")
    mac_dst, mac_src = int.from_bytes(frame[0:6], "big"), int.from_bytes(frame[6:12], "big")
    vlan = int.from_bytes(frame[at - 4 : at - 2], "big") if at > ETH_BYTES else None
    datagram = frame[at + IP_BYTES : at + ip_bytes]
    return parse_udp(datagram, Endpoint(mac_src, src_ip), Endpoint(mac_dst, dst_ip), tos, ttl, vlan)


def parse_udp(
    datagram: bytes, src: Endpoint, dst: Endpoint, tos: int = 0, ttl: int = 64, vlan: int | None = None
) -> tuple[Headers, bytes]:
    """Parse from the UDP header on (`datagram` includes its 8 bytes); see `parse`."""
    if len(datagram) < UDP_BYTES + BTH_BYTES + ICRC_BYTES:
        raise PacketError("length", f"a UDP datagram of {len(datagram)} bytes holds no BTH and ICRC")
    src_port, dst_port, udp_bytes, _ = struct.unpack_from(">HHHH", datagram)
    if dst_port != ROCE_PORT:
        raise PacketError("port", f"UDP port {dst_port} is not RoCEv2's {ROCE_PORT}")
    if udp_bytes != len(datagram):
        raise PacketError("length", f"UDP announces {udp_bytes} bytes, {len(datagram)} came")
    code, flags, pkey, qpn, psn = struct.unpack_from(">BBHII", datagram, UDP_BYTES)
    try:
        opcode = Opcode(code & ~UC)
    except ValueError:
        raise PacketError("opcode", f"BTH opcode {code:#04x} is not an RDMA WRITE of UC or RC") from None
    if flags & 0x0F:
        raise PacketError("version", f"BTH transport version {flags & 0x0F} is not 0")
    at = UDP_BYTES + BTH_BYTES
    end = len(datagram) - ICRC_BYTES - (flags >> 4 & 3)
    reth = imm = None
    if end < at + RETH_BYTES * opcode.starts + IMM_BYTES * opcode.has_imm:
        raise PacketError("length", f"{len(datagram)} bytes are too few for the headers of {opcode.name}")
    if opcode.starts:
        reth = Reth(*struct.unpack_from(">QII", datagram, at))
        at += RETH_BYTES
    if opcode.has_imm:
        (imm,) = struct.unpack_from(">I", datagram, at)
        at += IMM_BYTES
    ack, psn, qpn = bool(psn >> 31), psn & 0xFFFFFF, qpn & 0xFFFFFF
    headers = Headers(src, dst, src_port, code, qpn, psn, end - at, reth, imm, pkey, tos, ttl, ack, vlan)
    return headers, datagram[at:end]
