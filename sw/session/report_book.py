"""What the sources of a session have told, and whether that can be."""

from collections.abc import Callable
from time import monotonic

from framelane.models.placement.slots import FREE_RUNNING
from framelane.session.attempts import Reason, Refused
from framelane.session.session import Session
from framelane.session.session_link import Report

MAX_RATE = 1e6
"""Frames a second that a source offers at most, where nothing else is said."""
_FASTER = 1.01
"""A source's clock and its rate are known to 1 %; without, a clock that is 50 ppm fast is refused within the hour."""
_SLACK_S = 0.1
"""So much longer a source may have counted than the link has been there."""
_SLACK_FRAMES = 8
"""So many frames more, where few come in that time."""
_MOST_BEFORE = 1 << 48
"""A board may count since years, but not since ever."""


class ReportBook:
    """Keeps the newest report of each source, and refuses those that cannot be.

    A source cannot have sent without credit, nor have offered more frames than `max_rate` allows since the link was
    opened, or, of a relay's board that was there before, since its first report, give or take 1 %, 0.1 s and 8 frames;
    and its counts do not fall. So nothing that is reported moves the ring's credit further than frames can have come.
    """

    def __init__(self, session: Session, max_rate: float = MAX_RATE, clock: Callable[[], float] = monotonic) -> None:
        self._first = 0 if session.window_end == FREE_RUNNING else session.window_end - session.n_slots
        self._rate, self._clock = max_rate, clock
        self._since = [(clock(), self._first)] * session.sources
        """For each source a moment, and the frames that it had offered then at most."""
        self.reports: dict[int, Report] = {}

    def note(self, report: Report, window_end: int, relayed: bool) -> None:
        """Keep a report; `window_end` is the credit so far. Refused where it cannot be."""
        source, offered, dropped, now = report.source, report.offered, report.dropped, self._clock()
        known = self.reports.get(source)
        if dropped > offered or offered - dropped > window_end:
            raise Refused(
                Reason.IMPOSSIBLE,
                f"source {source} says it has sent {offered - dropped} frames of {offered}, with credit for "
                f"{window_end}",
            )
        if known and (offered < known.offered or dropped < known.dropped):
            raise Refused(Reason.FEWER, f"source {source} has begun anew: start the receiver anew, too")
        if relayed and known is None and offered <= _MOST_BEFORE:
            self._since[source] = now, max(offered, self._first)
        then, before = self._since[source]
        more = _SLACK_FRAMES + self._rate * _FASTER * (now - then + _SLACK_S)
        if offered - before > more:
            raise Refused(
                Reason.IMPOSSIBLE,
                f"source {source} says it has offered {offered} frames: more than {before + int(more)} "
                f"cannot be by now, at {self._rate:g} a second",
            )
        self.reports[source] = report
