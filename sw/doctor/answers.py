"""What the receiver says in return: acknowledgements of RC, congestion notices, and ICMP of its kernel or a router."""

from framelane.doctor.cause import Cause, Finding, Kind, Placer, found
from framelane.doctor.packets.dissect import Packet
from framelane.doctor.target import Target, ip_text
from framelane.models.roce_tx.wire import PROTOCOL_UDP, ROCE_PORT

_ACKNOWLEDGE, _CNP = 0x11, 0x81
_ICMP, _UNREACHABLE, _EXCEEDED = 1, 3, 11
_NAKS = {
    0: ("PSN sequence error: a packet before is missing", Kind.NETWORK),
    1: ("invalid request: opcode, length or their order", Kind.FAULT),
    2: ("remote access error: rkey, bounds of the ring, or no permission", Kind.FAULT),
    3: ("remote operational error: the receiver has failed", Kind.FAULT),
    4: ("invalid RD request", Kind.FAULT),
}
"""By the low 5 bits of the AETH's syndrome (InfiniBand vol. 1, 9.7.5.2.1, table 46)."""

ACK = Cause("ack", Kind.NOTE, "an acknowledgement of the receiver", "nothing", Placer.ALL)
NAK_SEQUENCE = Cause(
    "nak-sequence",
    Kind.NETWORK,
    "the receiver says that a packet is missing (NAK 0)",
    "the source must send again from that PSN on",
    Placer.ALL,
)
NAK = Cause(
    "nak",
    Kind.FAULT,
    "the receiver's NIC refuses a packet: its QP is in the error state from here on",
    "look at the packet with this PSN in this report, then start the receiver again",
    Placer.ALL,
)
RNR = Cause(
    "rnr-nak",
    Kind.FAULT,
    "the receiver has no receive request posted for a packet with immediate (RNR NAK)",
    "give the receive queue more requests, or look why the receiver has stopped",
    Placer.ALL,
)
CNP = Cause(
    "cnp",
    Kind.WARNING,
    "the receiver's NIC has seen congestion marks and asks the source to slow down (CNP)",
    "look for the congested switch port; pace the source",
    Placer.ALL,
)
PORT_UNREACHABLE = Cause(
    "icmp-port-unreachable",
    Kind.WARNING,
    "the receiver's kernel answers that nothing listens on port 4791",
    "right with an AF_PACKET receiver; otherwise no receiver runs: start it, or add the rxe device",
    Placer.ALL,
)
UNREACHABLE = Cause(
    "icmp-unreachable",
    Kind.FAULT,
    "a router or firewall answers that the receiver cannot be reached",
    "look at the routes, and at the firewall of the one who answers",
    Placer.ALL,
)
TOO_BIG = Cause(
    "icmp-too-big",
    Kind.FAULT,
    "a router answers that the packets are longer than the MTU of its next link",
    "raise the MTU there, or lower the mtu of the session",
    Placer.ALL,
)
EXCEEDED = Cause(
    "icmp-ttl",
    Kind.FAULT,
    "a router answers that the TTL of a packet has run out",
    "look for a loop of routes, or let the source send a TTL of 64",
    Placer.ALL,
)
ANSWER = Cause("answer", Kind.NOTE, "another RoCE packet from the receiver to the source", "nothing", Placer.ALL)
CAUSES = (ACK, NAK_SEQUENCE, NAK, RNR, CNP, PORT_UNREACHABLE, UNREACHABLE, TOO_BIG, EXCEEDED, ANSWER)


def answer(packet: Packet, target: Target) -> Finding | None:
    """What the packet answers to the source; None where it is not an answer."""
    ip = packet.ip
    if ip is None:
        return None
    if ip.protocol == _ICMP:
        return _icmp(packet)
    if (ip.src, ip.dst) != (target.dst_ip, target.src_ip) or not packet.is_roce or ip.src == ip.dst:
        return None
    bth = packet.bth
    assert bth is not None
    if bth.opcode == _CNP:
        return found(CNP, f"for QP {bth.qpn:#x}")
    if bth.opcode != _ACKNOWLEDGE:
        return found(ANSWER, f"opcode {bth.opcode:#04x}, PSN {bth.psn:#x}")
    syndrome = packet.frame[packet.payload_at]
    if syndrome >> 5 == 0:
        return found(ACK, f"PSN {bth.psn:#x}")
    if syndrome >> 5 == 1:
        return found(RNR, f"PSN {bth.psn:#x}")
    text, kind = _NAKS.get(syndrome & 31, (f"syndrome {syndrome:#04x}", Kind.FAULT))
    return found(NAK_SEQUENCE if kind is Kind.NETWORK else NAK, f"NAK {syndrome & 31} at PSN {bth.psn:#x}: {text}")


def _icmp(packet: Packet) -> Finding | None:
    """An ICMP error about a packet for the RoCE port (RFC 792: the IP header and 8 bytes of that packet follow)."""
    assert packet.ip is not None
    at = packet.udp_at
    inner = packet.frame[at + 8 :]
    if len(inner) < 28 or inner[9] != PROTOCOL_UDP:
        return None
    udp = (inner[0] & 15) * 4
    if inner[udp + 2 : udp + 4] != ROCE_PORT.to_bytes(2, "big"):
        return None
    kind, code = packet.frame[at], packet.frame[at + 1]
    text = f"from {ip_text(packet.ip.src)}, about a packet for {ip_text(int.from_bytes(inner[16:20], 'big'))}"
    if kind == _UNREACHABLE and code == 3:
        return found(PORT_UNREACHABLE, text)
    if kind == _UNREACHABLE and code == 4:
        mtu = int.from_bytes(packet.frame[at + 6 : at + 8], "big")
        return found(TOO_BIG, f"{text}: its MTU is {mtu}")
    if kind == _EXCEEDED:
        return found(EXCEEDED, text)
    return found(UNREACHABLE, f"{text}: code {code}") if kind == _UNREACHABLE else None
