"""Which frames that a MAC delivers are a detector's datagrams, and what is in them.

Layouts: IEEE 802.3, 802.1Q 9.6 (VLAN tag); RFC 791 (IPv4); RFC 768 (UDP).
"""

import struct
from dataclasses import dataclass

from framelane.models.roce_tx import wire
from framelane.models.roce_tx.wire import Endpoint

_SHORTEST = wire.ETH_BYTES + wire.IP_BYTES + wire.UDP_BYTES


@dataclass(frozen=True, slots=True)
class Datagram:
    """What is behind the UDP header, to the end of the frame, padding included.

    `stream` is the port, counted from the first one on; `size` what the UDP header says, in bytes.
    """

    stream: int
    size: int
    payload: bytes


def match(frame: bytes, local: Endpoint, first_port: int, ports: int) -> Datagram | None:
    """The datagram in a frame without FCS, None where there is none for these ports, or nothing in it.

    Without or with one VLAN tag. Only to the station's own addresses; IPv4 without options, whole. Checksums are not
    looked at, and it is not asked here whether the frame is as long as its headers say.
    """
    at = wire.ip_offset(frame)
    if len(frame) <= at - wire.ETH_BYTES + _SHORTEST or int.from_bytes(frame[:6], "big") != local.mac:
        return None
    if int.from_bytes(frame[at - 2 : at], "big") != wire.ETHERTYPE_IPV4:
        return None
    version, _, total, _, fragment, _, protocol, _, _, dst = struct.unpack_from(">BBHHHBBHII", frame, at)
    _, port, length = struct.unpack_from(">HHH", frame, at + wire.IP_BYTES)
    if version != 0x45 or fragment & wire.FRAGMENT or protocol != wire.PROTOCOL_UDP or dst != local.ip:
        return None
    if total != (length + wire.IP_BYTES) & 0xFFFF or not first_port <= port < first_port + ports:
        return None
    return Datagram(port - first_port, (length - wire.UDP_BYTES) & 0xFFFF, frame[at + wire.IP_BYTES + wire.UDP_BYTES :])
