"""Lost packets in the receiver's loop: every frame's fate is known, and only whole frames are called complete."""

from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray

from cable import Cable
from framelane.models.placement.flow import FrameEvent
from framelane.models.placement.slots import FREE_RUNNING, HOLE_WORD
from framelane.models.roce_tx.roce_segment import Message
from framelane.models.roce_tx.roce_tx import RoceTx
from framelane.models.tx import Tx
from framelane.receiver.ring.receiver import ReceivedFrame, Receiver
from framelane.receiver.ring.ring import Ring
from framelane.receiver.ring.tally import Tally
from framelane.receiver.transport.softnic import SoftNic
from framelane.receiver.transport.transport import Completion
from framelane.session.session import Session

MakeSession = Callable[..., Session]
MakeImages = Callable[..., list[NDArray[np.uint16]]]
TRAILER = 4
"""Index of a frame's trailer among its five packets."""


class AsynchronousNic(SoftNic):
    """Places packets whether or not anyone looks, and tells of all at once, as a NIC does."""

    def poll(self, timeout_s: float) -> list[Completion]:
        completions = []
        while completion := super().poll(timeout_s):
            completions += completion
        return completions


class Chain:
    """Golden transmitters, one a source, a cable, and a receiver."""

    def __init__(self, session: Session, images: list[NDArray[np.uint16]], nic: type[SoftNic] = SoftNic) -> None:
        self.images = images
        self.session = session
        self.cable = Cable()
        self.ring = Ring(session)
        self.receiver = Receiver(self.ring, nic(self.cable, self.ring.memory, session))
        memory = b"".join(image.tobytes() for image in images)
        self._part = session.image_bytes // session.sources
        self._image_bytes = session.image_bytes
        self._sources = [
            Tx(session.tx_config(source), lambda address, length: memory[address : address + length])
            for source in range(session.sources)
        ]

    def offer(self, number: int, source: int = 0, window_end: int | None = None) -> list[bytes]:
        """Offer a frame to a source; its packets, none without credit: the ring's, if no other is given."""
        address = number % len(self.images) * self._image_bytes + source * self._part
        event = FrameEvent(number, timestamp_ns=1000 * number, bunch_id=number + 500, address=address)
        self._sources[source].bd_gen.window_ends[0] = self.ring.window_end if window_end is None else window_end
        return self._sources[source].frame(event)

    def rearm(self) -> None:
        """The sources begin anew with any number; their QPs go on."""
        for number, source in enumerate(self._sources):
            source.bd_gen = Tx(self.session.tx_config(number), lambda address, length: b"").bd_gen

    def send(self, number: int, lost: frozenset[int] | set[int] = frozenset(), source: int = 0) -> None:
        """Put a frame on the cable, but for the packets with the indices `lost`."""
        self.cable.waiting.extend(p for n, p in enumerate(self.offer(number, source)) if n not in lost)

    def take(self) -> list[ReceivedFrame]:
        """Finished frames until the cable is empty; none is released."""
        frames = self.receiver.poll(0)
        while self.cable.waiting:
            frames += self.receiver.poll(0)
        return frames

    def read(self) -> list[int]:
        """Take and release; the numbers, with what is not a hole compared to what was sent."""
        return [self.check(frame) for frame in self.take()]

    def check(self, frame: ReceivedFrame) -> int:
        found = frame.image != HOLE_WORD
        assert frame.holes == found.size - np.count_nonzero(found)
        assert np.array_equal(frame.image[found], self.images[frame.number % len(self.images)][found])
        assert self.receiver.release(frame)
        return frame.number


@pytest.fixture
def make_chain(make_session: MakeSession, make_images: MakeImages) -> Callable[..., Chain]:
    def make(**changes: int) -> Chain:
        session = make_session(**changes)
        return Chain(session, make_images(session, 8))

    return make


MakeChain = Callable[..., Chain]


