"""Threads of streams and the one that decides: nothing changes in a turn, nobody has one while the gate is closed."""

import threading
import time
from collections.abc import Iterator

import numpy as np
import pytest
from numpy.typing import NDArray

from framelane.base.compiled import compiled
from framelane.receiver.detector.open_frames import EXPECTED, NEWEST, OpenFrames, end_turn, take_turn, tell_whole

STREAMS, SLOTS = 3, 8


@compiled
def take_turns(
    signals: NDArray[np.int64],
    turns: NDArray[np.int64],
    line: int,
    opened: NDArray[np.int64],
    seen: NDArray[np.int64],
    goes_on: NDArray[np.bool_],
) -> None:
    """Count turns in which slot 0 was another one at their end than at their beginning, and all turns."""
    while goes_on[0]:
        take_turn(signals, turns, line)
        begun, changed = opened[0], 0
        for _ in range(200):
            changed += opened[0] != begun
        seen[0] += changed
        seen[1] += 1
        end_turn(turns, line, 0)


@pytest.fixture
def frames() -> Iterator[OpenFrames]:
    """All slots are closed."""
    found = OpenFrames(SLOTS, STREAMS, 100)
    yield found
    found.close()


def test_what_is_changed_while_the_gate_is_closed_changes_in_nobody_s_turn(frames: OpenFrames) -> None:
    seen, goes_on = np.zeros((STREAMS, 2), np.int64), np.ones(1, np.bool_)
    threads = [
        threading.Thread(
            target=take_turns,
            args=(frames.signals, frames.turns.reshape(-1), 8 * index, frames.opened, seen[index], goes_on),
        )
        for index in range(STREAMS)
    ]
    for thread in threads:
        thread.start()
    for number in range(0, 300 * SLOTS, SLOTS):
        frames.open(number, number + SLOTS)
        frames.shut(number, whole=False)
        with frames.held():
            turns = seen[:, 1].copy()
            frames.opened[0] = -2
            time.sleep(0.0005)
            assert (seen[:, 1] == turns).all(), "somebody has a turn while the gate is closed"
            frames.shut(number, whole=False)
    deadline = time.monotonic() + 30  # a thread may not have had a core yet
    while not (seen[:, 1] > 0).all() and time.monotonic() < deadline:
        time.sleep(0.001)
    goes_on[0] = False
    for thread in threads:
        thread.join()
    assert (seen[:, 0] == 0).all(), "a slot was opened or shut in somebody's turn"
    assert (seen[:, 1] > 0).all()


def test_no_slot_is_opened_for_a_frame_of_which_a_packet_was_refused(frames: OpenFrames) -> None:
    frames.open(0, 4)
    assert frames.opened.tolist() == [0, 1, 2, 3, -1, -1, -1, -1]
    frames.turns[1, NEWEST] = 5
    frames.open(4, 8)
    assert frames.opened.tolist() == [0, 1, 2, 3, -1, -1, 6, 7]


def test_a_frame_is_whole_once_all_streams_that_are_expected_say_so(frames: OpenFrames) -> None:
    frames.open(0, 8)
    assert [tell_whole(frames.signals, frames.whole, 2) for _ in range(STREAMS)] == [False, False, True]
    frames.signals[EXPECTED] = 1
    assert tell_whole(frames.signals, frames.whole, 3)
    frames.open(8, 16)
    assert frames.whole.tolist() == [0] * SLOTS


def test_the_bell_wakes_also_whoever_comes_later_and_once(frames: OpenFrames) -> None:
    frames.ring()
    frames.ring()
    for least, most in ((0.0, 5.0), (0.1, 10.0)):
        begun = time.monotonic()
        frames.wait(0.1 if least else 10.0)
        assert least <= time.monotonic() - begun < most
    ringer = threading.Timer(0.05, frames.ring)
    ringer.start()
    begun = time.monotonic()
    frames.wait(20.0)
    assert time.monotonic() - begun < 10.0
    ringer.join()
