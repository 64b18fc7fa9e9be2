"""A PTP grandmaster with end-to-end delay, honest or not: what it sends and answers, at which true moments.

Moments and times are ints in 2^-32 ns (`time_counter.NS`). The truth is TAI: a moment of the simulation is one of TAI.
IEEE 1588-2019: 9.5 (sending), 11.3 (delay request and response).
"""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from framelane.models.time.ptp_message import NO_FLAGS, Announced, Flag, Kind, Message, PortIdentity
from framelane.models.time.time_counter import NS, SECOND

LEAP_NOTICE = 43_200 * SECOND
"""So long ahead a leap second is announced (9.4: twelve hours)."""


@dataclass(frozen=True, slots=True)
class Step:
    """From `at` on the master's time is `by` more than before."""

    at: int
    by: int


@dataclass(frozen=True, slots=True, kw_only=True)
class MasterSettings:
    """How a master is: intervals as logarithms to base 2 of seconds, `tick` the granularity of its stamps.

    What follows `tick` is what goes wrong. Its time goes `rate_ppb` faster than TAI from `rate_from` on, and makes
    `steps`; receipts of requests are told `receipt_shift` too late; it is silent in `silent`, (from, to); at
    `leap_at` a second is inserted into UTC, with its notice unless `leap_unannounced`.
    """

    port: PortIdentity
    announced: Announced
    domain: int = 0
    two_step: bool = True
    log_sync: int = -7
    log_announce: int = 0
    log_delay: int = -7
    flags: Flag = Flag.PTP_TIMESCALE | Flag.UTC_OFFSET_VALID | Flag.TIME_TRACEABLE
    follow_up_after: int = 200_000 * NS
    answer_after: int = 100_000 * NS
    tick: int = 4 * NS
    rate_ppb: int = 0
    rate_from: int = 0
    steps: tuple[Step, ...] = ()
    receipt_shift: int = 0
    silent: tuple[tuple[int, int], ...] = ()
    leap_at: int | None = None
    leap_unannounced: bool = False


def interval(log: int) -> int:
    """2^`log` seconds."""
    return SECOND << log if log >= 0 else SECOND >> -log


@dataclass(slots=True)
class Grandmaster:
    """A master that began to send at `since`; `sent` counts messages by kind."""

    settings: MasterSettings
    since: int
    sent: dict[Kind, int] = field(default_factory=lambda: dict.fromkeys(Kind, 0))
    _next_sync: int = 0
    _next_announce: int = 0

    def __post_init__(self) -> None:
        self._next_sync = self._next_announce = self.since

    def time_at(self, moment: int) -> int:
        """What its clock says then: TAI, but for what goes wrong."""
        its = self.settings
        ahead = max(0, moment - its.rate_from) * its.rate_ppb // 10**9
        return moment + ahead + sum(step.by for step in its.steps if moment >= step.at)

    def stamp(self, moment: int) -> int:
        """Its stamp of that moment: of the next tick of its clock."""
        return -(-self.time_at(moment) // self.settings.tick) * self.settings.tick

    @property
    def next_moment(self) -> int:
        """When it sends again."""
        return min(self._next_sync, self._next_announce)

    def act(self) -> Iterator[tuple[int, Message]]:
        """What it sends at `next_moment`, and because of that: moments of departure, on its ticks, and messages."""
        now = self.next_moment
        silent = self._is_silent(now)
        if now == self._next_announce:
            self._next_announce += interval(self.settings.log_announce)
            if not silent:
                yield now, self._announce(now)
        if now == self._next_sync:
            self._next_sync += interval(self.settings.log_sync)
            if not silent:
                yield from self._sync(now)

    def answer(self, request: Message, arrival: int) -> tuple[int, Message] | None:
        """When its answer to a request leaves, and the answer; None where it gives none."""
        its = self.settings
        if request.domain != its.domain or self._is_silent(arrival):
            return None
        response = Message(
            kind=Kind.DELAY_RESP,
            source=its.port,
            sequence=request.sequence,
            time_ns=(self.stamp(arrival) + its.receipt_shift) // NS,
            correction=request.correction,
            domain=its.domain,
            log_interval=its.log_delay,
            requester=request.source,
        )
        self._count(response)
        return arrival + its.answer_after, response

    def _is_silent(self, moment: int) -> bool:
        return any(first <= moment < last for first, last in self.settings.silent)

    def _count(self, message: Message) -> None:
        self.sent[message.kind] += 1

    def _message(self, kind: Kind, sequence: int, log: int, flags: Flag = NO_FLAGS) -> Message:
        its = self.settings
        return Message(
            kind=kind, source=its.port, sequence=sequence & 0xFFFF, domain=its.domain, log_interval=log, flags=flags
        )

    def _announce(self, now: int) -> Message:
        its, flags, announced = self.settings, self.settings.flags, self.settings.announced
        if its.leap_at is not None and now >= its.leap_at:
            announced = replace(announced, utc_offset_s=announced.utc_offset_s + 1)
        elif its.leap_at is not None and now >= its.leap_at - LEAP_NOTICE and not its.leap_unannounced:
            flags |= Flag.LEAP_61
        message = self._message(Kind.ANNOUNCE, self.sent[Kind.ANNOUNCE], its.log_announce, flags)
        self._count(message)
        return replace(message, announced=announced)

    def _sync(self, now: int) -> Iterator[tuple[int, Message]]:
        its, sequence = self.settings, self.sent[Kind.SYNC]
        stamp = self.stamp(now)
        departure = now + stamp - self.time_at(now)  # it leaves on a tick
        flags = Flag.TWO_STEP if its.two_step else NO_FLAGS
        sync = self._message(Kind.SYNC, sequence, its.log_sync, flags)
        self._count(sync)
        if not its.two_step:
            yield departure, replace(sync, time_ns=stamp // NS)
            return
        yield departure, sync
        follow_up = self._message(Kind.FOLLOW_UP, sequence, its.log_sync)
        self._count(follow_up)
        yield departure + its.follow_up_after, replace(follow_up, time_ns=stamp // NS)
