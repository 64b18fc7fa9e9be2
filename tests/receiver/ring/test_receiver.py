"""Lost packets in the receiver's loop: every frame's fate is known, and only whole frames are called complete."""

import numpy as np
import pytest

from framelane.models.placement.slots import FREE_RUNNING, HOLE_WORD
from framelane.receiver.ring.receiver import ReceivedFrame
from framelane.receiver.ring.tally import Tally
from receiver_chain import TRAILER, MakeChain


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


def test_packets_out_of_order_inside_a_frame_do_no_harm(make_chain: MakeChain) -> None:
    chain = make_chain()
    for number in range(6):
        packets = chain.offer(number)
        chain.cable.waiting.extend([packets[3], packets[0], packets[0], packets[2], packets[1], packets[TRAILER]])
        (frame,) = chain.take()
        assert frame.complete
        chain.check(frame)


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
