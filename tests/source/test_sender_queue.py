"""Senders whose queue is full: they wait while it empties, and give up where it does not, or where they shall stop."""

import time
from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray

from framelane.base.errors import TransportError
from framelane.models.roce_tx.packet_batch import Batch
from framelane.receiver.transport.packet_port import PacketPort
from framelane.session.session import Session
from framelane.source import _full_queue
from framelane.source.sender import PacketSender, UdpSender
from sent_packets import drain, sent
from slow_link import slow_down

MakeSession = Callable[..., Session]
MakeImages = Callable[..., list[NDArray[np.uint16]]]


@pytest.mark.usefixtures("in_order")
@pytest.mark.parametrize("kind", ["udp", "packet"])
def test_a_slow_interface_with_a_short_queue_is_awaited_and_gets_every_packet(
    make_session: MakeSession, make_images: MakeImages, network: tuple[str, str], kind: str
) -> None:
    name = "lo" if kind == "udp" else network[0]
    slow_down(name, "rate 80mbit burst 16k limit 16k")
    session = make_session()
    packets = [packet for _ in range(40) for packet in sent(session, make_images)]
    port = PacketPort("lo" if kind == "udp" else network[1])
    start = time.monotonic()
    with UdpSender(session) if kind == "udp" else PacketSender(name) as sender:
        sender.send_batch(Batch.of(packets))
        assert time.monotonic() - start > 0.02, "80 Mbit/s for half a megabyte"
        seen = drain(port)
    assert [frame[14:] for frame in seen] == [packet[14:] for packet in packets]


def stuck_sender(session: Session, network: tuple[str, str], kind: str) -> UdpSender | PacketSender:
    """Onto an interface whose queue is long and takes a packet in an hour."""
    name = "lo" if kind == "udp" else network[0]
    slow_down(name, "rate 8bit burst 10k limit 100m")
    return UdpSender(session) if kind == "udp" else PacketSender(name)


@pytest.mark.parametrize("kind", ["udp", "packet"])
def test_an_interface_that_takes_nothing_is_given_up_after_some_seconds(
    make_session: MakeSession, network: tuple[str, str], kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_full_queue, "PATIENCE_S", 0.5)
    packets = [bytes(4000)] * 4000
    with stuck_sender(make_session(), network, kind) as sender:
        start = time.monotonic()
        with pytest.raises(TransportError, match=r"cannot send a packet of .*: the socket has taken none for"):
            sender.send(packets)
        assert time.monotonic() - start >= 0.5
        with pytest.raises(TransportError, match="the socket has taken none for"):
            sender.send(packets[:1])


@pytest.mark.parametrize("kind", ["udp", "packet"])
def test_a_sender_that_is_stuck_hears_that_it_shall_stop(
    make_session: MakeSession, network: tuple[str, str], kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_full_queue, "PATIENCE_S", 3600.0)
    asked: list[float] = []

    def stopped() -> bool:
        asked.append(time.monotonic())
        return len(asked) > 3

    with stuck_sender(make_session(), network, kind) as sender:
        sender.stopped = stopped
        with pytest.raises(TransportError, match="ended while the send queue was full: is the link up"):
            sender.send([bytes(4000)] * 4000)
    assert time.monotonic() - asked[3] >= _full_queue.GRACE_S, "what is only slow may end its frame"


@pytest.mark.usefixtures("in_order")
def test_on_a_slow_link_the_rest_of_a_batch_leaves_after_the_wish_to_stop(
    make_session: MakeSession, make_images: MakeImages, network: tuple[str, str]
) -> None:
    packets = [packet for _ in range(40) for packet in sent(make_session(), make_images)]
    slow_down(network[0], "rate 80mbit burst 16k limit 16k")
    port = PacketPort(network[1])
    with PacketSender(network[0]) as sender:
        sender.stopped = lambda: True
        sender.send_batch(Batch.of(packets))
    assert drain(port) == packets
