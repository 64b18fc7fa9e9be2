"""Whether a live receiver keeps up with its sources; where not, whether it is too slow or its ring too small."""

import math
from collections.abc import Callable, Sequence
from time import monotonic

from framelane.session.session_link import Report

_LINK_S = 0.05
"""So long a source goes on at most before the receiver hears how far it is, and it of the new credit."""


class KeepingUp:
    """Watches a run from its first frame on: what the sources tell, the slots given back, the time without any work.

    A receiver that is at work all the time and takes fewer frames than are offered is too slow: no ring is large
    enough. One that has time left is fast enough; then it gave no slot back for longer than the ring lasts.
    """

    def __init__(self, n_slots: int, first: int, clock: Callable[[], float] = monotonic) -> None:
        self._n_slots, self._first, self._clock = n_slots, first, clock
        self._begun: float | None = None
        self._last = self._given = 0.0
        """When something happened last, and when a slot was given back last, or became known to be free."""
        self._idle_s = self._quiet_s = self._longest_s = 0.0
        """Without work, before `_last` and since then; longest without giving a slot back."""
        self._offered = self._dropped = self._taken = self._end = self._apart = 0
        self._behind = 0
        """Which source was `_apart` frames behind another one: the most that was seen."""

    def waited(self, seconds: float) -> None:
        """There was nothing to do for so long."""
        if self._begun is not None:
            self._quiet_s += seconds

    def took(self) -> None:
        """A frame was processed, and its slot given back."""
        self._happened()
        self._taken += 1

    def published(self, end: int) -> None:
        """The credit is `end`."""
        if end > self._end:
            self._end = end
            if self._begun is not None:
                now = self._happened()
                self._longest_s = max(self._longest_s, now - self._given)
                self._given = now

    def told(self, reports: Sequence[Report]) -> None:
        """What each source has told last."""
        offered = max((report.offered for report in reports), default=self._first) - self._first
        if offered <= self._offered:
            return
        self._happened()
        self._offered = offered
        self._dropped = max(self._dropped, *(report.dropped - self._first for report in reports))
        slowest = min(reports, key=lambda report: report.offered)
        if (apart := offered - (slowest.offered - self._first)) > self._apart:
            self._apart, self._behind = apart, slowest.source

    def line(self) -> str:
        """Why sources had to drop frames, and what to change; empty where none was dropped."""
        active_s = self._last - (self._begun or 0.0)
        if not self._dropped or active_s <= 0:
            return ""
        dropped = f"{self._dropped} of {self._offered} frames were dropped for want of credit"
        if self._apart > self._n_slots:
            return (
                f"{dropped}: source {self._behind} was {self._apart} frames behind another one, and the ring has "
                f"{self._n_slots} slots: start the sources together, and at one rate"
            )
        busy_s = active_s - self._idle_s
        rate = self._offered / active_s
        if self._taken * active_s < self._offered * busy_s:
            return (
                f"{dropped}: the receiver is too slow, not its ring too small: it takes {self._taken / busy_s:.3g} "
                f"frames/s, and {rate:.3g}/s were offered: lower the rate, or share the frames among more receivers"
            )
        wanted = max(2 * self._n_slots, math.ceil(rate * (self._longest_s + _LINK_S)))
        return (
            f"{dropped}: the ring is too small, not the receiver too slow: it was at work {busy_s / active_s:.0%} of "
            f"the time, but gave no slot back for {self._longest_s:.2g} s, and {self._n_slots} slots last "
            f"{self._n_slots / rate:.2g} s at {rate:.3g} frames/s: write n_slots = {wanted} into the plan"
        )

    def _happened(self) -> float:
        now = self._clock()
        if self._begun is None:
            self._begun = self._given = now
        self._last = now
        self._idle_s += self._quiet_s
        self._quiet_s = 0.0
        return now
