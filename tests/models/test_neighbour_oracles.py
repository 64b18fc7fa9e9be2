"""The models of ARP, ICMP echo and pause beside scapy, which builds and reads the same frames by its own code."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scapy.contrib.mac_control import MACControlClassBasedFlowControl, MACControlPause
from scapy.layers.inet import ICMP, IP
from scapy.layers.l2 import ARP, Ether
from scapy.packet import Packet, Raw

from framelane.models.cells.vlan_insert import insert
from framelane.models.roce_tx.wire import Endpoint
from framelane.models.station import icmp_echo
from framelane.models.station.arp import Arp, ArpPacket, Heard, Operation
from framelane.models.station.icmp_echo import Verdict
from framelane.models.station.pause import Heard as Paused
from framelane.models.station.pause import Pause

US = Endpoint(0x02_00_00_00_00_01, 0x0A_4D_00_02)
PEER = Endpoint(0x02_00_00_00_00_22, 0x0A_4D_00_01)
OUR_MAC, OUR_IP, PEER_MAC, PEER_IP = "02:00:00:00:00:01", "10.77.0.2", "02:00:00:00:00:22", "10.77.0.1"
ONE_QUANTUM_A_CLOCK = 1 << 16

endpoints = st.builds(Endpoint, st.integers(0, (1 << 48) - 1), st.integers(0, (1 << 32) - 1))


def padded(frame: Packet) -> bytes:
    return bytes(frame).ljust(60, b"\0")


@given(st.sampled_from(Operation), endpoints, endpoints)
def test_an_arp_frame_is_scapys(operation: Operation, sender: Endpoint, target: Endpoint) -> None:
    def mac(end: Endpoint) -> str:
        return end.mac.to_bytes(6).hex(":")

    def ip(end: Endpoint) -> str:
        return ".".join(map(str, end.ip.to_bytes(4)))

    packet = ARP(op=operation, hwsrc=mac(sender), psrc=ip(sender), hwdst=mac(target), pdst=ip(target))
    expected = padded(Ether(dst=PEER_MAC, src=mac(sender)) / packet)
    assert ArpPacket(operation, sender, target).frame(PEER.mac) == expected


def test_scapy_understands_the_answer_to_its_question() -> None:
    arp = Arp(US)
    question = Ether(dst="ff:ff:ff:ff:ff:ff", src=PEER_MAC) / ARP(hwsrc=PEER_MAC, psrc=PEER_IP, pdst=OUR_IP)
    assert arp.receive(padded(question)) is Heard.ANSWERED
    answer = Ether(arp.sent.pop()[0])
    assert answer.answers(question)
    assert (answer[ARP].hwsrc, answer[ARP].psrc, answer[Ether].dst) == (OUR_MAC, OUR_IP, PEER_MAC)


@settings(max_examples=300)
@given(
    st.one_of(st.binary(max_size=64), st.binary(min_size=1472, max_size=1472), st.just(b"\xff" * 100)),
    st.integers(0, 0xFFFF),
    st.integers(0, 0xFFFF),
    st.integers(0, 0xFF),
)
def test_an_echo_reply_is_scapys(data: bytes, number: int, sequence: int, tos: int) -> None:
    ether = Ether(dst=OUR_MAC, src=PEER_MAC)
    request = ether / IP(src=PEER_IP, dst=OUR_IP, tos=tos, id=number) / ICMP(id=number, seq=sequence) / Raw(data)
    frame = padded(request)
    assert icmp_echo.judge(frame, US) is Verdict.ANSWERED
    answer = icmp_echo.answer(frame, US)
    ip = IP(src=OUR_IP, dst=PEER_IP, tos=tos, id=0, flags="DF", ttl=64)
    expected = padded(
        Ether(dst=PEER_MAC, src=OUR_MAC) / ip / ICMP(type="echo-reply", id=number, seq=sequence) / Raw(data)
    )
    # Zero has two checksums, 0 and 0xFFFF; RFC 1624 may give the other one.
    same = {answer[36:38], expected[36:38]} <= {b"\0\0", b"\xff\xff"} or answer[36:38] == expected[36:38]
    assert same
    assert answer[:36] + answer[38:] == expected[:36] + expected[38:]
    assert not icmp_echo.checksum(answer[34 : 42 + len(data)])


@given(st.binary(max_size=40), st.integers(0), st.integers(1, 255))
def test_a_request_with_a_wrong_byte_is_not_answered(data: bytes, where: int, wrong: int) -> None:
    request = Ether(dst=OUR_MAC, src=PEER_MAC) / IP(src=PEER_IP, dst=OUR_IP) / ICMP(id=1, seq=2) / Raw(data)
    frame = bytearray(padded(request))
    frame[14 + where % (28 + len(data))] ^= wrong
    assert icmp_echo.judge(bytes(frame), US) is not Verdict.ANSWERED


@pytest.mark.parametrize("time", [0, 1, 0xFFFF])
def test_a_pause_of_scapy_is_heard(time: int) -> None:
    model = Pause(US.mac, ONE_QUANTUM_A_CLOCK, honoured=True)
    frame = padded(Ether(dst="01:80:c2:00:00:01", src=PEER_MAC) / MACControlPause(pause_time=time))
    assert model.receive(frame) is Paused.PAUSE
    clocks = 0
    while model.holds_data:
        model.clock()
        clocks += 1
    assert clocks == (time + 1 if time else 0)


def test_a_pfc_of_scapy_holds_the_priorities_that_it_names() -> None:
    control: Any = MACControlClassBasedFlowControl
    control = control(c2_enabled=1, c2_pause_time=7, c5_enabled=1, c5_pause_time=9, c6_pause_time=11)
    frame = padded(Ether(dst="01:80:c2:00:00:01", src=PEER_MAC) / control)
    for priority, clocks in ((2, 8), (5, 10), (6, 0), (0, 0)):
        model = Pause(US.mac, ONE_QUANTUM_A_CLOCK, data_priorities=1 << priority)
        assert model.receive(frame) is Paused.PRIORITY_PAUSE
        held = 0
        while model.holds_data:
            model.clock()
            held += 1
        assert held == clocks


@pytest.mark.parametrize("tci", [0, 5, 0xE005])
def test_a_tag_is_where_scapy_looks_for_it(tci: int) -> None:
    frame = Ether(insert(ArpPacket(Operation.REPLY, US, PEER).frame(PEER.mac), tci))
    assert (frame.prio << 13 | frame.dei << 12 if hasattr(frame, "dei") else frame.prio << 13) | frame.vlan == tci
    assert frame[ARP].psrc == OUR_IP
