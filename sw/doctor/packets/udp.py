"""UDP (RFC 768): port 4791, the right length, a checksum of zero or a right one."""

import struct
from collections.abc import Iterator

from framelane.doctor.cause import Cause, Finding, Kind, Placer, found
from framelane.doctor.packets.dissect import Packet
from framelane.models.roce_tx.wire import PROTOCOL_UDP, ROCE_PORT
from framelane.receiver.transport.refusals import Refusal

PORT = Cause(
    "udp-port",
    Kind.FAULT,
    "the UDP destination port is not RoCE's 4791",
    "send to port 4791 (0x12b7, high byte first)",
    Placer.ALL,
    Refusal.PORT,
)
LENGTH = Cause(
    "udp-length",
    Kind.FAULT,
    "the UDP length is not that of the IP payload",
    "UDP length = IP total length - 20: its own 8 bytes, pad and ICRC counted",
    Placer.ALL,
    Refusal.LENGTH,
)
SHORT = Cause(
    "udp-short",
    Kind.FAULT,
    "the UDP datagram is too short for a BTH and an ICRC",
    "look at what builds the packet: its end was lost, or it is not a RoCE packet",
    Placer.ALL,
    Refusal.LENGTH,
)
CHECKSUM = Cause(
    "udp-checksum",
    Kind.FAULT,
    "the UDP checksum is neither 0 nor right: the kernel drops the packet before SoftRoCE or a UDP socket sees it",
    "send 0, as RoCE v2 says (InfiniBand vol. 1, annex A17); the ICRC protects the packet",
    Placer.SOFT_ROCE,
)
OFFLOAD = Cause(
    "udp-checksum-offload",
    Kind.NOTE,
    "the UDP checksum covers the pseudo header only: the sender's NIC fills it in after the capture",
    "nothing: the capture was made at the sender, or on lo or veth",
)


def sums(packet: Packet) -> tuple[int, int]:
    """The right UDP checksum, and what the kernel leaves there for a NIC to complete (RFC 768)."""
    ip, udp = packet.ip, packet.udp
    assert ip is not None
    assert udp is not None
    pseudo = struct.pack(">IIBBH", ip.src, ip.dst, 0, PROTOCOL_UDP, udp.bytes)
    datagram = packet.frame[packet.udp_at : packet.udp_at + udp.bytes]
    covered = datagram[:6] + b"\0\0" + datagram[8:]
    partial = _fold(pseudo)
    return (_fold(pseudo + covered + bytes(len(covered) & 1)) ^ 0xFFFF) or 0xFFFF, partial


def _fold(data: bytes) -> int:
    total: int = sum(struct.unpack(f">{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return total


def check(packet: Packet) -> Iterator[Finding]:
    """What is wrong with the UDP header of a packet that is meant for the session."""
    ip, udp = packet.ip, packet.udp
    if ip is None:
        return
    if udp is None:
        if ip.protocol == PROTOCOL_UDP and not ip.fragment & 0x1FFF and not packet.is_cut:
            yield found(SHORT, f"{max(0, len(packet.frame) - packet.udp_at)} bytes of UDP came")
        return
    if udp.dst_port != ROCE_PORT:
        yield found(PORT, f"destination port {udp.dst_port}, should be {ROCE_PORT}")
    carried = ip.total_bytes - packet.header_bytes
    if udp.bytes != carried:
        yield found(LENGTH, f"UDP length {udp.bytes}, the IP header leaves {carried}")
    elif packet.is_cut:
        pass  # what is behind the cut is not known
    elif packet.bth is None:
        yield found(SHORT, f"UDP length {udp.bytes}: at least 24 is needed")
    elif udp.checksum:
        right, partial = sums(packet)
        if udp.checksum == partial and udp.checksum != right:
            yield found(OFFLOAD, f"checksum {udp.checksum:#06x}")
        elif udp.checksum != right:
            yield found(CHECKSUM, f"checksum {udp.checksum:#06x}, should be 0 (or {right:#06x})")


CAUSES = (PORT, LENGTH, SHORT, CHECKSUM, OFFLOAD)
