"""Ethernet frames of PTP messages: straight on Ethernet (IEEE 1588-2019, annex E), or in UDP over IPv4 (annex C).

Frames are without FCS, with or without VLAN tag. Multicast addresses are those of all messages but peer delay.
"""

import struct
from dataclasses import dataclass
from typing import Literal

from framelane.base.errors import PacketError
from framelane.models.cells.vlan_insert import insert
from framelane.models.roce_tx import wire
from framelane.models.roce_tx.wire import Endpoint
from framelane.models.station.arp import FRAME_BYTES_MIN
from framelane.models.time.ptp_message import Message

ETHERTYPE_PTP = 0x88F7
EVENT_PORT, GENERAL_PORT = 319, 320
MULTICAST_MAC = 0x01_1B_19_00_00_00
MULTICAST_IP = 0xE0_00_01_81
MULTICAST_IP_MAC = 0x01_00_5E_00_01_81

Transport = Literal["ethernet", "udp"]


@dataclass(frozen=True, slots=True)
class PtpFrame:
    """A message's bytes (and padding), with how and from whom they came; `tci` is None without VLAN tag."""

    payload: bytes
    transport: Transport
    src: Endpoint
    tci: int | None = None


def wrap(message: Message, transport: Transport, src: Endpoint, tci: int | None = None) -> bytes:
    """The frame of `message` to all, 60 bytes at least. UDP has the checksum 0 and a TTL of 1."""
    payload = message.pack()
    if transport == "ethernet":
        dst, ethertype = MULTICAST_MAC, ETHERTYPE_PTP
    else:
        dst, ethertype = MULTICAST_IP_MAC, wire.ETHERTYPE_IPV4
        port = EVENT_PORT if message.kind.is_event else GENERAL_PORT
        size = wire.UDP_BYTES + len(payload)
        udp = struct.pack(">HHHH", port, port, size, 0) + payload
        lengths = 0x45, 0, wire.IP_BYTES + size, 0, 0x4000, 1, wire.PROTOCOL_UDP, 0
        ip = struct.pack(">BBHHHBBHII", *lengths, src.ip, MULTICAST_IP)
        payload = ip[:10] + struct.pack(">H", wire.ip_checksum(ip)) + ip[12:] + udp
    frame = dst.to_bytes(6, "big") + src.mac.to_bytes(6, "big") + ethertype.to_bytes(2, "big") + payload
    return insert(frame, tci).ljust(FRAME_BYTES_MIN, b"\0")


def unwrap(frame: bytes) -> PtpFrame:
    """The message's bytes in a frame, also of one that was sent to us alone. PacketError where it is none of PTP."""
    at = wire.ip_offset(frame)
    if len(frame) < at:
        raise PacketError("ethernet", f"{len(frame)} bytes are not frame")
    tci = int.from_bytes(frame[at - 4 : at - 2], "big") if at > wire.ETH_BYTES else None
    ethertype, mac = int.from_bytes(frame[at - 2 : at], "big"), int.from_bytes(frame[6:12], "big")
    if ethertype == ETHERTYPE_PTP:
        return PtpFrame(frame[at:], "ethernet", Endpoint(mac, 0), tci)
    body = at + wire.IP_BYTES + wire.UDP_BYTES
    if ethertype != wire.ETHERTYPE_IPV4 or len(frame) < body:
        raise PacketError("ethernet", f"EtherType {ethertype:#06x} is not PTP's")
    version, _, ip_bytes, _, fragment, _, protocol, _, ip, _ = struct.unpack_from(">BBHHHBBHII", frame, at)
    if version != 0x45 or protocol != wire.PROTOCOL_UDP or fragment & wire.FRAGMENT or ip_bytes > len(frame) - at:
        raise PacketError("ipv4", "not a whole UDP datagram without options")
    if wire.ip_checksum(frame[at : at + wire.IP_BYTES]):
        raise PacketError("checksum", "the IPv4 header checksum is wrong")
    _, port, size, _ = struct.unpack_from(">HHHH", frame, at + wire.IP_BYTES)
    if port not in (EVENT_PORT, GENERAL_PORT) or not wire.UDP_BYTES <= size <= ip_bytes - wire.IP_BYTES:
        raise PacketError("port", f"UDP port {port} is not PTP's")
    return PtpFrame(frame[body : body + size - wire.UDP_BYTES], "udp", Endpoint(mac, ip), tci)
