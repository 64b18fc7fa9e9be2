"""Senders: what leaves a socket is what the transmitter made, byte for byte, as far as an ICRC looks."""

import contextlib
import errno
import socket
import subprocess
from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray

from framelane.base.errors import TransportError
from framelane.models.roce_tx import roce_icrc, wire
from framelane.models.roce_tx.packet_batch import Batch
from framelane.receiver.transport.packet_port import PacketPort
from framelane.session.session import Session
from framelane.source._sendmmsg import Messages
from framelane.source.sender import PacketSender, UdpSender, udp_session
from kernel_icmp import processor_with_icmp
from sent_packets import drain, sent

MakeSession = Callable[..., Session]
MakeImages = Callable[..., list[NDArray[np.uint16]]]


@pytest.mark.usefixtures("in_order")
def test_a_udp_socket_sends_the_transmitters_packets_from_the_ip_header_on(
    make_session: MakeSession, make_images: MakeImages, network: tuple[str, str]
) -> None:
    session = make_session()
    packets = sent(session, make_images)
    with UdpSender(session) as sender:
        port = PacketPort("lo")
        sender.send(packets)
        seen = drain(port)
    assert [frame[14:] for frame in seen] == [packet[14:] for packet in packets], "IP ID 0, DF, no UDP checksum"
    assert all(map(roce_icrc.check, seen))


@pytest.mark.usefixtures("in_order")
def test_an_interface_gets_whole_frames_and_the_sender_does_not_hear_itself(
    make_session: MakeSession, make_images: MakeImages, network: tuple[str, str]
) -> None:
    here, there = network
    packets = sent(make_session(), make_images)
    ports = PacketPort(here), PacketPort(there)
    with PacketSender(here) as sender:
        sender.send(packets)
    assert drain(ports[1]) == packets
    assert drain(ports[0]) == []


@pytest.mark.usefixtures("in_order")
def test_on_loopback_every_packet_is_seen_once(
    make_session: MakeSession, make_images: MakeImages, network: tuple[str, str]
) -> None:
    packets = sent(make_session(), make_images)
    port = PacketPort("lo")
    with PacketSender("lo") as sender:
        sender.send(packets)
    assert drain(port) == packets


@pytest.mark.usefixtures("in_order")
def test_other_traffic_is_not_even_looked_at(
    make_session: MakeSession, make_images: MakeImages, network: tuple[str, str]
) -> None:
    packet = sent(make_session(), make_images)[0]
    tcp = packet[:23] + b"\x06" + packet[24:]
    other_port = packet[:36] + (wire.ROCE_PORT + 1).to_bytes(2, "big") + packet[38:]
    arp = packet[:12] + b"\x08\x06" + packet[14:]
    port = PacketPort(network[1])
    with PacketSender(network[0]) as sender:
        sender.send([tcp, other_port, arp, packet])
    assert drain(port) == [packet]


def test_the_source_port_of_another_program_is_refused(make_session: MakeSession) -> None:
    session = make_session()
    sentence = rf"cannot send from UDP 127.*:{session.src_port}: Address already in use: stop"
    with UdpSender(session), pytest.raises(TransportError, match=sentence):
        UdpSender(session)


def test_a_source_address_of_another_machine_is_refused(make_session: MakeSession) -> None:
    session = make_session(source={"mac": "02:00:00:00:00:01", "ip": "203.0.113.9"})
    with pytest.raises(TransportError, match=rf"UDP 203.0.113.9:{session.src_port}: .*correct the session's source.ip"):
        UdpSender(session)


@pytest.mark.parametrize("kind", ["udp", "packet"])
def test_a_packet_longer_than_the_interfaces_mtu_is_refused_not_fragmented(
    make_session: MakeSession, network: tuple[str, str], kind: str
) -> None:
    session = make_session()
    with UdpSender(session) if kind == "udp" else PacketSender(network[0]) as sender:
        with pytest.raises(TransportError, match=r"Message too long: lower the session's mtu"):
            sender.send([bytes(70000)])
        sender.send([bytes(100)])


def test_an_interface_that_does_not_exist_is_named(network: tuple[str, str]) -> None:
    with pytest.raises(TransportError, match="cannot send on interface none0: No such device: choose one"):
        PacketSender("none0")


@pytest.mark.usefixtures("unprivileged")
def test_a_packet_socket_without_privilege_is_refused_with_advice() -> None:
    with pytest.raises(TransportError, match="packet socket on lo: Operation not permitted: run as root, or with"):
        PacketSender("lo")


