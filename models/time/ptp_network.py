"""Grandmasters, a network that delays, a board's clock with its own oscillator: what it says, and what is true.

The board's clock is `time_counter`, cycle by cycle. Moments and times are ints in 2^-32 ns, and a moment is one of TAI.
"""

import heapq
import math
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from random import Random
from typing import Literal

from framelane.models.time import time_counter
from framelane.models.time.grandmaster import Grandmaster
from framelane.models.time.ptp_message import Kind, Message, PortIdentity
from framelane.models.time.time_counter import NS, SECOND, Rate

_FINE = 16
"""Bits by which edges are known better than moments: `ClockEdge` has 2^-48 ns."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Path:
    """How long messages take, in ns: at least `there` to the board and `back` to the master, and a random part each.

    `jitter` is the width of the uniform part, or the mean of the exponential one. `loss` is the share that gets lost.
    """

    there: float = 500.0
    back: float = 500.0
    jitter: float = 1000.0
    shape: Literal["uniform", "exponential"] = "uniform"
    loss: float = 0.0

    def delay(self, chance: Random, least: float) -> int:
        """A delay, in 2^-32 ns."""
        if self.shape == "uniform":
            late = chance.uniform(0, self.jitter)
        else:
            late = chance.expovariate(1 / self.jitter) if self.jitter else 0.0
        return round((least + late) * NS)


@dataclass(frozen=True, slots=True, kw_only=True)
class Oscillator:
    """The board's clock of `hz`, `ppm` too fast, from a random phase on.

    Its frequency walks at random, by `wander_ppb` in a second (standard deviation).
    """

    hz: float = 250e6
    ppm: float = 0.0
    wander_ppb: float = 0.0

    @property
    def period(self) -> int:
        """Its true period in 2^-48 ns: no rate that the clock can be given is exactly right."""
        return round(1e9 / (self.hz * (1 + self.ppm * 1e-6)) * (NS << _FINE))


@dataclass(frozen=True, slots=True)
class ClockEdge:
    """A board's clock at one of its edges: the true moment of that, and its true period, in 2^-48 ns; what it says."""

    moment: int
    period: int
    time: int
    rate: Rate


