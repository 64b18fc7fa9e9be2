"""What else is in a capture: other protocols, other traffic of RoCE, the receiver's own answers."""

from framelane.doctor.answers import answer
from framelane.doctor.cause import Cause, Finding, Kind, Placer, found
from framelane.doctor.packets import ethernet
from framelane.doctor.packets.dissect import Packet
from framelane.doctor.target import Target, ip_text
from framelane.models.roce_tx.wire import ETHERTYPE_IPV4, ROCE_PORT

_PROTOCOLS = {
    0x0806: "ARP",
    0x86DD: "IPv6",
    0x8808: "MAC control (pause, PFC)",
    0x8809: "slow protocols (LACP)",
    0x88CC: "LLDP",
    0x88F7: "PTP",
    0x8863: "PPPoE",
    0x8864: "PPPoE",
}
_IP_PROTOCOLS = {1: "ICMP", 2: "IGMP", 6: "TCP", 17: "UDP"}
_LOWEST_ETHERTYPE = 0x600

OTHER = Cause("other-traffic", Kind.NOISE, "not RoCE, and not for this session", "nothing", Placer.ALL)
OTHER_ROCE = Cause(
    "other-roce",
    Kind.NOISE,
    "RoCE v2 of others: neither from the session's source nor for its receiver",
    "nothing; if the source should be among them, it has the addresses of another session",
    Placer.ALL,
)
CAUSES = (OTHER, OTHER_ROCE)


def sort(packet: Packet, target: Target) -> Finding | None:
    """Why a packet is not of the session; None where it is, or is meant to be."""
    if packet.ethertype == ethernet.ETHERTYPE_ROCE_V1:
        return _v1(packet, target)
    if packet.ethertype == ethernet.ETHERTYPE_IPV6 and _is_roce_v6(packet):
        return found(ethernet.IPV6, f"IPv6 and UDP port {ROCE_PORT}")
    if packet.ip is None:
        known = packet.dst_mac == target.dst_mac or packet.src_mac == target.src_mac
        mine = packet.ethertype == -1 or (packet.ethertype == ETHERTYPE_IPV4 and known)
        return None if mine else found(OTHER, _protocol(packet.ethertype))
    said = answer(packet, target)
    if said:
        return said
    hints = _hints(packet, target)
    if packet.is_roce:
        text = f"RoCE v2 from {ip_text(packet.ip.src)} to {ip_text(packet.ip.dst)}"
        return None if hints else found(OTHER_ROCE, text)
    unknown = packet.ip.fragment & 0x3FFF or packet.is_cut
    if hints >= 3 and (_shows_session(packet, target) or unknown):
        return None
    if packet.udp is not None and packet.udp.dst_port == ROCE_PORT and hints:
        return None
    if packet.ethertype != ETHERTYPE_IPV4:
        return found(OTHER, _protocol(packet.ethertype))
    return found(OTHER, f"{_IP_PROTOCOLS.get(packet.ip.protocol, f'IP protocol {packet.ip.protocol}')} over IPv4")


def _hints(packet: Packet, target: Target) -> int:
    """How many of the addresses and numbers of the session a packet has."""
    ip, bth, reth = packet.ip, packet.bth, packet.reth
    return sum(
        (
            ip is not None and ip.src == target.src_ip,
            ip is not None and ip.dst == target.dst_ip,
            packet.dst_mac == target.dst_mac,
            bth is not None and bth.qpn == target.session.qpn,
            reth is not None and reth.rkey == target.session.rkey,
        )
    )


def _shows_session(packet: Packet, target: Target) -> bool:
    """Whether the QPN of the session is where a BTH would have it, whatever the headers before say."""
    at = packet.ip_at + 20 + 8 + 5
    return packet.frame[at : at + 3] == target.session.qpn.to_bytes(3, "big")


def _is_roce_v6(packet: Packet) -> bool:
    header = packet.frame[packet.ip_at :]
    return header[6:7] == b"\x11" and header[42:44] == ROCE_PORT.to_bytes(2, "big")


def _v1(packet: Packet, target: Target) -> Finding:
    text = "EtherType 0x8915, should be 0x0800"
    if target.dst_mac == packet.dst_mac or target.src_mac == packet.src_mac:
        return found(ethernet.ROCE_V1, text)
    return found(OTHER, "RoCE v1")


def _protocol(ethertype: int) -> str:
    if ethertype < _LOWEST_ETHERTYPE:
        return "IEEE 802.3 with a length (spanning tree)"
    return _PROTOCOLS.get(ethertype, f"EtherType {ethertype:#06x}")
