"""IPv4 (RFC 791): whole, right, not fragmented, from the session's source to its receiver."""

import struct
from collections.abc import Iterator

from framelane.doctor.cause import Cause, Finding, Kind, Placer, found
from framelane.doctor.packets.dissect import Ip, Packet
from framelane.doctor.target import Target, ip_text
from framelane.models.roce_tx.wire import PROTOCOL_UDP
from framelane.receiver.transport.refusals import Refusal

_DF, _MF, _OFFSET = 0x4000, 0x2000, 0x1FFF

VERSION = Cause(
    "ip-version",
    Kind.FAULT,
    "the first half byte of the IP header is not 4, or the header is said to be shorter than 20 bytes",
    "send 0x45 as the first byte of the IP header",
    Placer.ALL,
    Refusal.IPV4,
)
OPTIONS = Cause(
    "ip-options",
    Kind.FAULT,
    "the IP header has options: RoCE v2 has none, the ICRC covers a header of 20 bytes",
    "send 0x45 as the first byte of the IP header, and no options",
    Placer.ALL,
    Refusal.IPV4,
)
LENGTH = Cause(
    "ip-length",
    Kind.FAULT,
    "the total length of the IP header is not that of the packet",
    "total length = 20 + 8 + BTH 12 + RETH 16 + ImmDt 4 (where they are) + payload + pad + ICRC 4; "
    "if more is announced than came, look for a cut on the way (MTU of a switch, FIFO overflow)",
    Placer.ALL,
    Refusal.IPV4,
)
CHECKSUM = Cause(
    "ip-checksum",
    Kind.FAULT,
    "the checksum of the IP header is wrong: the kernel and every NIC drop the packet",
    "compute it over all ten words of the header with its own field as zero, complemented (RFC 1071)",
    Placer.ALL,
    Refusal.CHECKSUM,
)
PROTOCOL = Cause(
    "ip-protocol",
    Kind.FAULT,
    "the IP protocol is not UDP's 17",
    "set the protocol field of the IP header to 17",
    Placer.ALL,
    Refusal.IPV4,
)
FRAGMENT = Cause(
    "ip-fragment",
    Kind.FAULT,
    "the packet is an IP fragment: a NIC does not put fragments together",
    "make the packets shorter (path MTU of the session) or raise the MTU of all interfaces and switches; set DF",
    Placer.ALL,
    Refusal.IPV4,
)
DESTINATION = Cause(
    "destination-ip",
    Kind.FAULT,
    "the destination IP is not the session's receiver",
    "give the source the receiver's IP of the present session",
    Placer.ALL,
    Refusal.DESTINATION,
)
SOURCE = Cause(
    "source-ip",
    Kind.FAULT,
    "the source IP is not the session's: a connected QP takes packets from its remote GID only",
    "set the board's own IP to the source.ip of the session, or make a session for that board; look for NAT",
    Placer.ALL,
    Refusal.SOURCE,
)
ID = Cause(
    "ip-id",
    Kind.NOTE,
    "the IP ID is not 0, or DF is not set: right for NICs, but a receiver behind a UDP socket cannot check the ICRC",
    "with `--transport udp` let the source send ID 0 with DF; nothing otherwise",
)


def header_checksum(header: bytes) -> int:
    """What the checksum field of an IPv4 header must hold (RFC 1071), whatever it holds."""
    words = struct.unpack(f">{len(header) // 2}H", header)
    total: int = sum(words) - words[5]
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return total ^ 0xFFFF


def check(packet: Packet, target: Target) -> Iterator[Finding]:
    """What is wrong with the IPv4 header of a packet that is meant for the session."""
    ip = packet.ip
    if ip is None:
        return
    yield from _check_form(packet, ip)
    if ip.fragment & (_MF | _OFFSET):
        first = "more fragments follow" if ip.fragment & _MF else "the last fragment"
        yield found(FRAGMENT, f"fragment offset {(ip.fragment & _OFFSET) * 8}, {first}; should be a whole packet")
    if ip.dst != target.dst_ip:
        yield found(DESTINATION, f"destination IP {ip_text(ip.dst)}, should be {ip_text(target.dst_ip)}")
    if ip.src != target.src_ip:
        yield found(SOURCE, f"source IP {ip_text(ip.src)}, should be {ip_text(target.src_ip)}")
    if ip.id or not ip.fragment & _DF:
        yield found(ID, f"ID {ip.id:#06x}, DF {'set' if ip.fragment & _DF else 'not set'}; our sources: 0, set")


def _check_form(packet: Packet, ip: Ip) -> Iterator[Finding]:
    room = len(packet.frame) - packet.ip_at
    if ip.version_ihl >> 4 != 4 or packet.header_bytes < 20:
        yield found(VERSION, f"first byte {ip.version_ihl:#04x}, should be 0x45")
    elif ip.version_ihl != 0x45:
        yield found(
            OPTIONS, f"first byte {ip.version_ihl:#04x}, should be 0x45: {packet.header_bytes - 20} bytes of options"
        )
    if ip.total_bytes > room:
        if not packet.is_cut:
            yield found(LENGTH, f"total length {ip.total_bytes}, but {room} bytes came")
    elif ip.total_bytes < 20 + 8:
        yield found(LENGTH, f"total length {ip.total_bytes}: too short for a UDP header")
    if ip.protocol != PROTOCOL_UDP:
        yield found(PROTOCOL, f"protocol {ip.protocol}, should be 17")
    if packet.is_cut and packet.header_bytes > room:
        return
    size = min(max(20, packet.header_bytes), room)
    right = header_checksum(packet.frame[packet.ip_at : packet.ip_at + (size & ~1)])
    # 0xffff and 0 are the same number in ones' complement
    if ip.checksum != right and {ip.checksum, right} != {0, 0xFFFF}:
        hint = " (never filled in?)" if not ip.checksum else ""
        yield found(CHECKSUM, f"checksum {ip.checksum:#06x}, should be {right:#06x}{hint}")


CAUSES = (VERSION, OPTIONS, LENGTH, CHECKSUM, PROTOCOL, FRAGMENT, DESTINATION, SOURCE, ID)