class BoardClock:
    """`time_counter` behind an oscillator: `read`, `step`, `adjust` at the moment `now()` of a simulation.

    It counts from `start` on, at the rate of a clock of the nominal frequency.
    """

    def __init__(self, oscillator: Oscillator, now: Callable[[], int], chance: Random, start: int = 0) -> None:
        self._now, self._chance, self._wander = now, chance, oscillator.wander_ppb
        self._nominal: Rate = time_counter.rate_of(oscillator.hz)
        self._rate, self._state = self._nominal, time_counter.Clock(start)
        self._period = self._usual = oscillator.period
        self._edge = (now() << _FINE) - chance.randrange(self._period)
        self._off_ppb, self._changes = 0.0, now() + SECOND
        self.steps: list[tuple[int, int]] = []
        """When it was stepped, and by how much."""

    def read(self) -> int:
        """Its time at the last edge."""
        self._run_until(self._now())
        return self._state.time

    def step(self, offset: int) -> None:
        """Step it."""
        self._run_until(self._now())
        self.steps.append((self._now(), offset))
        self._state = time_counter.stepped(self._state, offset)

    def adjust(self, ppb: float) -> float:
        """Let it go so much faster than nominal; how much it is in the register's steps."""
        self._run_until(self._now())
        adjust = time_counter.adjust_of(self._nominal.period, ppb)
        self._rate = Rate(self._nominal.period, self._nominal.numerator, self._nominal.denominator, adjust)
        return adjust / self._nominal.period * 1e9

    def stamp_next(self, moment: int) -> tuple[int, int]:
        """The first edge at `moment` or behind it, and the clock's time there: the stamp of what comes then."""
        self._run_until(moment)
        if self._edge < moment << _FINE:
            self._cycles(1)
        return -(-self._edge >> _FINE), self._state.time

    def last_edge(self) -> ClockEdge:
        """Its last edge. Without wander it goes on from there as it says."""
        self._run_until(self._now())
        return ClockEdge(self._edge, self._period, self._state.time, self._rate)

    def error(self, true: Callable[[int], int]) -> float:
        """How many ns it is ahead of the time `true(moment)`, at its last edge."""
        self._run_until(self._now())
        return (self._state.time - true(self._edge >> _FINE)) / NS

    def _run_until(self, moment: int) -> None:
        while self._wander and self._changes <= moment:
            self._cycles(max(0, (self._changes << _FINE) - self._edge) // self._period)
            self._off_ppb += self._chance.gauss(0, self._wander)
            self._period = round(self._usual * (1 - self._off_ppb * 1e-9))
            self._changes += SECOND
        self._cycles(max(0, (moment << _FINE) - self._edge) // self._period)

    def _cycles(self, count: int) -> None:
        if count:
            self._state = time_counter.advance(self._state, self._rate, count)
            self._edge += count * self._period


@dataclass(slots=True, order=True)
class _Event:
    moment: int
    number: int
    act: Callable[[], None] = field(compare=False)


class PtpNetwork:
    """One board and its masters, from the moment `start` on; `identity` is the board's port.

    The board's side are `clock` and this itself, which it sends to (`send`) and receives from (`receive`). `run` calls
    the board whenever a message has come, and when it wanted to be.
    """

    def __init__(
        self,
        masters: list[Grandmaster],
        path: Path,
        oscillator: Oscillator,
        *,
        start: int,
        identity: PortIdentity,
        seed: int = 1,
    ) -> None:
        self.now = start
        self.identity = identity
        self.masters, self.path = masters, path
        self._chance = Random(seed)
        self.clock = BoardClock(oscillator, lambda: self.now, self._chance)
        self._events: list[_Event] = []
        self._number = 0
        self._inbox: deque[tuple[Message, int]] = deque()
        self._start = start
        for master in masters:
            self._at(master.next_moment, partial(self._act, master))

    def seconds(self) -> float:
        """Seconds since the beginning: a monotonic clock."""
        return (self.now - self._start) / SECOND

    def error_ns(self, master: int | None = None) -> float:
        """How far the board's clock is ahead of TAI, or of what that master says."""
        return self.clock.error((lambda moment: moment) if master is None else self.masters[master].time_at)

    def receive(self) -> tuple[Message, int] | None:
        """The next message that has come, and its stamp; None where there is none."""
        return self._inbox.popleft() if self._inbox else None

    def send(self, message: Message) -> int:
        """Send to all masters; the stamp of its departure."""
        edge, stamp = self.clock.stamp_next(self.now)
        for master in self.masters:
            if not self._lost():
                self._at(edge + self.path.delay(self._chance, self.path.back), self._asked(master, message))
        return stamp

    def run(self, seconds: float, board: Callable[[], float]) -> None:
        """Let time pass. `board()` does what is due and says in how many seconds it wants to be called again."""
        end = self.now + round(seconds * SECOND)
        wake = self.now
        while True:
            moment = min(wake, self._events[0].moment if self._events else end)
            if moment >= end:
                break
            self.now = moment
            while self._events and self._events[0].moment <= moment:
                heapq.heappop(self._events).act()
            if self._inbox or moment >= wake:
                after = board()
                wake = self.now + max(NS, round(after * SECOND)) if math.isfinite(after) else end
        self.now = end

    def _at(self, moment: int, act: Callable[[], None]) -> None:
        self._number += 1
        heapq.heappush(self._events, _Event(moment, self._number, act))

    def _lost(self) -> bool:
        return self.path.loss > 0 and self._chance.random() < self.path.loss

    def _act(self, master: Grandmaster) -> None:
        for departure, message in master.act():
            self._deliver(departure, message)
        self._at(master.next_moment, partial(self._act, master))

    def _asked(self, master: Grandmaster, message: Message) -> Callable[[], None]:
        def act() -> None:
            if answer := master.answer(message, self.now):
                self._deliver(*answer)

        return act

    def _deliver(self, departure: int, message: Message) -> None:
        if not self._lost():
            arrival = departure + self.path.delay(self._chance, self.path.there)
            self._at(arrival, lambda: self._arrive(message, arrival))

    def _arrive(self, message: Message, arrival: int) -> None:
        stamp = self.clock.stamp_next(arrival)[1] if message.kind is Kind.SYNC else 0
        self._inbox.append((message, stamp))
