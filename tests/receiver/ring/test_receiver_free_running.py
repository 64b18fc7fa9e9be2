"""Sources that run free of credit: a frame that is written over is never called whole, and the receiver recovers."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from framelane.models.placement.slots import FREE_RUNNING
from framelane.receiver.ring.tally import Tally
from framelane.receiver.transport.softnic import SoftNic
from framelane.receiver.transport.transport import Completion
from framelane.session.session import Session
from receiver_chain import TRAILER, Chain, MakeChain

MakeSession = Callable[..., Session]
MakeImages = Callable[..., list[NDArray[np.uint16]]]


class AsynchronousNic(SoftNic):
    """Places packets whether or not anyone looks, and tells of all at once, as a NIC does."""

    def poll(self, timeout_s: float) -> list[Completion]:
        completions = []
        while completion := super().poll(0):
            completions += completion
        return completions


def test_running_free_a_gap_of_almost_all_24_bits_is_bridged(make_chain: MakeChain) -> None:
    chain = make_chain(window_end=FREE_RUNNING)
    seen = []
    for number in (0, *range(1 << 24, (1 << 24) + 8)):
        chain.send(number)
        seen += chain.read()
    assert seen == [0, *range((1 << 24) + 2, (1 << 24) + 8)], "a slot is cleaned before it is trusted again"
    assert chain.receiver.tally() == Tally((1 << 24) + 8, 7, 0, (1 << 24) - 1, 2, 0)


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
