"""Go-back-N's formula: values that were worked out by hand, and a small simulation that knows nothing of it."""

import heapq
import random
from dataclasses import replace
from itertools import accumulate
from math import inf

import pytest

from framelane.bench.transmitter import rc_formula
from framelane.bench.transmitter.rc_formula import Path

LINE = Path(packet=1, round_trip=9, messages=(1,), window=11, timeout=100, backoff=2)
"""A packet and its acknowledgement take 10; so many fill the window just before it is wanted."""


def test_nothing_lost_takes_the_line_or_a_window_each_round_trip() -> None:
    assert rc_formula.lossless(LINE) == 1
    assert rc_formula.lossless(Path(1, 9, (1,), 5, 100, 2)) == 2
    assert rc_formula.lossless(Path(1, 12, (4,), 11, 100, 2)) == 2, "two messages of 4 fit a window of 11"
    assert rc_formula.cycles(LINE, 0, 0) == rc_formula.textbook(LINE, 0) == 1


def test_the_textbook_formula_is_what_textbooks_say() -> None:
    assert 1 / rc_formula.textbook(LINE, 0.01) == pytest.approx(0.99 / (0.99 + 0.01 * 11)) == pytest.approx(0.9)
    assert 1 / rc_formula.textbook(LINE, 0.5) == pytest.approx(1 / 12)


def test_packets_that_were_issued_before_the_nak_are_paid_for() -> None:
    assert rc_formula.going_back(LINE) == 11
    assert rc_formula.going_back(Path(1, 9, (1,), 40, 100, 2)) == 40
    assert rc_formula.going_back(Path(1, 9, (1,), 5, 100, 2)) == 11 + 5 / 5, "one of five waits for the pause"
    assert rc_formula.going_back(Path(1, 9, (1,), 40, 100, 2, ahead=7)) == 18
    assert rc_formula.going_back(Path(1, 9, (1,), 15, 100, 2, ahead=7)) == 15, "no more fits the window"


def test_a_packet_that_is_lost_again_waits_for_time_outs_that_double() -> None:
    assert [rc_formula.wait(LINE, k) for k in range(5)] == [200, 400, 800, 800, 800]
    assert rc_formula.waits(LINE, 0.1, 0) == pytest.approx(0.1 * 200 + 0.01 * 400 + 0.001 / 0.9 * 800)
    by_nak, by_timeout = 11 + 0.1 * 200 + 0.01 * 400 + 0.001 / 0.9 * 800, 9 + 200 + 0.1 * 400 + 0.01 / 0.9 * 800
    assert rc_formula.lost(LINE, 0.1, 0.25) == pytest.approx(0.75 * by_nak + 0.25 * by_timeout)
    assert rc_formula.cycles(LINE, 0.1, 0.25) == pytest.approx(1 + 0.1 * rc_formula.lost(LINE, 0.1, 0.25))


def test_a_time_out_is_waited_for_once_more_for_as_long_as_packets_of_the_window_leave() -> None:
    path = Path(packet=1, round_trip=9, messages=(1,), window=40, timeout=15, backoff=1)
    assert rc_formula.wait(path, 0) == 15 * (1 + 3)
    assert rc_formula.wait(path, 5) == 30 * (1 + 2)
    assert rc_formula.wait(path, 0, under_way=10) == 15 * 2, "the first one always ends while packets leave"


class Simulation:
    """One sender, one receiver, packet by packet: what is issued leaves; one NAK until the packet has come."""

    def __init__(self, path: Path, loss: float, ack_loss: float) -> None:
        self.path, self.loss, self.ack_loss = path, loss, ack_loss
        self.random = random.Random(1)
        self.ends = list(accumulate(path.messages))
        self.now = self.line_free = self.timer = 0.0
        self.una = self.next = self.expected = self.backoff = self.number = 0
        self.asked = self.gone_back = self.left = False
        self.events: list[tuple[float, int, str, int]] = []

    def end_of(self, packet: int) -> int:
        """The first packet behind the message with that one."""
        rounds, at = divmod(packet, self.ends[-1])
        return rounds * self.ends[-1] + next(end for end in self.ends if end > at)

    def at(self, time: float, what: str, packet: int) -> None:
        self.number += 1
        heapq.heappush(self.events, (time, self.number, what, packet))

    def issue(self) -> None:
        while self.line_free - self.now < self.path.ahead and self._fits(end := self.end_of(self.next)):
            for packet in range(self.next, end):
                self.line_free = max(self.line_free, self.now) + self.path.packet
                self.at(self.line_free, "leaves", packet)
            self.next = end

    def _fits(self, end: int) -> bool:
        return end - self.una <= self.path.window

    def start(self) -> None:
        self.timer, self.left = self.now + self.path.timeout * 2 ** min(self.backoff, self.path.backoff), False
        self.at(self.timer, "expires", 0)

    def run(self, packets: int) -> float:
        """Time per packet in order."""
        self.start()
        while self.expected < packets:
            self.issue()
            self.now, _, what, packet = heapq.heappop(self.events)
            getattr(self, what)(packet)
        return self.now / self.expected

    def leaves(self, packet: int) -> None:
        self.left = True
        if self.random.random() >= self.loss:
            self.at(self.now + self.path.round_trip / 2, "arrives", packet)

    def arrives(self, packet: int) -> None:
        answer = None
        if packet == self.expected:
            self.expected, self.asked = packet + 1, False
            answer = "ack" if self.end_of(packet) == packet + 1 else None
        elif packet < self.expected:
            answer = "ack"
        elif not self.asked:
            self.asked, answer = True, "nak"
        if answer and self.random.random() >= self.ack_loss:
            self.at(self.now + self.path.round_trip / 2, answer, self.expected)

    def ack(self, expected: int) -> None:
        if expected > self.una:
            self.una, self.backoff, self.gone_back = expected, 0, False
            self.next = max(self.next, expected)
            self.start()

    def nak(self, expected: int) -> None:
        self.ack(expected)
        if expected == self.una and not self.gone_back:
            self.gone_back = True
            self.next = self.una
            self.start()

    def expires(self, _: int) -> None:
        if self.now != self.timer:
            return
        if not self.left and self.line_free <= self.now:
            self.backoff += 1
            self.gone_back = False
            self.next = self.una
        self.start()


@pytest.mark.parametrize("ahead", [inf, 12])
@pytest.mark.parametrize("window", [8, 100])
@pytest.mark.parametrize(("loss", "ack_loss"), [(0.002, 0.0), (0.01, 0.01), (0.05, 0.0), (0.05, 0.05)])
@pytest.mark.parametrize("messages", [(1,), (4, 4, 4, 4, 4, 4, 4, 1)], ids=["single", "frames"])
def test_a_simulation_packet_by_packet_takes_as_long(
    window: int, loss: float, ack_loss: float, messages: tuple[int, ...], ahead: float
) -> None:
    path = Path(packet=1, round_trip=30, messages=messages, window=window, timeout=60, backoff=2, ahead=ahead)
    measured = Simulation(path, loss, ack_loss).run(20_000)
    path = replace(path, ahead=ahead + max(messages) / 2)  # messages are issued whole
    assert rc_formula.cycles(path, loss, ack_loss) == pytest.approx(measured, rel=0.1)
