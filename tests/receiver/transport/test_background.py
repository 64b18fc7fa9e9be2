"""A transport in the background: packets are placed while the caller does something else, and errors reach it."""

import time
from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray

from framelane.base.errors import TransportError
from framelane.models.tx import tx
from framelane.receiver.ring.receiver import Receiver
from framelane.receiver.ring.ring import Ring
from framelane.receiver.transport.background import Background
from framelane.receiver.transport.softnic import SoftNic
from framelane.receiver.transport.transport import Completion, Counters
from framelane.receiver.transport.udp_port import UdpPort
from framelane.session.session import Session
from framelane.source.sender import UdpSender

MakeSession = Callable[..., Session]
MakeImages = Callable[..., list[NDArray[np.uint16]]]


def test_frames_are_placed_while_nobody_polls(make_session: MakeSession, make_images: MakeImages) -> None:
    session = make_session()
    images = make_images(session, 4)
    ring = Ring(session)
    port = UdpPort(session, 0)
    with Background(SoftNic(port, ring.memory, session)) as transport, UdpSender(session, port.address[1]) as sender:
        receiver = Receiver(ring, transport)
        sender.send(tx([image.tobytes() for image in images], session.tx_config()))
        deadline = time.monotonic() + 10
        while transport.counters.completions < 4 and time.monotonic() < deadline:
            time.sleep(0.005)
        for number, image in enumerate(images):
            np.testing.assert_array_equal(ring.image(number), image)
        frames = receiver.poll(1)
        assert [(frame.number, frame.complete) for frame in frames] == [(n, True) for n in range(4)]
        assert not transport.ended


class Broken:
    """A wire that breaks after one completion."""

    refuses_late = False
    ended = False
    closed = 0
    counters = Counters()

    def __init__(self) -> None:
        self._polled = False

    def poll(self, timeout_s: float) -> list[Completion]:
        if self._polled:
            raise TransportError("the cable is out")
        self._polled = True
        return [Completion(5)]

    def close(self) -> None:
        self.closed += 1

    def __enter__(self) -> "Broken":
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


def test_an_error_is_raised_after_what_came_before_it() -> None:
    wire = Broken()
    with Background(wire) as transport:
        assert transport.poll(5) == [Completion(5)]
        for _ in range(2):
            with pytest.raises(TransportError, match="the cable is out"):
                transport.poll(5)
    transport.close()
    assert wire.closed == 2


def test_a_poll_with_nothing_to_come_waits_no_longer_than_it_may(make_session: MakeSession) -> None:
    session = make_session()
    ring = Ring(session)
    with Background(SoftNic(UdpPort(session, 0), ring.memory, session)) as transport:
        start = time.monotonic()
        assert transport.poll(0.1) == []
        assert 0.09 < time.monotonic() - start < 2
