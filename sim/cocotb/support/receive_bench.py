"""What the benches of the receive path share: a source that cannot wait; packets as scapy builds and NICs send them."""

from collections import Counter
from collections.abc import Callable, Sequence
from ipaddress import IPv4Address
from typing import Any

from scapy.contrib.roce import AETH, BTH, cnp
from scapy.layers.inet import IP, UDP
from scapy.layers.l2 import Dot1Q, Ether
from scapy.packet import Packet

from bench import Bench, Source, Stalls
from framelane.driver.simulated.ports import Struct
from framelane.models.roce_tx.wire import Endpoint
from framelane.models.station.roce_rx import Event, EventKind
from framelane.models.station.rx_filter import RxClass, RxUser
from signals import now

TAG_T = Struct(has_vlan=1, tci=16)
RX_USER_T = Struct(rx_class=2, **TAG_T.fields)
EVENT_T = Struct(qp=8, kind=3, psn=24, value=5, msn=24)

LOCAL = Endpoint(mac=0x020000000022, ip=0xC6336402)
PEER = Endpoint(mac=0x020000000011, ip=0xC6336401)

CNP_OF_CONNECTX_4_LX = bytes.fromhex(
    "e41d2dab2bc27cfe90643b32080045c2003c718c400040119161"
    "0a0011010a001201000012b7002800008100ffff40000118000000000000000000000000000000000000000082fd002a"
)
"""From scapy's test/contrib/roce.uts."""

ANSWERS_OF_RXE: dict[bytes, Event] = {
    bytes.fromhex("02000000002202000000001108004500" + text): event
    for text, event in (
        (
            "003008f040004011dd62c6336401c6336402c02212b7001c00001100ffff0000000200fa48931f000001b9a36e2a",
            Event(0, EventKind.ACK, 0xFA4893, 31, 1),
        ),
        (
            "003008f440004011dd5ec6336401c6336402c02212b7001c00001100ffff0000000200fa48941f000002f60612e0",
            Event(0, EventKind.ACK, 0xFA4894, 31, 2),
        ),
        (
            "0030096140004011dcf1c6336401c6336402c02412b7001c00001100ffff0000000200012be160000000eeb94b7c",
            Event(0, EventKind.NAK_SEQUENCE, 0x12BE1, 0, 0),
        ),
        (
            "00300b6c40004011dae6c6336401c6336402c02612b7001c00001100ffff00000002002777e7620000000ec54a50",
            Event(0, EventKind.NAK_ACCESS, 0x2777E7, 2, 0),
        ),
        (
            "0030136140004011d2f1c6336401c6336402c02a12b7001c00001100ffff00000002007733e5610000003e8c55b7",
            Event(0, EventKind.NAK_INVALID, 0x7733E5, 1, 0),
        ),
        (
            "003010a940004011d5a9c6336401c6336402c02812b7001c00001100ffff00000002004fa75e21000005aa50a870",
            Event(0, EventKind.RNR, 0x4FA75E, 1, 5),
        ),
        (
            "003010aa40004011d5a8c6336401c6336402c02812b7001c00001100ffff00000002004fa75e6000000509739b80",
            Event(0, EventKind.NAK_SEQUENCE, 0x4FA75E, 0, 5),
        ),
        (
            "0030187b40004011cdd7c6336401c6336402c02c12b7001c00001100ffff0000000200640e071f000002e0900764",
            Event(0, EventKind.ACK, 0x640E07, 31, 2),
        ),
    )
}
"""What Linux 6.12's SoftRoCE driver answered QP 2: to good packets; to a gap; to a wrong rkey; to a MIDDLE that begins
a message; to an immediate for which no receive was posted, and the packets behind it; to duplicates."""


def line(bench: Bench, stalls: Stalls, name: str = "s_axis") -> Source:
    """A source of a stream that cannot wait; if it stalls, its beats come with gaps."""
    pauses: Callable[[], bool] = bench._pauses(stalls.source)
    bench._sources.append(Source(bench.dut, name, pauses))
    return bench._sources[-1]


def count_pulses(bench: Bench, signal: Any) -> Counter[int]:
    """How often each bit of `signal` is high from now on, by its index."""
    counted: Counter[int] = Counter()

    def look() -> None:
        bits = now(signal)
        counted.update(k for k in range(bits.bit_length()) if bits >> k & 1)

    bench.watch(look)
    return counted


def rx_user(bits: int) -> RxUser:
    """What travels beside a frame, from the bits of rx_user_t; without a tag its bits are 0."""
    user = RX_USER_T.unpack(bits)
    assert user["has_vlan"] or not user["tci"]
    return RxUser(RxClass(user["rx_class"]), user["tci"] if user["has_vlan"] else None)


def rx_user_bits(user: RxUser) -> int:
    """The bits of rx_user_t."""
    tag = {"has_vlan": user.tci is not None, "tci": user.tci or 0}
    return RX_USER_T.pack({"rx_class": user.rx_class, **tag})


def ethernet(src: Endpoint = PEER, dst: Endpoint = LOCAL, tci: int | None = None) -> Packet:
    """An Ethernet header of scapy, with or without VLAN tag."""
    header = Ether(src=src.mac.to_bytes(6, "big").hex(":"), dst=dst.mac.to_bytes(6, "big").hex(":"))
    return header if tci is None else header / Dot1Q(prio=tci >> 13, dei=tci >> 12 & 1, vlan=tci & 0xFFF)


def ip(src: Endpoint = PEER, dst: Endpoint = LOCAL, **fields: Any) -> Packet:
    """An IPv4 header of scapy."""
    return IP(src=str(IPv4Address(src.ip)), dst=str(IPv4Address(dst.ip)), **fields)


def acknowledge(
    qpn: int, psn: int, syndrome: int = 0x1F, msn: int = 0, *, under: Packet | None = None, pkey: int = 0xFFFF
) -> bytes:
    """An acknowledgement of any kind; `under` is what is in front of its UDP header."""
    bth = BTH(opcode="RC_ACKNOWLEDGE", dqpn=qpn, psn=psn, pkey=pkey)
    layers = (under or ethernet() / ip(flags="DF")) / UDP(sport=0xC000, dport=4791, chksum=0) / bth
    return bytes(layers / AETH(syndrome=syndrome, msn=msn))


def congestion(qpn: int, *, under: Packet | None = None, pkey: int = 0xFFFF) -> bytes:
    """A CNP."""
    packet = cnp(dqpn=qpn)
    packet.pkey = pkey
    return bytes((under or ethernet() / ip(flags="DF")) / UDP(sport=0, dport=4791, chksum=0) / packet)


def corruptions(frame: bytes) -> list[bytes]:
    """The frame with each of its bits wrong."""
    return [
        frame[:at] + bytes([frame[at] ^ 1 << bit]) + frame[at + 1 :] for at in range(len(frame)) for bit in range(8)
    ]


def truncations(frame: bytes) -> Sequence[bytes]:
    """The frame, ending behind each of its bytes but the last."""
    return [frame[:length] for length in range(1, len(frame))]
