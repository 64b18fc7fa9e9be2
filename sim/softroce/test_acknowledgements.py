"""Acknowledgements as another implementation makes them, and what is none."""

import pytest

import acknowledgements
from acknowledgements import Acknowledgement
from framelane.base.errors import PacketError
from framelane.models.roce_tx.wire import Endpoint

roce = pytest.importorskip("scapy.contrib.roce", reason="scapy is not installed: make setup")
from scapy.layers.inet import IP, UDP  # noqa: E402
from scapy.layers.l2 import Ether  # noqa: E402


def packet(syndrome: int = 0x1F, opcode: int = acknowledgements.ACKNOWLEDGE) -> bytes:
    ethernet = Ether(src="02:00:00:00:00:11", dst="02:00:00:00:00:22")
    ip = IP(src="198.51.100.1", dst="198.51.100.2", id=0, flags="DF")
    bth = roce.BTH(opcode=opcode, dqpn=0xF1A7, psn=0xFFFFFE, migreq=1)
    return bytes(ethernet / ip / UDP(sport=0xC000, dport=4791, chksum=0) / bth / roce.AETH(syndrome=syndrome, msn=7))


def test_every_field_is_read_also_behind_the_padding_of_a_short_frame() -> None:
    src, dst = Endpoint(0x020000000011, 0xC6336401), Endpoint(0x020000000022, 0xC6336402)
    expected = Acknowledgement(src, dst, qpn=0xF1A7, psn=0xFFFFFE, msn=7, kind=0, value=0x1F)
    assert acknowledgements.parse(packet()) == expected
    assert acknowledgements.parse(packet() + bytes(6)) == expected


@pytest.mark.parametrize(("syndrome", "kind", "value"), [(0x21, 1, 1), (0x60, 3, 0), (0x62, 3, 2)])
def test_a_nak_is_told_from_an_ack(syndrome: int, kind: int, value: int) -> None:
    found = acknowledgements.parse(packet(syndrome))
    assert (found.kind, found.value) == (kind, value)


@pytest.mark.parametrize(
    ("frame", "reason"),
    [
        (packet()[:-1] + bytes([packet()[-1] ^ 1]), "icrc"),
        (packet(opcode=0x31), "opcode"),
        (packet()[:40], "ethernet"),
        (packet()[:-2], "length"),
        (packet()[:12] + b"\x08\x06" + packet()[14:], "ethernet"),
    ],
    ids=["ICRC", "of UC", "runt", "cut off", "ARP"],
)
def test_another_packet_is_no_acknowledgement(frame: bytes, reason: str) -> None:
    with pytest.raises(PacketError) as caught:
        acknowledgements.parse(frame)
    assert caught.value.reason == reason
