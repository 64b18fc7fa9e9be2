"""The schedule of a source: absolute, so that what is late makes nothing else late."""

import time

from framelane.cli.pacing import Pace, at_rate
from framelane.cli.stopping import Stop


def test_a_late_item_does_not_move_those_after_it() -> None:
    pace, stop = at_rate(100), Stop()
    start = time.monotonic()
    for item in range(51):
        assert pace.wait(item, stop)
        if item == 5:
            time.sleep(0.3)
    assert 0.5 <= time.monotonic() - start < 0.7
    assert pace.late_s < 0.2
    assert pace.worst_s > 0.28


def test_nothing_comes_before_it_is_due() -> None:
    pace, stop = Pace(lambda item: (0.0, 0.1)[item]), Stop()
    pace.wait(0, stop)
    start = time.monotonic()
    pace.wait(1, stop)
    assert time.monotonic() - start >= 0.095


def test_a_wait_ends_at_once_when_the_user_wants_it() -> None:
    stop = Stop()
    start = time.monotonic()

    def idle() -> None:
        stop.wanted = True

    assert not Pace(lambda item: 10.0).wait(0, stop, idle)
    assert time.monotonic() - start < 1
