"""Faults of one packet in a good stream, each with the cause for which a NIC does not place it, or with none.

For the responder of the soft NIC, the doctor, and the Linux driver: what each must say of the same packets.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from framelane.models.roce_tx import wire
from framelane.models.roce_tx.wire import UC, Opcode
from framelane.receiver.transport.refusals import Refusal
from packet_mutations import (
    Mutate,
    One,
    arp,
    at_the_end,
    carrying,
    flipped,
    forged,
    icrc_of,
    ipv6,
    merged,
    on,
    rebuilt,
    repeated,
    tagged,
    to,
    udp_checksum_right,
    udp_checksum_wrong,
    unsealed_ip,
    with_icrc,
    with_options,
    with_payload,
    without,
)


@dataclass(frozen=True, slots=True)
class PlantedFault:
    """One fault. `mutate` takes the packets of at least 3 whole frames over UC and gives them with the fault in.

    `cause` is the word of `Refusal`, or "vlan", or "" where nothing is wrong. `refused_by_nic`: Linux rxe does not
    place it (but 6.12 takes a full packet that ends its message too early). `segmentation` is the form of message in
    which the fault can be. `ends_qp`: rxe then drops all that follows until the QP is reset. `unsafe`: Linux 6.1 does
    not survive it. `soft_nic_takes_it`: the soft NIC places what rxe refuses. `seen_later`: not the changed packet is
    refused, but one that follows.
    """

    name: str
    mutate: Mutate
    cause: str
    refused_by_nic: bool = True
    segmentation: Literal["only", "message"] = "only"
    ends_qp: bool = False
    unsafe: bool = False
    soft_nic_takes_it: bool = False
    seen_later: bool = False


def first_change(good: Sequence[bytes], bad: Sequence[bytes]) -> int:
    """Index of the first packet of `bad` that is not `good`'s."""
    return next(n for n, packet in enumerate(bad) if n >= len(good) or packet != good[n])


def _fault(name: str, one: One, cause: str) -> PlantedFault:
    return PlantedFault(name, on(one), cause)


def _harmless(name: str, one: One) -> PlantedFault:
    return PlantedFault(name, on(one), "", refused_by_nic=False)


_FIRST, _MIDDLE, _LAST = Opcode.WRITE_FIRST, Opcode.WRITE_MIDDLE, Opcode.WRITE_LAST

_ETHERNET = [
    _fault("eth.dst: for another MAC", flipped("eth.dst", 0x10), Refusal.DESTINATION),
    _fault("eth.type: RoCE v1", to("eth.type", 0x8915), Refusal.ETHERNET),
    _fault("ARP", arp, Refusal.ETHERNET),
    _fault("IPv6", ipv6, Refusal.ETHERNET),
    _fault("runt: 30 bytes", lambda packet, session: packet[:30], Refusal.ETHERNET),
    PlantedFault("VLAN tag: of VLAN 100", on(tagged(100)), "vlan", soft_nic_takes_it=True),
]

_IPV4 = [
    _fault("ip.version: 6", to("ip.version", 6), Refusal.IPV4),
    _fault("ip.ihl: options", with_options, Refusal.IPV4),
    _fault("ip.length: more than the frame", forged("ip.length", lambda n, s: n + 4), Refusal.IPV4),
    _fault("ip.length: less than the datagram", forged("ip.length", lambda n, s: n - 4), Refusal.LENGTH),
    _fault("ip.id: not covered by the ICRC", unsealed_ip(to("ip.id", 0x1234)), Refusal.ICRC),
    PlantedFault("ip.flags: more fragments", on(flipped("ip.flags", 1)), Refusal.IPV4),
    PlantedFault("ip.fragment: not the first", on(to("ip.fragment", 185)), Refusal.IPV4),
    _fault("ip.protocol: TCP", to("ip.protocol", 6), Refusal.IPV4),
    _fault("ip.checksum", flipped("ip.checksum", 0x0100), Refusal.CHECKSUM),
    _fault("ip.ttl: changed, checksum not", flipped("ip.ttl", 1, sealed=False), Refusal.CHECKSUM),
    _fault("ip.src: from another host", flipped("ip.src", 0x20), Refusal.SOURCE),
    _fault("ip.dst: for another host", flipped("ip.dst", 0x20), Refusal.DESTINATION),
]