def test_a_whole_frame_tells_its_time_and_bunch(make_chain: MakeChain) -> None:
    chain = make_chain()
    chain.send(0)
    chain.send(1)
    frames = chain.take()
    assert [(f.number, f.slot, f.complete, f.holes) for f in frames] == [(0, 0, True, 0), (1, 1, True, 0)]
    assert (frames[1].timestamp_ns, frames[1].bunch_id) == (1000, 501)
    assert chain.receiver.tally() == Tally(2, 2, 0, 0, 0, 0)


def test_a_lost_packet_makes_a_frame_incomplete_by_its_own_pixels(make_chain: MakeChain) -> None:
    chain = make_chain()
    chain.send(0, lost={1})
    (frame,) = chain.take()
    assert (frame.complete, frame.holes) == (False, 512)
    assert np.flatnonzero(frame.image == HOLE_WORD).tolist() == list(range(512, 1024))
    assert chain.receiver.tally() == Tally(1, 0, 1, 0, 0, 0)


def test_a_frame_whose_trailer_is_lost_ends_with_the_next_and_is_not_complete(make_chain: MakeChain) -> None:
    chain = make_chain()
    chain.send(0, lost={TRAILER})
    assert chain.take() == []
    chain.send(1)
    first, second = chain.take()
    assert (first.number, first.complete, first.holes, first.trailers) == (0, False, 0, (None,))
    assert first.timestamp_ns is None
    assert first.bunch_id is None
    assert (second.number, second.complete) == (1, True)


def test_a_frame_of_which_nothing_came_is_missing_and_holds_no_credit(make_chain: MakeChain) -> None:
    chain = make_chain()
    chain.send(0, lost=set(range(5)))
    chain.send(1)
    assert chain.read() == [1]
    assert chain.receiver.tally() == Tally(2, 1, 0, 0, 0, 1)
    assert chain.ring.window_end == 6


def test_frames_dropped_for_want_of_credit_are_told_from_lost_ones_by_the_sources_count(make_chain: MakeChain) -> None:
    chain = make_chain()
    for number in range(4):
        chain.send(number)
    held = chain.take()
    assert chain.offer(4) == chain.offer(5) == []
    for frame in held:
        chain.check(frame)
    chain.send(6, lost=set(range(5)))
    chain.send(7)
    assert chain.read() == [7]
    assert chain.receiver.tally() == Tally(8, 5, 0, 2, 0, 1)


def test_a_source_that_fell_behind_its_credit_goes_on_after_settling(make_chain: MakeChain) -> None:
    chain = make_chain()
    for number in range(4):
        chain.send(number)
    held = chain.take()
    for number in range(4, 10):
        assert chain.offer(number) == []
    for frame in held:
        chain.check(frame)
    assert chain.offer(10) == [], "the credit is for frames 4 to 7, which were dropped long ago"
    assert chain.receiver.settle(offered=11, dropped=7) == []
    chain.send(11)
    assert chain.read() == [11]
    assert chain.receiver.tally(12) == Tally(12, 5, 0, 7, 0, 0)


def test_what_a_source_dropped_before_the_session_is_none_of_its_frames(make_chain: MakeChain) -> None:
    """Sources count from frame 0, this session begins with frame 100: of its four one came, two were dropped."""
    chain = make_chain(window_end=104)
    chain.send(100)
    assert chain.read() == [100]
    assert chain.receiver.settle(offered=4, dropped=102) == []
    assert chain.receiver.tally(4) == Tally(4, 1, 0, 2, 0, 1)
    assert chain.receiver.settle(offered=4, dropped=101) == []
    assert chain.receiver.tally(4) == Tally(4, 1, 0, 2, 0, 1), "an older count takes nothing back"


def test_the_last_frames_are_named_missing_once_the_source_tells_how_many_it_sent(make_chain: MakeChain) -> None:
    chain = make_chain()
    chain.send(0)
    chain.send(1, lost={0, 1, 2, 3, 4})
    chain.send(2, lost={0, TRAILER})
    chain.send(3, lost={0, 1, 2, 3, 4})
    assert chain.read() == [0]
    (frame,) = chain.receiver.settle(offered=4)
    assert (frame.number, frame.holes, frame.complete) == (2, 512, False)
    assert chain.receiver.tally(4) == Tally(4, 1, 1, 0, 0, 2)
    assert chain.receiver.tally(4).holds


