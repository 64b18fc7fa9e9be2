"""The schedule of a source: absolute, so that what is late makes nothing else late."""

import time

import pytest

from framelane.base.stopping import Stop
from framelane.source import pacing
from framelane.source.pacing import Pace, at_rate


class Clock:
    """A clock that only a pause moves on."""

    def __init__(self) -> None:
        self.now_s = 0.0

    def monotonic(self) -> float:
        return self.now_s

    def sleep(self, duration_s: float) -> None:
        self.now_s += duration_s


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(pacing, "time", clock)
    return clock


def test_a_late_item_does_not_move_those_after_it(clock: Clock) -> None:
    pace, stop = at_rate(100), Stop()
    for item in range(51):
        assert pace.wait(item, stop)
        if item == 5:
            clock.sleep(0.3)
    assert clock.now_s == pytest.approx(0.5), "50 periods, in spite of the pause"
    assert pace.late_s == pytest.approx(0, abs=1e-6)
    assert pace.worst_s == pytest.approx(0.29)


def test_nothing_comes_before_it_is_due() -> None:
    pace, stop = Pace(lambda item: (0.0, 0.1)[item]), Stop()
    pace.wait(0, stop)
    start = time.monotonic()
    pace.wait(1, stop)
    assert time.monotonic() - start >= 0.095


def test_a_wait_ends_at_once_when_the_user_wants_it(clock: Clock) -> None:
    stop = Stop()

    def idle() -> None:
        stop.wanted = True

    assert not Pace(lambda item: 3600.0).wait(0, stop, idle)
    assert clock.now_s < 1
