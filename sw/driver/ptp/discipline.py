"""From observations to a clock that keeps a master's time, and does not follow one that cannot be right."""

from framelane.driver.ptp.agreement import Change, amount, compare
from framelane.driver.ptp.clock import PtpClock
from framelane.driver.ptp.doubt import Doubt
from framelane.driver.ptp.exchanges import Observed
from framelane.driver.ptp.servo import Servo
from framelane.driver.ptp.settings import PtpSettings
from framelane.driver.ptp.status import PtpState
from framelane.driver.ptp.two_way_filter import Estimate, TwoWayFilter
from framelane.models.time.time_counter import NS, SECOND

UPDATE_S = 0.5
"""Seconds between two looks at the offset."""
MEASURED_S = 2.0
"""So long a master is measured before it is believed."""
_CANDIDATE_S = 8.0
_LOOKS = 3
"""So many looks in a row within the limit make a lock."""
_SURE = 2.5
"""So many standard deviations of its error an offset is within the limit."""
_UNLOCKS = 4.0
_STEP_NS = 1000.0
"""A smaller offset is slewed also where a step may be made."""


class Discipline:
    """What a clock is steered by, one master at a time.

    `offset_ns`, `estimate`: the last ones, None where not known. `steps`: how often the clock was stepped, which is
    never done between a lock and `forget`. `fault`: why there is no master, or why it is not believed; or empty.
    `warning`: what cannot be told from an error of the offset, though it is followed.
    """

    def __init__(self, clock: PtpClock, settings: PtpSettings) -> None:
        self._clock, self._settings = clock, settings
        self._servo = Servo()
        self._doubt = Doubt()
        self.ppb = clock.adjust(0.0)
        self.state = PtpState.LISTENING
        self.offset_ns: float | None = None
        self.estimate: Estimate | None = None
        self.fault = self.warning = ""
        self.steps = self.doubts = self.asymmetries = 0
        self._filter: TwoWayFilter | None = None
        """What is believed."""
        self._candidate: TwoWayFilter | None = None
        """What is being measured: at the beginning, and in holdover."""
        self._round_trip_ns = float("inf")
        """The shortest since then."""
        self._locked = self._measured_again = False
        self._good = 0
        self._held_since = self._updated = 0
        self._free_ns: float | None = None
        """What the clock may have gone until the master was caught: from then on it gets no more."""

    def from_master(self, seen: Observed) -> None:
        """A Sync."""
        self._observe(Observed(seen.at, seen.difference - round(self._settings.asymmetry_ns * NS)), 0)

    def to_master(self, seen: Observed, round_trip_s: float) -> None:
        """A delay request that was answered after so long."""
        self._observe(Observed(seen.at, seen.difference + round(self._settings.asymmetry_ns * NS)), 1)
        self._round_trip_ns = min(self._round_trip_ns, round_trip_s * 1e9)

    def begin(self) -> None:
        """There is a master, or another one."""
        if self.state is PtpState.LISTENING:
            self.state = PtpState.MEASURING
        else:
            self._question()

    def lose(self, why: str) -> None:
        """There is no master any more."""
        if self._locked:
            self._hold(why)
            self._candidate = None
        else:
            self.forget()
            self.fault = why

    def forget(self) -> None:
        """Begin anew: the clock may be stepped again."""
        self._filter = self._candidate = self.offset_ns = self.estimate = None
        self._locked = self._measured_again = False
        self.fault, self.warning, self.state = "", "", PtpState.LISTENING

    def update(self) -> None:
        """Look at the offset and steer: to be called every `UPDATE_S`."""
        now = self._clock.read()
        seconds, self._updated = (now - self._updated) / SECOND, now
        if self._candidate:
            self._consider(self._candidate, now)
            return
        if self._filter is None or self.state is PtpState.HOLDOVER:
            return
        if estimate := self._filter.estimate(now):
            self.estimate, self.offset_ns = estimate, self._filter.offset_at(estimate, now)
            if self.state is PtpState.TRACKING:
                self._servo.rate_ppb = -estimate.rate_ppb
            self._adjust(self._servo.control(self.offset_ns, min(seconds, 2 * UPDATE_S)))
            self._judge_lock(estimate, self.offset_ns)

    @property
    def holdover_s(self) -> float:
        """So long it has been in holdover."""
        return (self._clock.read() - self._held_since) / SECOND if self.state is PtpState.HOLDOVER else 0.0

    def _observe(self, seen: Observed, way: int) -> None:
        if self._filter and self.estimate and self.state is not PtpState.HOLDOVER:
            offset = self._filter.offset_at(self.estimate, seen.at)
            ahead = seen.difference / NS + (offset if way else -offset)
            if self._doubt.see(way, ahead, self.estimate):
                self.doubts += 1
                self._question()
            elif self._doubt.is_early:
                return
        target = None if self.state is PtpState.HOLDOVER else self._filter
        target = target or self._candidate
        if target is None:
            origin = Observed(seen.at, -seen.difference if way else seen.difference)
            target = self._candidate = TwoWayFilter(_CANDIDATE_S, self.ppb, origin)
            self._round_trip_ns = float("inf")
        (target.to_master if way else target.from_master)(seen)

    def _question(self) -> None:
        """Measure anew: with a lock, beside what is known."""
        self._candidate, self._doubt = None, Doubt()
        if self._locked:
            self._hold("")
        else:
            self._filter = self.estimate = None
            self.state = PtpState.MEASURING

    def _judge_lock(self, estimate: Estimate, offset_ns: float) -> None:
        limit = self._settings.lock_ns
        blur = _SURE * estimate.uncertainty_ns
        within = max(abs(offset_ns), blur) <= limit
        self._good = self._good + 1 if within else 0
        if self._good >= _LOOKS:
            self.state, self._locked = PtpState.LOCKED, True
        elif max(abs(offset_ns), blur) > _UNLOCKS * limit:
            self.state = PtpState.TRACKING

    def _consider(self, candidate: TwoWayFilter, now: int) -> None:
        """Believe the candidate, or say what is wrong with it."""
        new = candidate.estimate(now)
        if new is None or new.span_s < MEASURED_S:
            return
        offset = candidate.offset_at(new, now)
        if lie := self._impossible(new):
            if self._locked:
                self._hold(lie)
            self.fault, self._candidate = self.fault or lie, None
        elif not self._locked:
            self._accept(candidate, new, offset, now)
        else:
            self._compare(candidate, new, offset, now)

    def _impossible(self, new: Estimate) -> str:
        margin = 8 * new.uncertainty_ns + 20.0
        if abs(new.rate_ppb) > self._settings.max_rate_ppm * 1000:
            return f"the master's rate is {-new.rate_ppb / 1000:+.0f} ppm off this clock's nominal one"
        if new.delay_ns < -margin:
            return f"by its stamps the path takes {amount(new.delay_ns)}, less than nothing"
        if 2 * new.delay_ns > self._round_trip_ns + margin:
            answered = amount(self._round_trip_ns)
            return f"by its stamps the path takes {amount(new.delay_ns)} each way, but it has answered after {answered}"
        return ""

    def _accept(self, candidate: TwoWayFilter, new: Estimate, offset: float, now: int) -> None:
        """Before a lock: set the clock. A rate that took long to write is measured again, once."""
        if abs(offset) > _STEP_NS:
            by = -candidate.exact_offset_at(new, now)
            self._clock.step(by)
            candidate.step(by)
            self.steps += 1
        self.fault, self._servo = "", Servo(-new.rate_ppb)
        self._take(candidate)
        blurred = self._adjust(-new.rate_ppb)
        if blurred > max(0.1, new.uncertainty_ns / 4) and not self._measured_again:
            self._measured_again = True
            self._question()

    def _compare(self, candidate: TwoWayFilter, new: Estimate, offset: float, now: int) -> None:
        """After a lock: follow again only where it fits what is known."""
        assert self._filter
        assert self.estimate
        held_s = self._filter.seconds(now) - self.estimate.at
        known = self._filter.offset_at(self.estimate, now)
        free_ns = self._settings.holdover_ppb * held_s if self._free_ns is None else self._free_ns
        verdict = compare(self.estimate, known, new, offset, free_ns)
        if verdict.change in (Change.STEP, Change.RATE):
            self.fault, self._free_ns = verdict.sentence if self._free_ns is None else self.fault, free_ns
            self._candidate = None  # the next one has nothing of what was wrong
        elif verdict.change is Change.NOTHING and held_s < self._settings.window_s / 2:
            self._filter.absorb(candidate)
            self._take(self._filter)
        else:
            if verdict.change is Change.ONE_WAY:
                self.asymmetries, self.warning = self.asymmetries + 1, verdict.sentence
            self._take(candidate)

    def _take(self, believed: TwoWayFilter) -> None:
        believed.widen(self._settings.window_s)
        self._filter, self._candidate, self._doubt = believed, None, Doubt()
        self.state, self._good, self.estimate, self.fault = PtpState.TRACKING, 0, None, ""
        self._free_ns = None

    def _hold(self, why: str) -> None:
        """Go on at the last rate."""
        if self.state is not PtpState.HOLDOVER:
            self.state, self._held_since = PtpState.HOLDOVER, self._clock.read()
            if self.estimate:
                self._adjust(-self.estimate.rate_ppb)
        self.fault = why

    def _adjust(self, ppb: float) -> float:
        """Write the rate; how many ns the clock may have gone wrong meanwhile."""
        before = self._clock.read()
        changed, self.ppb = self.ppb, self._clock.adjust(ppb)
        after = self._clock.read()
        for each in (self._filter, self._candidate):
            if each:
                each.adjust(after, self.ppb)
        return abs(self.ppb - changed) * (after - before) / SECOND
