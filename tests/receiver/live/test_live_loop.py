"""The loop of a live receiver: what the sources tell never closes a frame whose packets are still in the queue."""

import threading
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from framelane.base.stopping import Stop
from framelane.models.tx import tx
from framelane.receiver.live import live_loop
from framelane.receiver.live.live_loop import LiveLoop, Work
from framelane.receiver.live.live_wire import LiveWire
from framelane.receiver.live.packet_source import Live
from framelane.receiver.live.processing import Processing
from framelane.receiver.pipeline.cpu_frame_pipeline import CpuFramePipeline
from framelane.receiver.pipeline.frame_pipeline import Processed
from framelane.receiver.pipeline.raw_words import RawWords
from framelane.receiver.ring.receiver import Receiver
from framelane.receiver.ring.ring import Ring
from framelane.receiver.transport.background import Background
from framelane.receiver.transport.softnic import SoftNic
from framelane.receiver.transport.transport import Completion
from framelane.receiver.transport.udp_port import UdpPort
from framelane.session.session import Session
from framelane.session.session_client import SessionClient
from framelane.session.session_server import SessionServer
from framelane.source.sender import UdpSender

MakeSession = Callable[..., Session]
MakeImages = Callable[..., list[NDArray[np.uint16]]]


def work() -> Work:
    """Frames are left as they are."""
    return Work(CpuFramePipeline(RawWords()), Processing())


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
        SessionClient(*server.address, 0) as client,
        UdpSender(session, port.address[1]) as sender,
        Background(Sluggish(port, ring.memory, session)) as transport,
    ):
        options = Live(transport="udp", session=Path("session.json"))
        receiver = Receiver(ring, transport)
        loop = LiveLoop(LiveWire(session, ring, transport), receiver, server, options)
        time.sleep(0.8)  # several polls have found nothing
        sender.send(tx([image.tobytes() for image in images], session.tx_config()))
        client.report(0, offered=3, dropped=0, ended=True)
        frames = []
        for done in loop.frames(work(), Stop(), print):
            frames.append((done.frame.number, done.frame.complete))
            receiver.release(done.frame)
        assert frames == [(0, True), (1, True), (2, True)]
        assert str(loop.tally()).startswith("3 sent = 3 complete")


@pytest.mark.parametrize("offered", [(3, 2), (2, 3)])
def test_of_sources_that_offered_different_numbers_the_greatest_counts(
    make_session: MakeSession, offered: tuple[int, int]
) -> None:
    session = make_session(sources=2)
    ring = Ring(session)
    port = UdpPort(session, 0)
    with (
        SessionServer(session, "127.0.0.1", 0) as server,
        SessionClient(*server.address, 0) as first,
        SessionClient(*server.address, 1) as second,
        Background(SoftNic(port, ring.memory, session)) as transport,
    ):
        receiver = Receiver(ring, transport)
        options = Live(transport="udp", session=Path("session.json"))
        loop = LiveLoop(LiveWire(session, ring, transport), receiver, server, options)
        first.report(0, offered=offered[0], dropped=0, ended=True)
        second.report(1, offered=offered[1], dropped=0, ended=True)
        assert [done.frame.number for done in loop.frames(work(), Stop(), print)] == []
        assert (loop.tally().sent, loop.tally().missing) == (3, 3)


def test_trailers_that_were_lost_twice_are_awaited_no_more(
    make_session: MakeSession, make_images: MakeImages, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was given up is counted once: the end of the run waits for nothing when the last frame is here."""
    session = make_session(n_slots=8)
    sent = tx([image.tobytes() for image in make_images(session, 5)], session.tx_config())
    frames = [sent[5 * number : 5 * number + 5] for number in range(5)]
    monkeypatch.setattr(live_loop, "_SHOW_S", 0.01)
    shown: list[str] = []
    frames_back: list[tuple[int, bool]] = []
    ring = Ring(session)
    port = UdpPort(session, 0)
    with (
        SessionServer(session, "127.0.0.1", 0) as server,
        SessionClient(*server.address, 0) as client,
        UdpSender(session, port.address[1]) as sender,
        Background(SoftNic(port, ring.memory, session)) as transport,
    ):
        receiver = Receiver(ring, transport)
        options = Live(transport="udp", session=Path("session.json"))
        loop = LiveLoop(LiveWire(session, ring, transport), receiver, server, options)
        stop = Stop()

        def given_back(count: int) -> bool:
            return len(frames_back) == count

        def source() -> None:
            for first in (0, 2):
                sender.send([*frames[first], *frames[first + 1][:-1]])
                client.report(0, offered=first + 2, dropped=0, ended=False)
                wait_for(partial(given_back, first + 2))
            monkeypatch.setattr(live_loop, "_SETTLED", 1_000_000)  # nothing else is given up
            sender.send(frames[4])
            wait_for(partial(given_back, 5))
            client.report(0, offered=5, dropped=0, ended=True)
            wait_for(lambda: loop.ended)
            stop.wanted = True

        running = threading.Thread(target=source)
        running.start()
        for done in loop.frames(work(), stop, shown.append):
            frames_back.append((done.frame.number, done.frame.complete))
            receiver.release(done.frame)
        ended = loop.ended
        running.join()
    assert ended
    assert frames_back == [(0, True), (1, False), (2, True), (3, False), (4, True)]
    rates = [int(line.partition(" dropped, ")[2].partition("/s")[0]) for line in shown]
    assert max(rates) > 0 == min(rates), "frames came, and pauses"


def wait_for(done: Callable[[], bool], patience_s: float = 10.0) -> None:
    """Wait until it is done, or the patience is over."""
    end = time.monotonic() + patience_s
    while not done() and time.monotonic() < end:
        time.sleep(0.01)


class Late(CpuFramePipeline):
    """It gives nothing before the end of the run."""

    def take(self, timeout_s: float) -> list[Processed]:
        return super().take(timeout_s) if timeout_s >= 1 else []


@pytest.mark.parametrize(("pipeline", "sources"), [(Late, 1), (Late, 2), (CpuFramePipeline, 2)])
def test_all_that_is_placed_until_the_end_is_a_frame_however_long_the_writing_takes(
    make_session: MakeSession, make_images: MakeImages, pipeline: type[CpuFramePipeline], sources: int
) -> None:
    session = make_session(sources=sources)
    shares = [image.reshape(sources, -1) for image in make_images(session, 3)]
    sent = [tx([share[k].tobytes() for share in shares], session.tx_config(k)) for k in range(sources)]
    a_frame = len(sent[0]) // 3
    ring = Ring(session)
    port = UdpPort(session, 0)
    stop, frames = Stop(), []
    with (
        SessionServer(session, "127.0.0.1", 0) as server,
        UdpSender(session, port.address[1]) as sender,
        Background(SoftNic(port, ring.memory, session)) as transport,
    ):
        receiver = Receiver(ring, transport)
        loop = LiveLoop(
            LiveWire(session, ring, transport), receiver, server, Live(transport="udp", session=Path("session.json"))
        )

        def send(number: int) -> None:
            sender.send([packet for packets in sent for packet in packets[number * a_frame :][:a_frame]])

        send(0)
        stop.wanted = True
        for done in loop.frames(Work(pipeline(RawWords()), Processing()), stop, print):
            frames.append(done.frame.number)
            if len(frames) < 3:
                send(len(frames))
                time.sleep(0.4)  # a disk that is slow
            receiver.release(done.frame)
        assert transport.counters.placed == a_frame * sources * len(frames)
        assert receiver.tally().complete == receiver.tally().sent == len(frames) > 0
