"""A slave-only ordinary clock with end-to-end delay (IEEE 1588-2019, 9.2.2.1, 11.2, 11.3)."""

import random
import time
from collections import Counter
from collections.abc import Callable

from framelane.driver.ptp.clock import PtpClock
from framelane.driver.ptp.discipline import UPDATE_S, Discipline
from framelane.driver.ptp.exchanges import Requests, Syncs
from framelane.driver.ptp.masters import Master, Masters
from framelane.driver.ptp.messages import PtpMessages
from framelane.driver.ptp.settings import PtpSettings
from framelane.driver.ptp.status import PtpState, PtpStatus
from framelane.models.time.ptp_message import Flag, Kind, Message

_SYNC_TIMEOUT = 8
"""So many intervals without a Sync, and a second at least: they have ceased."""
_FIRST_LOG_DELAY = 0
_SLOWEST, _FASTEST = 7, -7


class PtpSlave:
    """Sets `clock` by the best master that `messages` bring; `steer` does what is due.

    It never answers anybody and is never a master. `monotonic` gives seconds that no step moves.
    """

    def __init__(
        self,
        clock: PtpClock,
        messages: PtpMessages,
        settings: PtpSettings | None = None,
        *,
        monotonic: Callable[[], float] = time.monotonic,
        seed: int | None = None,
    ) -> None:
        self._settings = settings or PtpSettings()
        self._messages, self._monotonic = messages, monotonic
        self._discipline = Discipline(clock, self._settings)
        self._masters = Masters(self._settings.announce_timeout, messages.identity.clock)
        self._requests = Requests(messages.identity, self._settings.domain)
        self._syncs = Syncs()
        self._chance = random.Random(seed)
        self._master: Master | None = None
        self._last: Master | None = None
        self._counters: Counter[str] = Counter()
        self._warning = ""
        self._log_delay = _FIRST_LOG_DELAY
        now = monotonic()
        self._update_at, self._request_at = now, float("inf")
        self._sync_at, self._sync_interval_s = now, 1.0

    def steer(self) -> float:
        """Take all messages that have come, send and set what is due; in how many seconds it is to be called again.

        To be called as soon as a message has come, too.
        """
        while received := self._messages.receive():
            self._take(*received)
        now = self._monotonic()
        self._choose(now)
        self._requests.forget(now)
        if self._master and now >= self._request_at:
            self._ask(now)
        if now >= self._update_at:
            self._update_at = now + UPDATE_S
            self._discipline.update()
        soonest = min(self._update_at, self._request_at if self._master else self._update_at)
        return max(0.0, min(soonest - now, self._masters.next_look(now)))

    def restart(self) -> None:
        """Begin anew, as after a fault that was seen to: the clock may be stepped again."""
        self._discipline.forget()
        self._master, self._warning = None, ""

    @property
    def status(self) -> PtpStatus:
        """How it is now."""
        its, master = self._discipline, self._master or self._last
        flags = master.flags if master else Flag(0)
        estimate = its.estimate
        return PtpStatus(
            state=its.state,
            master=str(master.port) if master else None,
            grandmaster=f"{master.announced.grandmaster:016x}" if master else None,
            clock_class=master.announced.clock_class if master else None,
            offset_ns=its.offset_ns if its.state in (PtpState.TRACKING, PtpState.LOCKED) else None,
            uncertainty_ns=estimate.uncertainty_ns if estimate else None,
            path_delay_ns=estimate.delay_ns if estimate else None,
            rate_ppb=its.ppb,
            utc_offset_s=master.announced.utc_offset_s if master and Flag.UTC_OFFSET_VALID in flags else None,
            tai=Flag.PTP_TIMESCALE in flags,
            steps=its.steps,
            holdover_s=its.holdover_s,
            fault=its.fault,
            warning=self._warning or its.warning,
            counters=dict(self._counters)
            | {"requests": self._requests.sent, "answered": self._requests.answered}
            | {"unanswered": self._requests.unanswered, "doubts": its.doubts, "asymmetries": its.asymmetries},
        )

    def _take(self, message: Message, stamp: int) -> None:
        if message.domain != self._settings.domain:
            self._counters["other_domain"] += 1
            return
        self._counters[message.kind.name.lower()] += 1
        if message.kind is Kind.ANNOUNCE:
            self._announced(message)
        elif self._master and message.source == self._master.port:
            self._from_master(message, stamp)

    def _announced(self, message: Message) -> None:
        before = self._masters.known(message.source)
        old = (before.announced.utc_offset_s, before.flags) if before else None
        master = self._masters.hear(message, self._monotonic())
        if master and master is self._master and old and Flag.UTC_OFFSET_VALID in old[1] & master.flags:
            jump = master.announced.utc_offset_s - old[0]
            told = (Flag.LEAP_61 in old[1]) - (Flag.LEAP_59 in old[1])
            if jump != told and jump:
                self._warning = f"the master changed TAI - UTC by {jump} s, which it had not announced as a leap second"

    def _from_master(self, message: Message, stamp: int) -> None:
        now = self._monotonic()
        if message.kind is Kind.SYNC:
            self._sync_at, self._sync_interval_s = now, 2.0 ** max(_FASTEST, min(_SLOWEST, message.log_interval))
            seen = self._syncs.sync(message, stamp)
        elif message.kind is Kind.FOLLOW_UP:
            seen = self._syncs.follow_up(message)
        else:
            if message.kind is Kind.DELAY_RESP and (answered := self._requests.response(message, now)):
                self._log_delay = max(_FASTEST, min(_SLOWEST, message.log_interval))
                self._discipline.to_master(*answered)
            return
        if seen:
            self._discipline.from_master(seen)

    def _choose(self, now: float) -> None:
        """Follow the best master; what is open with the old one is forgotten."""
        best = self._masters.best(now, self._master.port if self._master else None)
        if best is not self._master:
            if self._master:
                self._last = self._master
            self._master, self._syncs = best, Syncs()
            self._requests.forget()
            if best is None:
                self._discipline.lose("no master announces itself any more")
            else:
                self._discipline.begin()
                self._sync_at, self._request_at = now, now
        silence = max(1.0, _SYNC_TIMEOUT * self._sync_interval_s)
        if self._master and now - self._sync_at > silence:
            self._sync_at = now
            self._discipline.lose("the master announces itself, but sends no Sync")
            if self._discipline.state is PtpState.LISTENING:
                self._discipline.begin()

    def _ask(self, now: float) -> None:
        log = self._log_delay if self._settings.log_delay is None else self._settings.log_delay
        self._request_at = now + self._chance.uniform(0, 2) * 2.0**log
        message = self._requests.request()
        stamp = self._messages.send(message)
        if stamp is None:
            self._counters["not_stamped"] += 1
        else:
            self._requests.left(message, stamp, now)