_UDP = [
    _fault("udp.dst: port 4792", to("udp.dst", 4792), Refusal.PORT),
    _fault("udp.length: more than came", forged("udp.length", lambda n, s: n + 4), Refusal.LENGTH),
    _fault("udp.length: less than came", forged("udp.length", lambda n, s: n - 4), Refusal.LENGTH),
    PlantedFault("udp.checksum: wrong", on(udp_checksum_wrong), Refusal.CHECKSUM, soft_nic_takes_it=True),
    _fault("UDP: ten bytes of text", lambda packet, session: carrying(packet, b"are you up"), Refusal.LENGTH),
]

_BTH = [
    _fault("bth.opcode: of no operation", to("bth.opcode", 0x2C), Refusal.OPCODE),
    _fault("bth.opcode: UD SEND", to("bth.opcode", 0x64), Refusal.OPCODE),
    _fault("bth.opcode: RC on a QP of UC", flipped("bth.opcode", UC), Refusal.SERVICE),
    _fault("bth.pad: 1 byte that is not a pad", to("bth.pad", 1), Refusal.LENGTH),
    _fault("bth.tver: 1", to("bth.tver", 1), Refusal.VERSION),
    _fault("bth.pkey: of another partition", to("bth.pkey", 0x8001), Refusal.PKEY),
    _fault("bth.qpn: of another QP", flipped("bth.qpn", 0x800), Refusal.QPN),
    _fault(
        "MIDDLE without FIRST",
        lambda packet, session: rebuilt(packet, wire.parse(packet)[1], _MIDDLE + UC),
        Refusal.SEQUENCE,
    ),
    _fault(
        "LAST without FIRST",
        lambda packet, session: rebuilt(packet, wire.parse(packet)[1], _LAST + UC),
        Refusal.SEQUENCE,
    ),
]

_RETH = [
    _fault("reth.va: 4 bytes below the ring", forged("reth.va", lambda n, s: s.base - 4), Refusal.BOUNDS),
    _fault("reth.va: the last 4 bytes above the ring", forged("reth.va", at_the_end(4)), Refusal.BOUNDS),
    _fault("reth.va: wraps 2^64", to("reth.va", (1 << 64) - 4), Refusal.BOUNDS),
    _fault("reth.va: an offset instead of an address", forged("reth.va", lambda n, s: n - s.base), Refusal.BOUNDS),
    _fault("reth.rkey: its key", flipped("reth.rkey", 1), Refusal.RKEY),
    _fault("reth.rkey: its index", flipped("reth.rkey", 0x100), Refusal.RKEY),
    _fault("reth.length: more than the payload", forged("reth.length", lambda n, s: n + 4), Refusal.LENGTH),
    _fault("reth.length: less than the payload", forged("reth.length", lambda n, s: n - 4), Refusal.LENGTH),
    _fault("reth.length: more than 2^31", to("reth.length", (1 << 31) + 1), Refusal.LENGTH),
    PlantedFault("reth.length: 0 with payload", on(to("reth.length", 0)), Refusal.LENGTH, unsafe=True),
]

_PAYLOAD = [
    _fault("payload: one bit", flipped("payload", 1 << 77, sealed=False), Refusal.ICRC),
    _fault("payload: 4 bytes too few", with_payload(lambda data: data[:-4]), Refusal.LENGTH),
    _fault("payload: 4 bytes too many", with_payload(lambda data: data + bytes(4)), Refusal.LENGTH),
    _fault("truncated: 100 bytes", lambda packet, session: packet[:-100], Refusal.IPV4),
    PlantedFault("path MTU: twice the session's", merged, Refusal.LENGTH),
]

