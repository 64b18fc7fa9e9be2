"""Acknowledgements of RC (InfiniBand vol. 1, 9.7.5; AETH: 9.3.5): BTH, AETH, ICRC."""

import struct
from dataclasses import dataclass

from framelane.base.errors import PacketError
from framelane.models.roce_tx import roce_icrc, wire
from framelane.models.roce_tx.wire import Endpoint

ACKNOWLEDGE = 0x11
"""BTH opcode."""
_AETH_BYTES = 4
_BYTES = wire.ETH_BYTES + wire.IP_BYTES + wire.UDP_BYTES + wire.BTH_BYTES + _AETH_BYTES + wire.ICRC_BYTES
_BTH = wire.ETH_BYTES + wire.IP_BYTES + wire.UDP_BYTES


@dataclass(frozen=True, slots=True)
class Acknowledgement:
    """One packet: from whom to which QP, the last PSN that arrived, and how many messages have ended (MSN, 24 bits).

    `kind` is what it says (syndrome, bits 6 and 5): 0 ACK, 1 RNR NAK, 3 NAK; `value` the other 5 bits, its credits or
    its code.
    """

    src: Endpoint
    dst: Endpoint
    qpn: int
    psn: int
    msn: int
    kind: int
    value: int


def parse(frame: bytes) -> Acknowledgement:
    """An Ethernet frame without FCS and VLAN tag. PacketError for any other packet, and for a wrong ICRC."""
    if len(frame) < _BTH or frame[12:14] != wire.ETHERTYPE_IPV4.to_bytes(2, "big") or frame[14] != 0x45:
        raise PacketError("ethernet", f"{frame[:18].hex()}... is not an IPv4 packet without options")
    (ip_bytes,) = struct.unpack_from(">H", frame, wire.ETH_BYTES + 2)
    if len(frame) < _BYTES or ip_bytes != _BYTES - wire.ETH_BYTES:
        raise PacketError(
            "length", f"{len(frame)} bytes, {ip_bytes} of IPv4, are not an acknowledgement: it has {_BYTES}"
        )
    frame = frame[:_BYTES]
    (udp_port,) = struct.unpack_from(">H", frame, wire.ETH_BYTES + wire.IP_BYTES + 2)
    opcode, _, _, qpn, psn, aeth = struct.unpack_from(">BBHIII", frame, _BTH)
    if (opcode, udp_port) != (ACKNOWLEDGE, wire.ROCE_PORT):
        raise PacketError("opcode", f"BTH opcode {opcode:#x} on UDP port {udp_port} is not an acknowledgement")
    if not roce_icrc.check(frame):
        raise PacketError("icrc", f"the ICRC of an acknowledgement of PSN {psn & 0xFFFFFF:#x} is wrong")
    src_ip, dst_ip = struct.unpack_from(">II", frame, wire.ETH_BYTES + 12)
    return Acknowledgement(
        Endpoint(int.from_bytes(frame[6:12], "big"), src_ip),
        Endpoint(int.from_bytes(frame[:6], "big"), dst_ip),
        qpn & 0xFFFFFF,
        psn & 0xFFFFFF,
        aeth & 0xFFFFFF,
        aeth >> 29 & 3,
        aeth >> 24 & 0x1F,
    )
