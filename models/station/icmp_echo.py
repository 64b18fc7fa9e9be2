"""ICMP echo: what a request is answered with, and which requests are not answered.

RFC 792 (echo and echo reply), RFC 791 (IPv4), RFC 1071 (checksums), RFC 1624 (the reply's), RFC 1122 3.2.2.6 and 3.3.6
(the type of service is the request's; a datagram that came by broadcast is not answered).
"""

import struct
from enum import Enum, auto

from framelane.models.roce_tx import wire
from framelane.models.roce_tx.wire import Endpoint

PROTOCOL_ICMP = 1
ECHO, ECHO_REPLY = 8, 0
TTL = 64
MESSAGE_AT = wire.ETH_BYTES + wire.IP_BYTES
"""Byte of the frame at which the ICMP message begins."""
HEADER_BYTES = MESSAGE_AT + 6
FRAME_BYTES_MIN, FRAME_BYTES_MAX = 60, 1514
"""Sizes of an Ethernet frame without FCS and VLAN tag."""


class Verdict(Enum):
    """What a frame was to the station; the names are those of the counters."""

    ANSWERED = auto()
    IGNORED = auto()
    """No echo request, or not from one station to us."""
    MALFORMED = auto()
    """IPv4 options, a fragment, or lengths that cannot be."""
    CHECKSUM = auto()
    """A wrong checksum, of the IPv4 header or of the message."""


def checksum(data: bytes) -> int:
    """Internet checksum (RFC 1071) of bytes of any length: an odd one ends with a zero."""
    return wire.ip_checksum(data + b"\0" * (len(data) % 2))


def judge(frame: bytes, local: Endpoint) -> Verdict:
    """What the frame is; the first reason that holds."""
    if len(frame) < HEADER_BYTES:
        return Verdict.MALFORMED
    dst_mac, src_mac, ethertype = int.from_bytes(frame[:6]), int.from_bytes(frame[6:12]), int.from_bytes(frame[12:14])
    version, _, length, _, flags, _, protocol, _, src, dst = struct.unpack_from(">BBHHHBBHII", frame, wire.ETH_BYTES)
    if (dst_mac, dst, ethertype, protocol) != (local.mac, local.ip, wire.ETHERTYPE_IPV4, PROTOCOL_ICMP):
        return Verdict.IGNORED
    if src_mac >> 40 & 1 or src in (0, local.ip, 0xFFFFFFFF) or src >> 28 == 0xE:
        return Verdict.IGNORED
    if version != 0x45 or flags & wire.FRAGMENT:
        return Verdict.MALFORMED
    end = wire.ETH_BYTES + length
    if length < wire.IP_BYTES + 8 or end > len(frame) or len(frame) > FRAME_BYTES_MAX:
        return Verdict.MALFORMED
    message = frame[MESSAGE_AT:end]
    if wire.ip_checksum(frame[wire.ETH_BYTES : MESSAGE_AT]) or checksum(message):
        return Verdict.CHECKSUM
    return Verdict.ANSWERED if message[:2] == bytes([ECHO, 0]) else Verdict.IGNORED


def answer(frame: bytes, local: Endpoint) -> bytes:
    """The reply to a request that is to be answered: at least 60 bytes, without FCS."""
    _, tos, length = struct.unpack_from(">BBH", frame, wire.ETH_BYTES)
    src = frame[wire.ETH_BYTES + 12 : wire.ETH_BYTES + 16]
    ip = struct.pack(">BBHHHBBH4s4s", 0x45, tos, length, 0, 0x4000, TTL, PROTOCOL_ICMP, 0, local.ip.to_bytes(4), src)
    ip = ip[:10] + wire.ip_checksum(ip).to_bytes(2) + ip[12:]
    total = int.from_bytes(frame[MESSAGE_AT + 2 : MESSAGE_AT + 4]) + (ECHO << 8)  # the type falls by as much
    message = bytes([ECHO_REPLY, 0]) + ((total & 0xFFFF) + (total >> 16)).to_bytes(2)
    message += frame[MESSAGE_AT + 4 : wire.ETH_BYTES + length]
    ethernet = frame[6:12] + local.mac.to_bytes(6) + wire.ETHERTYPE_IPV4.to_bytes(2)
    return (ethernet + ip + message).ljust(FRAME_BYTES_MIN, b"\0")