@pytest.mark.usefixtures("in_order")
@pytest.mark.parametrize("kind", ["udp", "packet"])
def test_a_batch_of_thousands_leaves_whole_and_in_order(
    make_session: MakeSession, make_images: MakeImages, network: tuple[str, str], kind: str
) -> None:
    session = make_session()
    packets = [packet for _ in range(200) for packet in sent(session, make_images)]
    batch = Batch.of([b"in between", *packets])
    port = PacketPort("lo")
    with UdpSender(session) if kind == "udp" else PacketSender("lo") as sender:
        sender.send_batch(Batch(batch.memory, batch.starts[1:], batch.sizes[1:]))
    seen = drain(port)
    assert [frame[14:] for frame in seen] == [packet[14:] for packet in packets]


@pytest.mark.usefixtures("in_order")
def test_a_batch_may_be_changed_as_soon_as_it_is_sent(
    make_session: MakeSession, make_images: MakeImages, network: tuple[str, str]
) -> None:
    packets = sent(make_session(), make_images)
    batch = Batch.of(packets)
    batch = Batch(batch.memory.copy(), batch.starts, batch.sizes)
    port = PacketPort(network[1])
    with PacketSender(network[0]) as sender:
        sender.send_batch(batch)
        batch.memory[:] = 0
        assert drain(port) == packets


def test_an_interface_that_goes_down_between_two_batches_is_told(
    make_session: MakeSession, make_images: MakeImages, network: tuple[str, str]
) -> None:
    batch = Batch.of(sent(make_session(), make_images))
    with PacketSender(network[0]) as sender:
        sender.send_batch(batch)
        subprocess.run(["ip", "link", "set", network[0], "down"], check=True)
        with pytest.raises(TransportError, match=r"bytes to interface veth0: Network is down: bring the interface up"):
            sender.send_batch(batch)
        subprocess.run(["ip", "link", "del", network[0]], check=True)
        with pytest.raises(TransportError, match=r"to interface veth0: No such device.*: .*ip -br link"):
            sender.send_batch(batch)


def test_a_firewall_of_this_machine_is_not_taken_for_a_want_of_privilege(
    make_session: MakeSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*arguments: object) -> int:
        raise PermissionError(errno.EPERM, "Operation not permitted")

    with UdpSender(make_session()) as sender:
        monkeypatch.setattr(Messages, "send", refuse)  # what netfilter returns for a packet that OUTPUT drops
        with pytest.raises(TransportError, match=r"not permitted: a firewall rule of this machine .*OUTPUT") as caught:
            sender.send([bytes(100)])
    assert "root" not in str(caught.value)


@pytest.mark.parametrize(
    ("port", "source", "expected"), [(0xC000, 0, 0xC000), (0xC000, 3, 0xC003), (65535, 1, 0xC000), (65535, 255, 0xC0FE)]
)
def test_every_source_of_a_machine_has_a_port_of_its_own(
    make_session: MakeSession, port: int, source: int, expected: int
) -> None:
    session = make_session(src_port=port, sources=256, rows=256)
    assert udp_session(session, source).src_port == expected
    assert udp_session(session, source).model_dump(exclude={"src_port"}) == session.model_dump(exclude={"src_port"})


def test_without_a_way_to_the_receiver_nothing_is_sent(make_session: MakeSession, network: tuple[str, str]) -> None:
    session = make_session(receiver={"mac": "02:00:00:00:00:02", "ip": "203.0.113.9"})
    with (
        UdpSender(session) as sender,
        pytest.raises(TransportError, match=r"UDP 203.0.113.9:4791: Network is unreachable: .*ip route get"),
    ):
        sender.send([bytes(100)])


def test_a_receiver_that_does_not_listen_is_noticed_and_the_packets_are_sent_all_the_same(
    make_session: MakeSession, make_images: MakeImages, network: tuple[str, str]
) -> None:
    session = make_session()
    packets = sent(session, make_images)
    with processor_with_icmp(), contextlib.closing(PacketPort("lo")) as port, UdpSender(session) as sender:
        for packet in packets:
            sender.send([packet])
        assert 0 < sender.unheard < len(packets)
        assert [frame[14:] for frame in drain(port)] == [packet[14:] for packet in packets]
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as listener:
            listener.bind(("127.0.0.1", wire.ROCE_PORT))
            sender.send(packets[:1])
            before = sender.unheard
            sender.send(packets)
            assert sender.unheard == before
