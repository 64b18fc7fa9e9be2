"""How many unauthenticated clients are let in: a burst, then so many a second."""

import socket

import pytest

from framelane.session.channel import Channel
from framelane.session.waiting_room import BURST, RATE, WaitingRoom


def test_behind_a_burst_so_many_a_second_are_let_in() -> None:
    now = 100.0
    room = WaitingRoom(lambda: now)
    here, there = socket.socketpair()
    with here, there:
        channel = Channel(here)
        for _ in range(int(BURST)):
            assert room.opens_in_s == 0
            room.admit(channel, "192.0.2.1")
        for _ in range(3):
            assert room.opens_in_s == pytest.approx(1 / RATE)
            now += 0.25 / RATE
            assert room.opens_in_s == room.opens_in_s == pytest.approx(0.75 / RATE), "asking twice earns nothing"
            now += 0.75 / RATE
            assert room.opens_in_s == pytest.approx(0, abs=1e-9)
            room.admit(channel, "192.0.2.1")
        now += 3600
        for _ in range(int(BURST)):
            assert room.opens_in_s == 0, "no more than a burst is saved"
            room.admit(channel, "192.0.2.1")
        assert room.opens_in_s > 0


def test_one_who_shows_the_token_does_not_count() -> None:
    room = WaitingRoom(lambda: 0.0)
    here, there = socket.socketpair()
    with here, there:
        for _ in range(2 * int(BURST)):
            one, _ = room.admit(Channel(here), "192.0.2.1")
            room.leave(one, welcome=True)
        assert room.opens_in_s == 0
