"""Packets that are not of the session: what else comes in on a receiver's port. Each is right in itself."""

import struct
from collections.abc import Callable

from numpy.random import Generator

from framelane.models.roce_tx import roce_icrc, wire
from framelane.source.impairments.packet_fields import read, seal, span, width, write

_MULTICAST = 1 << 40
"""The bit of a MAC address, as an integer, that no single station has (IEEE 802.3, 3.2.3)."""
_ETHERTYPE_LLDP = 0x88CC
_CNP, _RC_ACKNOWLEDGE = 0x81, 0x11


def _changed(packet: bytes, rng: Generator, *names: str) -> bytes:
    """The packet with other values in these fields, those that it has."""
    for name in names:
        old = read(packet, name)
        if old is not None:
            drawn = int.from_bytes(rng.bytes(8), "big") & (1 << width(name)) - 1 & ~_MULTICAST
            packet = write(packet, name, drawn if drawn != old else drawn ^ 1)
    return seal(packet)


def _control(packet: bytes, opcode: int, rest: bytes) -> bytes:
    """A packet of the same two hosts that is not RDMA WRITE: BTH and `rest`."""
    if not span(packet, "bth.opcode"):
        return packet
    udp_bytes = wire.UDP_BYTES + wire.BTH_BYTES + len(rest) + wire.ICRC_BYTES
    small = write(write(packet, "ip.length", wire.IP_BYTES + udp_bytes), "udp.length", udp_bytes)
    small = write(write(small, "bth.opcode", opcode), "bth.pad", 0)
    bth = wire.ip_offset(packet) + wire.IP_BYTES + wire.UDP_BYTES
    return seal(roce_icrc.append(small[: bth + wire.BTH_BYTES] + rest))


def _session(packet: bytes, rng: Generator) -> bytes:
    return _changed(packet, rng, "bth.qpn", "bth.psn", "reth.va", "reth.rkey", "imm")


def _host(packet: bytes, rng: Generator) -> bytes:
    return _changed(packet, rng, "eth.src", "ip.src")


def _receiver(packet: bytes, rng: Generator) -> bytes:
    return _changed(packet, rng, "eth.dst", "ip.dst")


def _port(packet: bytes, rng: Generator) -> bytes:
    return _changed(packet, rng, "udp.dst")


def _cnp(packet: bytes, rng: Generator) -> bytes:
    return _control(packet, _CNP, bytes(16))


def _ack(packet: bytes, rng: Generator) -> bytes:
    return _control(packet, _RC_ACKNOWLEDGE, bytes(4))


def _arp(packet: bytes, rng: Generator) -> bytes:
    """Who has this address? (RFC 826)"""
    sender, asked = packet[6:12] + rng.bytes(4), bytes(6) + rng.bytes(4)
    fixed = struct.pack(">HHHBBH", 0x0806, 1, wire.ETHERTYPE_IPV4, 6, 4, 1)
    return b"\xff" * 6 + packet[6:12] + fixed + sender + asked + bytes(18)


def _lldp(packet: bytes, rng: Generator) -> bytes:
    """A switch tells its name (IEEE 802.1AB): chassis, port, time to live, end."""
    tlvs = bytes.fromhex("020704") + rng.bytes(6) + bytes.fromhex("040205 31 0602 0078 0000")
    return bytes.fromhex("0180c200000e") + rng.bytes(6) + struct.pack(">H", _ETHERTYPE_LLDP) + tlvs + bytes(24)


FOREIGN_PACKETS: dict[str, Callable[[bytes, Generator], bytes]] = {
    "session": _session,
    "host": _host,
    "receiver": _receiver,
    "port": _port,
    "cnp": _cnp,
    "ack": _ack,
    "arp": _arp,
    "lldp": _lldp,
}
"""Makers of a foreign packet, each from a packet of the session: of another session between the same two hosts, the
same from another host, the same for another receiver, for another UDP port; a congestion notification and an
acknowledgement of RC for the session's QP; ARP and LLDP."""
