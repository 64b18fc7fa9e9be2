"""Senders that die, receivers that stall, foreign packets on the port: live over UDP, and every frame accounted for."""

import time
from collections.abc import Callable
from ipaddress import IPv4Address

import numpy as np
import pytest
from numpy.typing import NDArray

from expected_frames import Forecast, Source
from framelane.models.placement.slots import FREE_RUNNING, HOLE_WORD
from framelane.models.roce_tx.packet_batch import Batch
from framelane.receiver.ring.tally import Tally
from framelane.receiver.transport import sockets
from framelane.receiver.transport.udp_port import UdpPort
from framelane.session.session import Session
from framelane.source.sender import UdpSender
from placed_packets import PATIENCE_S, ReceivingHost, live

MakeSession = Callable[..., Session]
MakeImages = Callable[..., list[NDArray[np.uint16]]]
PACKETS = 5
"""Packets of a frame, its trailer included."""


@pytest.fixture(params=["only", "message"])
def make_source(
    request: pytest.FixtureRequest, make_session: MakeSession, make_images: MakeImages
) -> Callable[..., Source]:
    """Make a source whose images differ from those of a source with another first image."""

    def make(first: int = 0, **changes: object) -> Source:
        session = make_session(segmentation=request.param, **changes)
        return Source(session, make_images(session, 8)[first:])

    return make


MakeSource = Callable[..., Source]


class Tap:
    """A UDP port that remembers what it has delivered."""

    ended = False

    def __init__(self, session: Session) -> None:
        self.seen: list[bytes] = []
        self._port = UdpPort(session, 0)
        self.address = self._port.address

    @property
    def queue_drops(self) -> int:
        return self._port.queue_drops

    def batch(self, timeout_s: float) -> Batch:
        """See `Port`."""
        batch = self._port.batch(timeout_s)
        self.seen += list(batch)
        return batch

    def close(self) -> None:
        """See `Port`."""
        self._port.close()


@pytest.mark.parametrize("cut", range(1, PACKETS))
def test_a_sender_that_dies_in_mid_frame_leaves_what_it_has_sent(make_source: MakeSource, cut: int) -> None:
    source = make_source(n_slots=8)
    left = source.frames(3)[: 2 * PACKETS + cut]
    with live(source.session) as (host, send):
        send(left)
        forecast = Forecast(source, left)
        host.drain(forecast.placed)
        assert sorted(host.seen) == [0, 1], "the third waits for its trailer"
        host.finish(source)
        host.check(forecast)
    assert forecast.frames[2].fate == "incomplete"


def test_what_a_dead_sender_has_left_is_found_though_nobody_knows_how_much_it_has_sent(make_source: MakeSource) -> None:
    source = make_source(n_slots=8)
    left = source.frames(3)[: 2 * PACKETS + 2]
    with live(source.session) as (host, send):
        send(left)
        host.drain(Forecast(source, left).placed)
        host.take(host.receiver.settle())
        host.counters = host.nic.counters
        host.check(Forecast(source, left))


def test_after_a_sender_has_died_another_starts_anew_in_a_session_of_its_own(make_source: MakeSource) -> None:
    """Its session has the receiver's other QP, region and PSN: nothing of the old one can get in."""
    old, new = make_source(n_slots=8), make_source(3, n_slots=8, qpn=0x777, rkey=0xBADC0DE, psn=5)
    before, after = old.frames(3)[: 2 * PACKETS + 3], new.frames(3)
    with live(new.session) as (host, send):
        send([*before[-3:], *after[:7], *before[-3:], *after[7:]])
        host.drain(len(after))
        host.finish(new)
        host.check(Forecast(new, after))
        assert host.counters.refused == {"qpn": 6}


def test_a_sender_that_starts_anew_in_the_old_session_is_late_and_spoils_nothing(make_source: MakeSource) -> None:
    """A new run takes a new session (decision 0005, late packets): else it is refused, and that is counted."""
    old, new = make_source(n_slots=8), make_source(3, n_slots=8)
    left = old.frames(3)[: 2 * PACKETS + 3]
    with live(old.session) as (host, send):
        send(left)
        host.drain(len(left))
        again = new.frames(2)
        send(again)
        host.drain(len(left))
        host.finish(old)
        host.check(Forecast(old, left))
        assert host.counters.refused == {"late": len(again)}


def test_a_receiver_that_stalls_makes_the_source_drop_whole_frames(make_source: MakeSource) -> None:
    source = make_source(n_slots=4)
    left: list[bytes] = []
    with live(source.session) as (host, send):
        for number in range(30):
            packets = source.offer(host.ring.window_end)
            left += packets
            send(packets)
            if not 7 <= number < 19:
                host.drain(len(left))
            if number == 19:  # the source tells what it has dropped: else the credit would stand still
                host.take(host.receiver.settle(source.offered, source.dropped))
        host.finish(source)
        host.check(Forecast(source, left))
    assert sorted(set(range(30)) - set(source.sent)) == [*range(11, 20)], "four more after the last that was released"
    assert host.receiver.tally(30) == Tally(30, 21, 0, 9, 0, 0)


