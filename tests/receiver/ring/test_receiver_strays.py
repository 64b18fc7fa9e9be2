"""Packets that are late, repeated, without credit or of another session: none makes a frame, or spoils one unseen."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from framelane.models.placement.slots import FREE_RUNNING
from framelane.models.roce_tx import roce_icrc, wire
from framelane.models.roce_tx.roce_segment import Message
from framelane.models.roce_tx.roce_tx import RoceTx
from framelane.receiver.ring.tally import Tally
from framelane.session.session import Session
from receiver_chain import TRAILER, MakeChain

MakeSession = Callable[..., Session]


def test_a_trailer_that_comes_again_does_not_take_a_source_back(make_chain: MakeChain) -> None:
    chain = make_chain(sources=2)
    first = chain.offer(0, source=0)
    chain.cable.waiting.extend([*first, *chain.offer(1, source=0), first[-1]])
    chain.send(0, source=1)
    chain.send(1, source=1)
    assert [f.complete for f in chain.take()] == [True, True]


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
def test_frames_of_another_size_than_the_sessions_are_counted_apart_and_no_frames(
    make_chain: MakeChain, rows: int
) -> None:
    sender, chain = make_chain(), make_chain(rows=rows)
    for number in range(4):
        chain.cable.waiting.extend(sender.offer(number))
    assert chain.take() + chain.receiver.settle(offered=6) == []
    assert (chain.receiver.strays, chain.receiver.withheld) == (0, [4])
    assert chain.receiver.tally(6) == Tally(6, 0, 0, 0, 0, missing=2, wrong_size=4)
    assert str(chain.receiver.tally(6)).endswith("2 missing + 4 of another size")
    assert chain.receiver.first_misfit == (
        f"frame 0 has 3200 bytes of pixels, {rows * 200} by the session: give the source the session of this run"
    )


def test_a_frame_of_another_size_leaves_no_pixel_to_the_next_one_in_its_slot(make_chain: MakeChain) -> None:
    sender, chain = make_chain(rows=15), make_chain()
    chain.cable.waiting.extend(sender.offer(0))
    assert chain.read() == []
    chain.offer(0)  # so that its PSNs go on
    for number in range(1, 5):
        chain.send(number, lost={0} if number == 4 else set())
    holes = {frame.number: frame.holes for frame in chain.take()}
    assert holes == {1: 0, 2: 0, 3: 0, 4: 512}
    assert chain.receiver.tally() == Tally(5, 3, 1, 0, 0, 0, wrong_size=1)


def test_behind_a_frame_of_another_size_pixels_alone_show_no_frame(make_chain: MakeChain) -> None:
    sender, chain = make_chain(rows=15), make_chain()
    chain.cable.waiting.extend(sender.offer(0) + sender.offer(1)[:1])
    assert chain.take() + chain.receiver.settle() == []
    assert chain.receiver.tally() == Tally(1, 0, 0, 0, 0, 0, wrong_size=1)


def test_a_frame_is_of_another_size_where_one_of_its_sources_says_so(make_chain: MakeChain) -> None:
    sender, chain = make_chain(sources=2, rows=14), make_chain(sources=2)
    for number in range(2):
        chain.send(number, source=0)
        chain.cable.waiting.extend(sender.offer(number, source=1) if number else chain.offer(number, source=1))
    assert [frame.number for frame in chain.take()] == [0]
    assert chain.receiver.tally() == Tally(2, 1, 0, 0, 0, 0, wrong_size=1)
    assert chain.receiver.withheld == [1, 1]


def test_an_immediate_of_no_bytes_makes_no_frame_and_takes_no_trust_away(make_chain: MakeChain) -> None:
    chain = make_chain()
    first = chain.offer(0)
    chain.cable.waiting.extend(first)
    assert [frame.number for frame in chain.take()] == [0]
    headers = wire.parse(first[TRAILER])[0]
    for imm in (0, 1, 1 << 24):
        empty = replace(headers, imm=imm, reth=wire.Reth(0, 0, 0), payload_bytes=0, psn=headers.psn + 100_000)
        chain.cable.waiting.append(roce_icrc.append(wire.pack(empty)))
    chain.send(1)
    chain.send(2, lost={TRAILER})
    assert [f.number for f in chain.take() + chain.receiver.settle()] == [1, 2]
    assert chain.receiver.strays == 3
    assert chain.receiver.first_stray == "immediate 0x00000000: of a message of no bytes, which brings no trailer"


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