def test_without_that_number_the_run_ends_with_the_last_frame_of_which_anything_came(make_chain: MakeChain) -> None:
    chain = make_chain()
    chain.send(0)
    chain.send(1, lost={0, 1, 2, 3, 4})
    chain.send(2, lost={0, TRAILER})
    chain.send(3, lost={0, 1, 2, 3, 4})
    (frame, partial) = chain.take() + chain.receiver.settle()
    assert (frame.number, partial.number) == (0, 2)
    assert chain.receiver.settle() == []
    assert chain.receiver.tally() == Tally(3, 1, 1, 0, 0, 1)


def test_a_source_that_sent_less_than_what_came_breaks_the_identity(make_chain: MakeChain) -> None:
    chain = make_chain()
    chain.send(0)
    chain.send(1)
    assert chain.read() == [0, 1]
    assert not chain.receiver.tally(1).holds


def test_slots_in_use_are_not_written_however_they_are_released(make_chain: MakeChain) -> None:
    chain = make_chain()
    for number in range(4):
        chain.send(number)
    held = chain.take()
    for frame in (held[2], held[3], held[1]):
        chain.check(frame)
    assert chain.offer(4) == [], "frame 0 is still read"
    assert np.array_equal(held[0].image, chain.images[0])
    chain.check(held[0])
    chain.send(5)
    assert chain.read() == [5]


def test_two_sources_fill_one_slot_and_each_must_end_the_frame(make_chain: MakeChain) -> None:
    chain = make_chain(sources=2)
    chain.send(0, source=0)
    assert chain.take() == []
    chain.send(0, source=1)
    chain.send(1, source=1, lost={0})
    (frame,) = chain.take()
    assert frame.complete
    assert [t.source for t in frame.trailers if t] == [0, 1]
    chain.send(1, source=0)
    (frame,) = chain.take()
    assert not frame.complete
    assert np.flatnonzero(frame.image == HOLE_WORD).tolist() == list(range(800, 800 + 512))


def test_one_sources_lost_trailer_is_awaited_until_both_have_gone_on(make_chain: MakeChain) -> None:
    chain = make_chain(sources=2)
    chain.send(0, source=0)
    chain.send(0, source=1, lost={2})
    chain.send(1, source=0)
    assert chain.take() == []
    chain.send(1, source=1)
    first, second = chain.take()
    assert (first.complete, first.holes, [t is None for t in first.trailers]) == (False, 0, [False, True])
    assert first.timestamp_ns == 0
    assert second.complete


def test_a_trailer_that_comes_again_does_not_take_a_source_back(make_chain: MakeChain) -> None:
    chain = make_chain(sources=2)
    first = chain.offer(0, source=0)
    chain.cable.waiting.extend([*first, *chain.offer(1, source=0), first[-1]])
    chain.send(0, source=1)
    chain.send(1, source=1)
    assert [f.complete for f in chain.take()] == [True, True]


def test_frames_that_two_sources_dropped_in_turn_are_incomplete(make_chain: MakeChain) -> None:
    chain = make_chain(sources=2)
    for number, dropped_by in enumerate((0, 1, None)):
        for source in (0, 1):
            chain.cable.waiting.extend(chain.offer(number, source, 0 if source == dropped_by else None))
    assert [f.complete for f in chain.take()] == [False, False, True]
    assert chain.receiver.tally() == Tally(3, 1, 2, 0, 0, 0)


def test_what_one_of_two_sources_dropped_does_not_excuse_a_lost_frame(make_chain: MakeChain) -> None:
    chain = make_chain(sources=2)
    chain.offer(0, source=0, window_end=0)
    chain.send(0, source=1)
    for source in (0, 1):
        chain.send(1, {0, 1, 2}, source)
        chain.send(2, source=source)
    assert [f.number for f in chain.take()] == [0, 2]
    assert chain.receiver.tally() == Tally(3, 1, 1, 0, 0, 1)


