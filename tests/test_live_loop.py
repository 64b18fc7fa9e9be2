"""The loop of a live receiver: what the sources tell never closes a frame whose packets are still in the queue."""

import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from rich.console import Console

from framelane.cli.live_loop import LiveLoop
from framelane.cli.live_transport import LiveOptions, LiveWire
from framelane.cli.stopping import Stop
from framelane.driver.sender import UdpSender
from framelane.driver.session_client import SessionClient
from framelane.models.session import Session
from framelane.models.tx import TxConfig, tx
from framelane.receiver.background import Background
from framelane.receiver.receiver import ReceivedFrame, Receiver
from framelane.receiver.ring import Ring
from framelane.receiver.session_server import SessionServer
from framelane.receiver.softnic import SoftNic
from framelane.receiver.transport import Completion
from framelane.receiver.udp_port import UdpPort

MakeSession = Callable[..., Session]
MakeImages = Callable[..., list[NDArray[np.uint16]]]


class Released:
    """Work that gives every frame back at once, and remembers it."""

    fault = ""

    def __init__(self, receiver: Receiver) -> None:
        self.frames: list[tuple[int, bool]] = []
        self._receiver = receiver
        self._waiting: list[ReceivedFrame] = []

    @property
    def pending(self) -> int:
        return len(self._waiting)

    def put(self, frame: ReceivedFrame) -> None:
        self._waiting.append(frame)

    def take(self, timeout_s: float) -> Iterator[ReceivedFrame]:
        while self._waiting:
            frame = self._waiting.pop(0)
            self.frames.append((frame.number, frame.complete))
            self._receiver.release(frame)
            yield frame

    def finish(self) -> None:
        for _ in self.take(0):
            pass


class Sluggish(SoftNic):
    """Its thread gets no processor for a while, again and again."""

    def poll(self, timeout_s: float) -> list[Completion]:
        time.sleep(0.3)
        return super().poll(timeout_s)


def test_a_report_that_overtakes_the_packets_closes_no_frame(
    make_session: MakeSession, make_images: MakeImages
) -> None:
    session = make_session()
    images = make_images(session, 3)
    ring = Ring(session)
    port = UdpPort(session, 0)
    with (
        SessionServer(session, "127.0.0.1", 0) as server,
        SessionClient(*server.address) as client,
        UdpSender(session, port.address[1]) as sender,
        Background(Sluggish(port, ring.memory, session)) as transport,
    ):
        options = LiveOptions(transport="udp", session=Path("session.json"))
        receiver = Receiver(ring, transport)
        loop = LiveLoop(LiveWire(session, ring, transport), receiver, server, options)
        time.sleep(0.8)  # several polls have found nothing
        sender.send(tx([image.tobytes() for image in images], TxConfig.of(session)))
        client.report(0, offered=3, dropped=0, ended=True)
        with Console(quiet=True).status("") as status:
            work = Released(receiver)
            loop.run(work, Stop(), status)
        assert work.frames == [(0, True), (1, True), (2, True)]
        assert str(loop.tally()).startswith("3 sent = 3 complete")