_ICRC = [
    _fault("ICRC: one bit", flipped("icrc", 1), Refusal.ICRC),
    _fault("ICRC: inverted, of a poisoned packet", flipped("icrc", 0xFFFFFFFF), Refusal.ICRC),
    _fault("ICRC: most significant byte first", with_icrc(lambda frame: icrc_of(frame)[::-1]), Refusal.ICRC),
    _fault("ICRC: not over the 8 ones", with_icrc(lambda frame: icrc_of(frame, ones=0)), Refusal.ICRC),
    _fault("ICRC: over the time to live", with_icrc(lambda frame: icrc_of(frame, but=(8,))), Refusal.ICRC),
    _fault("ICRC: over the IPv4 checksum", with_icrc(lambda frame: icrc_of(frame, but=(10, 11))), Refusal.ICRC),
    _fault("ICRC: over BTH resv8a", with_icrc(lambda frame: icrc_of(frame, but=(32,))), Refusal.ICRC),
    _fault("ICRC: none", lambda packet, session: carrying(packet, packet[42:-4]), Refusal.ICRC),
]

_MESSAGES = [
    PlantedFault("FIRST lost", without(_FIRST), Refusal.SEQUENCE, segmentation="message"),
    PlantedFault("MIDDLE lost", without(_MIDDLE), Refusal.SEQUENCE, segmentation="message", ends_qp=True),
    PlantedFault(
        "FIRST shorter than the path MTU",
        on(with_payload(lambda data: data[:-4]), _FIRST),
        Refusal.LENGTH,
        segmentation="message",
    ),
    PlantedFault(
        "MIDDLE shorter than the path MTU",
        on(with_payload(lambda data: data[:-4]), _MIDDLE),
        Refusal.LENGTH,
        segmentation="message",
        ends_qp=True,
    ),
    PlantedFault(
        "LAST before its time",
        on(to("bth.opcode", _LAST + UC), _MIDDLE),
        Refusal.LENGTH,
        segmentation="message",
        ends_qp=True,
    ),
    PlantedFault(
        "reth.length: of more than the message",
        on(forged("reth.length", lambda n, s: n + 4), _FIRST),
        Refusal.LENGTH,
        segmentation="message",
        ends_qp=True,
        seen_later=True,
    ),
    PlantedFault(
        "reth.va: a message that leaves the ring",
        on(forged("reth.va", at_the_end(4)), _FIRST),
        Refusal.BOUNDS,
        segmentation="message",
    ),
    PlantedFault(
        "bth.psn: of a MIDDLE, one too many",
        on(forged("bth.psn", lambda n, s: n + 1), _MIDDLE),
        Refusal.SEQUENCE,
        segmentation="message",
        ends_qp=True,
    ),
]

_LATE = [
    PlantedFault("a packet of an earlier frame, again", repeated, Refusal.LATE, refused_by_nic=False),
    PlantedFault(
        "bth.psn: of an earlier frame", on(forged("bth.psn", lambda n, s: n - 1000)), Refusal.LATE, refused_by_nic=False
    ),
]

HARMLESS = [
    _harmless("eth.src: of a router", flipped("eth.src", 0x10)),
    _harmless("priority tag: VLAN 0", tagged(0x6000)),
    _harmless("ip.tos: congestion experienced", to("ip.tos", 0x6B)),
    _harmless("ip.ttl: 1", to("ip.ttl", 1)),
    _harmless("ip.id: covered by the ICRC", to("ip.id", 0x1234)),
    _harmless("ip.flags: may be fragmented", to("ip.flags", 0)),
    _harmless("udp.src: another port", flipped("udp.src", 0x0FFF)),
    _harmless("udp.checksum: right", udp_checksum_right),
    _harmless("bth.se: solicited", to("bth.se", 1)),
    _harmless("bth.m: 0", to("bth.m", 0)),
    _harmless("bth.pkey: limited member", to("bth.pkey", 0x7FFF)),
    _harmless("bth.resv8a: FECN and BECN", to("bth.resv8a", 0xC0)),
    _harmless("bth.ack: asks for one", to("bth.ack", 1)),
    _harmless("bth.resv7: ones", to("bth.resv7", 0x7F)),
    _harmless("bth.psn: 1000 ahead", forged("bth.psn", lambda n, s: n + 1000)),
    _harmless("Ethernet: bytes behind the packet", lambda packet, session: packet + bytes(18)),
]
"""Changes to one packet that a NIC places all the same."""

FAULTS = [*_ETHERNET, *_IPV4, *_UDP, *_BTH, *_RETH, *_PAYLOAD, *_ICRC, *_MESSAGES, *_LATE]
"""What a NIC does not place, and what only the soft NIC refuses."""