@pytest.mark.parametrize("first", [(1 << 24) - 2, (1 << 40) - 2])
def test_frame_numbers_go_on_where_the_immediates_24_bits_wrap(make_chain: MakeChain, first: int) -> None:
    chain = make_chain(window_end=first + 4)
    seen = []
    for number in range(first, first + 2):
        chain.send(number)
        seen += chain.read()
    assert seen == [first, first + 1]
    assert chain.receiver.strays == 0
    chain.receiver.settle(offered=3)
    assert chain.receiver.tally(3) == Tally(3, 2, 0, 0, 0, 1)


def test_running_free_a_gap_of_almost_all_24_bits_is_bridged(make_chain: MakeChain) -> None:
    chain = make_chain(window_end=FREE_RUNNING)
    seen = []
    for number in (0, *range(1 << 24, (1 << 24) + 8)):
        chain.send(number)
        seen += chain.read()
    assert seen == [0, *range((1 << 24) + 2, (1 << 24) + 8)], "a slot is cleaned before it is trusted again"
    assert chain.receiver.tally() == Tally((1 << 24) + 8, 7, 0, (1 << 24) - 1, 2, 0)


def test_a_frame_sent_without_credit_is_not_taken_and_spoils_the_one_it_wrote_over(make_chain: MakeChain) -> None:
    chain = make_chain()
    chain.send(0)
    (frame,) = chain.take()
    chain.cable.waiting.extend(chain.offer(4, window_end=FREE_RUNNING))
    assert chain.take() == []
    assert chain.receiver.strays == 1
    assert chain.receiver.first_stray.endswith("of no frame from 1 to 3: late, or sent without credit")
    assert not chain.receiver.release(frame)
    assert chain.receiver.tally() == Tally(1, 0, 0, 0, 1, 0)
    chain.rearm()
    chain.send(4, lost={0})
    (frame,) = chain.take()
    assert frame.holes == 512, "the slot was clean again for its rightful frame"


def test_a_trailer_that_comes_again_counts_once_and_spoils_no_later_frame(make_chain: MakeChain) -> None:
    chain = make_chain(sources=2)
    packets = [chain.offer(0, source) for source in (0, 1)]
    chain.cable.waiting.extend(packets[0] + packets[1])
    assert chain.read() == [0]
    chain.cable.waiting.append(packets[1][-1])
    assert chain.read() == []
    assert chain.receiver.strays == 1
    for number in (1, 2, 3):
        chain.send(number, source=0)
        chain.send(number, source=1)
    assert chain.read() == [1, 2, 3]
    for source in (0, 1):
        chain.offer(4, source)
        chain.send(5, source=source)
    assert chain.read() == [5], "of frame 4 nothing came: the trailer in its slot is frame 0's"
    assert chain.receiver.tally() == Tally(6, 5, 0, 0, 0, 1)


def test_a_pixel_packet_that_comes_again_in_a_later_frame_of_its_slot_is_not_placed_there(
    make_chain: MakeChain,
) -> None:
    chain = make_chain()
    first = chain.offer(0)
    chain.cable.waiting.extend(first)
    for number in (1, 2, 3):
        chain.send(number)
    assert chain.read() == [0, 1, 2, 3]
    chain.cable.waiting.append(first[2])
    chain.send(4, lost={2})
    chain.cable.waiting.extend([first[2], first[TRAILER]])
    (frame,) = chain.take()
    assert (frame.number, frame.holes) == (4, 512), "frame 0's packet 2 is not frame 4's"
    assert chain.check(frame) == 4
    assert chain.receiver.settle() == []
    assert chain.receiver.tally() == Tally(5, 4, 1, 0, 0, 0)


def test_a_packet_after_its_trailer_is_not_shown_as_another_frame_at_the_end(make_chain: MakeChain) -> None:
    chain = make_chain()
    first = chain.offer(0)
    chain.cable.waiting.extend([*first[:3], first[TRAILER]])
    (frame,) = chain.take()
    chain.check(frame)
    chain.cable.waiting.append(first[3])
    assert chain.take() + chain.receiver.settle() == []
    assert chain.receiver.tally() == Tally(1, 0, 1, 0, 0, 0)


