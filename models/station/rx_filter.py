"""Which of the frames that a MAC delivers are for this transmitter, and for which of its blocks.

Layouts: IEEE 802.3, 802.1Q 9.6 (VLAN tag), 802.3 31.4.1 (MAC control); RFC 791 (IPv4); RFC 768 (UDP).
"""

import struct
from dataclasses import dataclass
from enum import IntEnum

from framelane.models.roce_tx import wire
from framelane.models.roce_tx.wire import Endpoint

ETHERTYPE_ARP = 0x0806
ETHERTYPE_PAUSE = 0x8808
PROTOCOL_ICMP = 1
BROADCAST_MAC = 0xFFFFFFFFFFFF
PAUSE_MAC = 0x0180C2000001
SHORTEST = 42
"""Bytes without VLAN tag below which a frame is of no class: Ethernet, IPv4 and UDP; Ethernet and ARP."""


class RxClass(IntEnum):
    """Which block a frame is for."""

    ROCE = 0
    ARP = 1
    ICMP = 2
    PAUSE = 3


class RxDrop(IntEnum):
    """Why a frame is for none, in the order in which it is asked: the first reason counts."""

    BAD = 0
    """Wrong FCS, or cut."""
    SHORT = 1
    """Fewer bytes than any class has."""
    ADDRESS = 2
    """To another MAC."""
    TYPE = 3
    """An EtherType of no class."""
    OPTIONS = 4
    """IPv4 with options, or not version 4."""
    FRAGMENT = 5
    LENGTH = 6
    """An IPv4 total length that holds no UDP or ICMP header, or goes beyond the frame."""
    IP = 7
    """To another IP."""
    PROTOCOL = 8
    """Neither UDP nor ICMP."""
    PORT = 9
    """To a UDP port other than RoCEv2's."""
    FULL = 10
    """No room in the buffer: see `axis_frame_fifo`."""


@dataclass(frozen=True, slots=True)
class RxUser:
    """What travels beside a frame: its class, and its VLAN tag's control information, None without a tag."""

    rx_class: RxClass
    tci: int | None = None


def judge(frame: bytes, local: Endpoint, bad: bool = False) -> RxUser | RxDrop:
    """What a frame (without FCS) is for; `bad`: the MAC has found its FCS wrong, or has cut it.

    A VLAN tag is accepted with any id, but not in front of a pause frame. ROCE and ICMP are only told apart here: their
    checksums, and all behind the UDP header, are not looked at.
    """
    if bad:
        return RxDrop.BAD
    at = wire.ip_offset(frame)
    if len(frame) < at - wire.ETH_BYTES + SHORTEST:
        return RxDrop.SHORT
    tci = int.from_bytes(frame[14:16], "big") if at > wire.ETH_BYTES else None
    ethertype = int.from_bytes(frame[at - 2 : at], "big")
    pause = ethertype == ETHERTYPE_PAUSE and tci is None
    if int.from_bytes(frame[:6], "big") not in (local.mac, PAUSE_MAC if pause else BROADCAST_MAC):
        return RxDrop.ADDRESS
    if pause:
        return RxUser(RxClass.PAUSE)
    if ethertype == ETHERTYPE_ARP:
        return RxUser(RxClass.ARP, tci)
    if ethertype != wire.ETHERTYPE_IPV4:
        return RxDrop.TYPE
    of_ip = _judge_ip(frame[at:], local.ip)
    return RxUser(of_ip, tci) if isinstance(of_ip, RxClass) else of_ip


def _judge_ip(packet: bytes, ip: int) -> RxClass | RxDrop:
    """The same for what is behind the Ethernet header of an IPv4 packet, padding included."""
    version, _, length, _, fragment, _, protocol, _, _, dst = struct.unpack_from(">BBHHHBBHII", packet)
    if version != 0x45:
        return RxDrop.OPTIONS
    if fragment & wire.FRAGMENT:
        return RxDrop.FRAGMENT
    if not wire.IP_BYTES + wire.UDP_BYTES <= length <= len(packet):
        return RxDrop.LENGTH
    if dst != ip:
        return RxDrop.IP
    if protocol == PROTOCOL_ICMP:
        return RxClass.ICMP
    if protocol != wire.PROTOCOL_UDP:
        return RxDrop.PROTOCOL
    (port,) = struct.unpack_from(">H", packet, wire.IP_BYTES + 2)
    return RxClass.ROCE if port == wire.ROCE_PORT else RxDrop.PORT