def test_frames_held_too_long_in_a_free_running_ring_are_dropped_by_the_host(make_source: MakeSource) -> None:
    """Every second lap is handed out and overwritten; the one between finds slots that were not filled with holes."""
    n_slots, stalled, frames = 4, range(8, 20), 40
    source = make_source(n_slots=n_slots, window_end=FREE_RUNNING)
    intact: set[int] = set()
    with live(source.session) as (host, send):
        held = []
        end = time.monotonic() + 6 * PATIENCE_S
        for number in range(frames):
            send(source.offer())
            while host.nic.counters.placed < (number + 1) * PACKETS:
                assert time.monotonic() < end, f"packets of frame {number} do not come"
                held += host.receiver.poll(PATIENCE_S)
            if number in stalled:
                continue
            for frame in held:
                image = frame.image.copy()
                if host.receiver.release(frame):
                    assert np.array_equal(image, source.image(frame.number))
                    intact.add(frame.number)
            held = []
        tally = host.receiver.tally(frames)
    assert tally == Tally(frames, len(intact), 0, 0, frames - len(intact), 0)
    overwritten, unclean = {8, 9, 10, 11, 16, 17}, {12, 13, 14, 15, 20, 21}
    assert set(range(frames)) - intact == overwritten | unclean, "18 and 19 are released in time"


@pytest.mark.xfail(reason="only trailers tell that a slot is written again (decision 0005)", strict=True)
def test_a_frame_held_while_the_trailer_before_its_slots_next_frame_is_lost_is_not_called_intact(
    make_source: MakeSource,
) -> None:
    source = make_source(n_slots=4, window_end=FREE_RUNNING)
    packets = source.frames(5)
    with live(source.session) as (host, send):
        send(packets[:PACKETS])
        (frame,) = host.receiver.poll(PATIENCE_S)
        send(packets[PACKETS : 4 * PACKETS - 1] + packets[4 * PACKETS : -1])
        end = time.monotonic() + 6 * PATIENCE_S
        while host.nic.counters.placed < 5 * PACKETS - 2:
            assert time.monotonic() < end, "packets do not come"
            host.receiver.poll(PATIENCE_S)
        assert not np.array_equal(frame.image, source.image(0)), "frame 4 is in its slot"
        assert not host.receiver.release(frame)


@pytest.mark.xfail(reason="only trailers tell that a slot is written again (decision 0005)", strict=True)
def test_a_trailer_behind_the_pixels_of_its_slots_next_frame_does_not_make_its_own_complete(
    make_source: MakeSource,
) -> None:
    source = make_source(n_slots=2, window_end=FREE_RUNNING)
    packets = source.frames(3)
    with live(source.session) as (host, send):
        send(packets[:4] + packets[5:9] + packets[10:14] + packets[4:5])
        host.drain(13)
        host.finish(source)
        assert not any(frame.trailer for frame in host.seen.values()), "frame 0 has the pixels of frame 2"
        assert host.receiver.tally(3).complete == 0


def test_pixels_behind_a_lap_of_lost_trailers_are_of_no_frame_for_sure(make_source: MakeSource) -> None:
    """Free-running, 4 slots: of frames 10 to 29 only pixels of frame 27 come. They are not frame 11's."""
    source = make_source(n_slots=4, window_end=FREE_RUNNING)
    packets = source.frames(30)
    with live(source.session) as (host, send):
        for number in range(10):
            send(packets[number * PACKETS : (number + 1) * PACKETS])
            host.drain((number + 1) * PACKETS)
        send(packets[27 * PACKETS : 27 * PACKETS + 3])
        host.drain(10 * PACKETS + 3)
        host.finish(source)
        assert sorted(host.seen) == list(range(10))
        assert host.receiver.tally(30).holds


def test_a_queue_that_overflows_loses_packets_and_counts_them(
    make_source: MakeSource, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sockets, "QUEUE_BYTES", 1 << 16)
    source = make_source(n_slots=60)
    tap = Tap(source.session)
    host = ReceivingHost(source.session, tap)
    with host.nic, UdpSender(source.session, tap.address[1]) as sender:
        for stalled in (False, True, False):
            for _ in range(20):
                sender.send(source.offer())
                if not stalled:
                    host.poll()
            host.drain(0)
        host.finish(source)
        forecast = Forecast(source, tap.seen)
        host.check(forecast)
        sent = sum(map(len, source.sent.values()))
        assert host.counters.queue_drops == sent - len(tap.seen) > 0
    assert forecast.count("missing") > 0
    assert all(forecast.frames[number].fate == "complete" for number in (*range(20), *range(40, 60)))


def test_foreign_packets_on_the_port_are_refused_by_name_and_cost_nothing(make_source: MakeSource) -> None:
    source = make_source(n_slots=8)
    session = source.session
    other = session.source.model_copy(update={"ip": IPv4Address("127.9.9.9")})
    spoof = Source(session.model_copy(update={"source": other}), source.images[3:])
    left, copies = source.frames(6), spoof.frames(6)
    noise = [bytes(42) + np.random.default_rng(n).bytes(n * 7) for n in range(1, 40)]
    tap = Tap(session)
    host, port = ReceivingHost(session, tap), tap.address[1]
    with host.nic, UdpSender(session, port) as sender, UdpSender(spoof.session, port) as foreign:
        for good, copy in zip(left, copies, strict=True):
            foreign.send([copy])
            sender.send([good])
        foreign.send(noise)
        host.drain(len(left))
        host.finish(source)
    host.check(Forecast(source, left))
    assert host.counters.refused["source"] == len(copies)
    assert host.counters.refused.total() == len(copies) + len(noise)


def test_a_hole_is_what_was_never_written(make_source: MakeSource) -> None:
    """The forecast and the ring mean the same by it: no image here has the word that stands for a hole."""
    source = make_source()
    assert not any((image == HOLE_WORD).any() for image in source.images)