def test_of_several_sources_only_a_trailer_shows_a_frame_at_the_end(make_chain: MakeChain) -> None:
    chain = make_chain(sources=2)
    packets = [chain.offer(0, source) for source in (0, 1)]
    chain.cable.waiting.extend(packets[0] + packets[1])
    assert chain.read() == [0]
    chain.cable.waiting.append(packets[0][1])
    assert chain.take() + chain.receiver.settle() == [], "a late packet of frame 0 lies where frame 4 would"
    assert chain.receiver.tally() == Tally(1, 1, 0, 0, 0, 0)


def test_frames_of_other_numbers_than_the_sessions_are_strays_and_no_frames(make_chain: MakeChain) -> None:
    sender, chain = make_chain(), make_chain(window_end=4 + (1 << 24))
    for number in range(3):
        chain.cable.waiting.extend(sender.offer(number)[: TRAILER if number == 1 else None])
    assert chain.take() + chain.receiver.settle() == []
    assert chain.receiver.tally() == Tally(0, 0, 0, 0, 0, 0)
    assert chain.receiver.strays == 2
    assert chain.receiver.first_stray == (
        "immediate 0x00000000: for frame 16777216, but the trailer in its slot is of frame 0"
    )
    assert [f.number for f in chain.receiver.settle(offered=2)] == [(1 << 24) + 1], "only slot 1 has no trailer"


@pytest.mark.parametrize("rows", [15, 17, 1])
def test_frames_of_another_size_than_the_sessions_are_strays_and_no_frames(make_chain: MakeChain, rows: int) -> None:
    sender, chain = make_chain(), make_chain(rows=rows)
    for number in range(4):
        chain.cable.waiting.extend(sender.offer(number))
    assert chain.take() + chain.receiver.settle() == []
    assert chain.receiver.strays == 4
    assert chain.receiver.first_stray == (
        f"immediate 0x00000000: frame 0 has 3200 bytes of pixels, {rows * 200} by the session: "
        "is it the session of this run?"
    )


def test_after_a_stray_a_source_that_keeps_to_the_session_is_believed_again(make_chain: MakeChain) -> None:
    chain = make_chain()
    chain.cable.waiting.extend(chain.offer(4, window_end=FREE_RUNNING)[TRAILER:])
    chain.rearm()
    chain.send(1)
    chain.send(2, lost={TRAILER})
    assert [f.number for f in chain.take() + chain.receiver.settle()] == [1, 2]


def test_a_write_with_immediate_that_is_no_trailer_is_ignored(make_session: MakeSession, make_chain: MakeChain) -> None:
    chain, session = make_chain(), make_session()
    sender = RoceTx(session.source.endpoint(), (session.qp_context(),))
    for length, imm in ((64, 0), (100, 0), (64, 1 << 24), (64, 255 << 24 | 3), (64, 0xFFFFFF)):
        chain.cable.waiting.extend(sender.send(Message(session.base, length, imm=imm), bytes(length))[1])
    assert chain.take() == []
    assert chain.receiver.strays == 5
    assert chain.receiver.first_stray == "immediate 0x00000000: for frame 0, but slot 0 has no trailer at its place"


def test_packets_out_of_order_inside_a_frame_do_no_harm(make_chain: MakeChain) -> None:
    chain = make_chain()
    for number in range(6):
        packets = chain.offer(number)
        chain.cable.waiting.extend([packets[3], packets[0], packets[0], packets[2], packets[1], packets[TRAILER]])
        (frame,) = chain.take()
        assert frame.complete
        chain.check(frame)


def test_running_free_a_host_that_keeps_up_loses_nothing(make_chain: MakeChain) -> None:
    chain = make_chain(window_end=FREE_RUNNING)
    seen = []
    for number in range(10):
        chain.send(number)
        seen += chain.read()
    assert seen == list(range(10))
    assert chain.receiver.tally(10) == Tally(10, 10, 0, 0, 0, 0)


def test_running_free_a_frame_overwritten_while_it_is_read_is_void(make_chain: MakeChain) -> None:
    chain = make_chain(window_end=FREE_RUNNING)
    chain.send(0)
    (slow,) = chain.take()
    seen = []
    for number in range(1, 10):
        chain.send(number)
        seen += chain.read()
    assert not chain.receiver.release(slow)
    assert seen == [1, 2, 3, 5, 6, 7, 8, 9], "4 came into a slot with words of 0; it is clean again for 8"
    assert chain.receiver.tally(10) == Tally(10, 8, 0, 0, 2, 0)


