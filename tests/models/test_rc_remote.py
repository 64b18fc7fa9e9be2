"""Receivers behind a network: their answers are scapy's packets, and what is damaged on the way counts for nothing."""

import random
from dataclasses import replace

import pytest
from scapy.contrib.roce import AETH, BTH
from scapy.layers.inet import IP, UDP
from scapy.layers.l2 import Ether

from framelane.models.rc.lossy_network import LinkImpairments
from framelane.models.rc.rc_remote import RcRemote, acknowledgement, flip_bit
from framelane.models.rc.rc_responder import RcResponder, Region
from framelane.models.roce_tx import roce_icrc, wire
from framelane.models.station.roce_rx import Event, EventKind, Peer, RoceDrop, receive

SENDER, RECEIVER = wire.Endpoint(0x020000000001, 0x0A000001), wire.Endpoint(0x020000000002, 0x0A000002)
EVENTS = {
    0x1F: Event(3, EventKind.ACK, 0xFFFFFF, msn=7),
    0x2B: Event(3, EventKind.RNR, 5, 0x0B, 1),
    0x60: Event(3, EventKind.NAK_SEQUENCE, 6),
    0x61: Event(3, EventKind.NAK_INVALID, 6, 1),
    0x62: Event(3, EventKind.NAK_ACCESS, 6, 2),
    0x63: Event(3, EventKind.NAK_OPERATION, 6, 3),
}


def write(psn: int, payload: bytes = b"0123") -> bytes:
    """An RDMA WRITE of one packet to QP 0x11."""
    reth = wire.Reth(0x1000, 0x77, len(payload))
    headers = wire.Headers(SENDER, RECEIVER, 0xC000, wire.Opcode.WRITE_ONLY, 0x11, psn, len(payload), reth)
    return roce_icrc.append(wire.pack(replace(headers, ack_request=True)) + payload + bytes(headers.pad))


def remote(impairments: LinkImpairments) -> tuple[RcRemote, bytearray]:
    """One receiver, table index 3 at the sender."""
    memory = bytearray(16)
    return RcRemote({0x11: RcResponder(0, 256, Region(0x1000, 0x77, memory), qp=3)}, impairments, 1), memory


@pytest.mark.parametrize("code", EVENTS)
def test_an_answer_is_the_packet_that_scapy_builds(code: int) -> None:
    event = EVENTS[code]
    ours = acknowledgement(event, RECEIVER, SENDER)
    bth = BTH(opcode="RC_ACKNOWLEDGE", dqpn=5, psn=event.psn, pkey=0xFFFF)
    ip = IP(src="10.0.0.2", dst="10.0.0.1", flags="DF", id=0)
    under = Ether(src="02:00:00:00:00:02", dst="02:00:00:00:00:01") / ip / UDP(sport=0xC000, dport=4791, chksum=0)
    theirs = bytes(under / bth / AETH(syndrome=code, msn=event.msn))
    assert ours == theirs
    heard = receive(ours, {3: Peer(True, RECEIVER.ip)}.get)
    assert heard == (replace(event, value=0x1F) if event.kind is EventKind.ACK else event)


def test_packets_take_the_delay_each_way_and_their_answers_say_what_was_written() -> None:
    there, memory = remote(LinkImpairments(delay=10))
    there.send(100, [write(0)])
    assert there.due(109) == []
    assert there.next_arrival() == 110
    assert there.due(110) == []
    assert memory[:4] == b"0123"
    (answer,) = there.due(120)
    assert receive(answer, {3: Peer(True, RECEIVER.ip)}.get) == Event(3, EventKind.ACK, 0, 0x1F, 1)
    assert there.next_arrival() is None


def test_damaged_packets_write_nothing_and_damaged_answers_are_known_as_such() -> None:
    chance = random.Random(1)
    there, memory = remote(LinkImpairments(delay=0, corrupt=1.0))
    for _ in range(200):
        there.send(0, [write(0)])
    there.due(0)
    assert there.damaged + there.receivers[0x11].counts["placed"] + there.receivers[0x11].counts["duplicate"] == 200
    assert there.damaged > 180, "only TTL, TOS and the UDP checksum may change on the way"
    assert memory[4:] == bytes(12)
    answer = acknowledgement(EVENTS[0x1F], RECEIVER, SENDER)
    heard = [receive(flip_bit(answer, chance), {3: Peer(True, RECEIVER.ip)}.get) for _ in range(200)]
    assert sum(isinstance(each, RoceDrop) for each in heard) > 180
    assert {each for each in heard if not isinstance(each, RoceDrop)} <= {replace(EVENTS[0x1F], value=0x1F)}


def test_a_silent_receiver_hears_nothing() -> None:
    there, memory = remote(LinkImpairments(delay=0))
    there.silent.add(0x11)
    there.send(0, [write(0)])
    assert there.due(0) == []
    assert memory == bytes(16)


def test_a_slow_receiver_places_at_once_and_answers_late() -> None:
    there, memory = remote(LinkImpairments(delay=10))
    there.slowness[0x11] = 500
    there.send(0, [write(0)])
    assert there.due(10) == []
    assert memory != bytes(16)
    assert there.next_arrival() == 520
    assert len(there.due(520)) == 1


@pytest.mark.parametrize("length", [8, 256])
def test_a_message_that_goes_on_behind_its_length_is_refused_before_a_byte_of_it_is_placed(length: int) -> None:
    memory = bytearray(512)
    responder = RcResponder(0, 256, Region(0x1000, 0x77, memory), qp=3)
    reth = wire.Reth(0x1000 + len(memory) - length, 0x77, length)
    first = wire.Headers(SENDER, RECEIVER, 0xC000, wire.Opcode.WRITE_FIRST, 0x11, 0, 256, reth)
    (answer,) = responder.receive(first, b"\x55" * 256)
    assert answer.kind is EventKind.NAK_INVALID
    assert (responder.in_error, bytes(memory)) == (True, bytes(512))
