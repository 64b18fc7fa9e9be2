"""The relay between the Verilated transmitter and a receiver: credit goes one way, what was dropped the other."""

import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from framelane.base.errors import TransportError
from framelane.driver.board import credit_relay
from framelane.driver.board.credit_relay import CreditRelay
from framelane.driver.simulated.verilated import TxSimulator
from framelane.models.memory.frame_store import FrameInfo
from framelane.receiver.ring.ring import Ring
from framelane.receiver.transport.responder import Responder
from framelane.session.session import Session
from framelane.session.session_client import SessionClient
from framelane.session.session_link import Report
from framelane.session.session_server import SessionServer

MakeSession = Callable[..., Session]
MakeImages = Callable[..., list[NDArray[np.uint16]]]


@pytest.fixture
def served(make_session: MakeSession) -> Iterator[tuple[Session, SessionServer]]:
    session = make_session()
    with SessionServer(session, "127.0.0.1", 0) as server:
        yield session, server


def step_until(relay: CreditRelay, true: Callable[[], Any]) -> None:
    end = time.monotonic() + 10
    while not true():
        relay.step()
        time.sleep(0.001)
        assert time.monotonic() < end


def step_for(relay: CreditRelay, duration_s: float) -> None:
    end = time.monotonic() + duration_s
    while time.monotonic() < end:
        relay.step()
        time.sleep(0.001)


def test_a_board_without_credit_drops_frames_tells_so_and_goes_on_when_it_gets_some(
    served: tuple[Session, SessionServer], make_images: MakeImages
) -> None:
    session, server = served
    ring = Ring(session)
    nic = Responder(ring.memory, session)
    images = make_images(session, 3)
    with (
        SessionClient(*server.address, 0) as client,
        TxSimulator(session.tx_config(), window_end=session.window_end) as transmitter,
    ):
        relay = CreditRelay(transmitter.board, [client], [0])

        def send(first: int, stop: int) -> list[int]:
            for number in range(first, stop):
                transmitter.frame(FrameInfo(number, 0, 0), images[number % 3])
            return [c.imm for packet in transmitter.run() if (c := nic.receive(packet))]

        assert send(0, 10) == [0, 1, 2, 3]
        step_until(relay, lambda: server.reports)
        assert server.reports == {0: Report(source=0, offered=10, dropped=6)}
        server.publish(14)
        step_until(relay, lambda: transmitter.board.registers["destination[0].window_end"] == 14)
        assert send(10, 20) == [10, 11, 12, 13]
        relay.report(ended=True)
        step_until(relay, lambda: server.reports[0].ended)
        assert server.reports[0] == Report(source=0, offered=20, dropped=12, ended=True)
        np.testing.assert_array_equal(ring.image(13), images[13 % 3])


def test_a_receiver_hears_at_once_that_a_board_begins_to_drop_frames(
    served: tuple[Session, SessionServer], make_images: MakeImages, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(credit_relay, "REPORT_S", 3600.0)
    session, server = served
    (image,) = make_images(session, 1)
    with (
        SessionClient(*server.address, 0) as client,
        TxSimulator(session.tx_config(), window_end=session.window_end) as transmitter,
    ):
        relay = CreditRelay(transmitter.board, [client], [0])

        def send(first: int, stop: int) -> None:
            for number in range(first, stop):
                transmitter.frame(FrameInfo(number, 0, 0), image)
            list(transmitter.run())

        send(0, 4)
        step_for(relay, 0.1)
        assert server.reports == {}, "all were sent: that has time"
        send(4, 6)
        step_until(relay, lambda: server.reports)
        assert server.reports[0] == Report(source=0, offered=6, dropped=2)
        send(6, 7)
        step_for(relay, 0.1)
        assert server.reports[0].offered == 6, "still the same want of credit"
        server.publish(8)
        step_until(relay, lambda: transmitter.board.registers["destination[0].window_end"] == 8)
        send(7, 10)
        step_until(relay, lambda: server.reports[0].offered > 6)
        assert server.reports[0] == Report(source=0, offered=10, dropped=5)


def test_what_a_receiver_loses_that_was_let_go_is_told_to_nobody(
    served: tuple[Session, SessionServer],
    make_session: MakeSession,
    make_images: MakeImages,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(credit_relay, "REPORT_S", 3600.0)
    session, server = served
    gone = make_session(qpn=7)
    both = session.tx_config()
    config = replace(
        both,
        qps=(*both.qps, gone.qp_context()),
        destinations=(*both.destinations, gone.destination(qp=1)),
        flows=(*both.flows, gone.flow(first_destination=1)),
    )
    (image,) = make_images(session, 1)
    with (
        SessionServer(gone, "127.0.0.1", 0) as other,
        SessionClient(*server.address, 0) as client,
        SessionClient(*other.address, 0) as lost,
        TxSimulator(config, window_end=session.window_end) as transmitter,
    ):
        relay = CreditRelay(transmitter.board, [client, lost], [0, 0])
        relay.drop(1)
        server.publish(100)
        step_until(relay, lambda: transmitter.board.registers["destination[0].window_end"] == 100)
        for number in range(6):
            transmitter.frame(FrameInfo(number, 0, 0), image)
        list(transmitter.run())
        assert transmitter.board.counters().destinations[1].dropped == 2
        step_for(relay, 0.1)
        assert server.reports == {}, "the other has lost nothing: that has time"


def test_a_receiver_that_has_gone_is_named_and_gives_no_more_credit(served: tuple[Session, SessionServer]) -> None:
    session, server = served
    with (
        SessionClient(*server.address, 0) as client,
        TxSimulator(session.tx_config(), window_end=session.window_end) as transmitter,
    ):
        relay = CreditRelay(transmitter.board, [client], [0])
        relay.step()
        server.close()
        assert client.wait_closed(5)
        assert relay.closed == [0]
        with pytest.raises(TransportError, match="has closed the session's link"):
            step_until(relay, lambda: False)
        assert transmitter.board.registers["destination[0].window_end"] == session.window_end