def test_running_free_completions_that_are_fetched_late_are_of_frames_overwritten(
    make_session: MakeSession, make_images: MakeImages
) -> None:
    session = make_session(window_end=FREE_RUNNING)
    chain = Chain(session, make_images(session, 8), AsynchronousNic)
    for number in range(10):
        chain.send(number)
    assert chain.read() == []
    assert chain.receiver.tally() == Tally(10, 0, 0, 0, 10, 0)
    chain.send(10)
    chain.send(11)
    assert chain.read() == [11], "slot 2 was not clean for frame 10"
    assert chain.receiver.strays == 0


def test_running_free_the_last_frame_is_shown_though_its_trailer_is_lost(make_chain: MakeChain) -> None:
    chain = make_chain(window_end=FREE_RUNNING)
    chain.send(0)
    (held,) = chain.take()
    assert chain.receiver.settle() == [], "what lies in slot 0 is frame 0 in use, not frame 4"
    assert chain.receiver.tally() == Tally(1, 1, 0, 0, 0, 0)
    chain.send(1, lost={TRAILER, 2})
    (partial,) = chain.take() + chain.receiver.settle()
    assert (partial.number, partial.holes) == (1, 512)
    assert chain.receiver.release(held)


def test_running_free_a_host_that_was_away_drops_what_it_missed_and_recovers(make_chain: MakeChain) -> None:
    chain = make_chain(window_end=FREE_RUNNING)
    chain.send(0)
    assert chain.read() == [0]
    for number in range(1, 30):
        chain.send(number, lost={TRAILER} if number < 29 else set())
    chain.read()
    tally = chain.receiver.tally(30)
    assert tally.holds
    assert tally.complete == 1, "no slot can be trusted: each has words of several frames"
    seen = []
    for number in range(30, 40):
        chain.send(number)
        seen += chain.read()
    assert seen[-4:] == [36, 37, 38, 39]
    assert chain.receiver.tally(40).holds


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("window_end", [4, FREE_RUNNING])
def test_whatever_is_lost_the_identity_holds_and_no_wrong_pixel_is_shown(
    make_chain: MakeChain, seed: int, window_end: int
) -> None:
    chain = make_chain(window_end=window_end)
    rng = np.random.default_rng(seed)
    held: list[ReceivedFrame] = []
    ended: list[bytes] = []
    """Packets up to the last trailer that came: some come again."""
    sent, dropped, void, complete = 0, 0, 0, 0
    for number in range(300):
        packets = chain.offer(number)
        dropped += not packets
        loss = rng.choice([0.0, 0.1, 1.0], p=[0.8, 0.15, 0.05])
        kept = [p for p in packets if rng.random() >= loss]
        again = [ended[index] for index in rng.integers(len(ended), size=rng.integers(3))] if ended else []
        chain.cable.waiting.extend([*again, *kept])
        if packets and packets[-1] in kept:
            ended += kept
        sent += 1
        held += chain.take()
        rng.shuffle(held)
        while held and rng.random() < 0.7:
            frame = held.pop()
            found = frame.image != HOLE_WORD
            right = np.array_equal(frame.image[found], chain.images[frame.number % 8][found])
            if chain.receiver.release(frame):
                assert right
                complete += frame.complete
            else:
                void += 1
        if not packets and number % 7 == 0:
            held += chain.receiver.settle(number + 1, dropped)
    held += chain.take() + chain.receiver.settle(sent, dropped)
    for frame in held:
        complete += chain.receiver.release(frame) and frame.complete
    tally = chain.receiver.tally(sent)
    assert tally.holds, str(tally)
    assert tally.complete == complete > 30
    assert tally.dropped_at_source == dropped
    assert tally.missing > 0
    assert tally.dropped_by_host >= void
    assert (window_end == FREE_RUNNING) == (void > 0) == (dropped == 0)
