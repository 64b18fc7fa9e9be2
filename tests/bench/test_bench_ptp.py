"""`framelane bench ptp`: the page says what the servo does, and the figures are made of the errors."""

import os
from pathlib import Path

import numpy as np
import pytest

from framelane.base.errors import SimulationError
from framelane.bench.transmitter.bench_ptp import CASES, TRIGGERS, row
from framelane.bench.transmitter.ptp import ptp_page
from framelane.bench.transmitter.ptp.ptp_case import Case
from framelane.bench.transmitter.ptp.ptp_disturbances import DISTURBANCES, disturbance_row
from framelane.bench.transmitter.ptp.ptp_two_boards import two_boards
from framelane.driver.simulated.time.verilated_stamps import StampSimulator

PAGE = Path(__file__).resolve().parents[2] / "docs" / "measured" / "ptp.md"


def test_the_figures_in_docs_are_those_of_the_servo() -> None:
    case = next(each for each in CASES if each.log == -4)
    assert ptp_page.followed_line(row(case)) in PAGE.read_text(), "run make bench BENCH=ptp"


def test_the_promise_holds_for_another_network() -> None:
    found = row(Case(ppm=-100, log=-6, lock_ns=8.0, seed=77), 60.0)
    assert found["lock_s"] < 20
    assert found["rms_ns"] < 5
    assert (found["steps_after_lock"], found["unlocked_looks"]) == (0, 0)


def test_errors_are_not_what_they_are_off_their_mean() -> None:
    assert ptp_page.root(np.array([3.0, 3.0])) == pytest.approx(3.0)


def test_two_boards_stamp_the_same_triggers() -> None:
    whole = os.environ.get("FRAMELANE_WIDTHS") == "all"
    stamps = two_boards(count := TRIGGERS if whole else 100)
    assert stamps.errors.shape == (2, count)
    assert np.abs(stamps.errors).max() < 6, "a quarter of a cycle, whole ns, and what the clocks are off"
    assert np.abs(stamps.differences).max() <= np.abs(stamps.errors).max(axis=1).sum()
    assert len(set(stamps.differences.tolist())) > 3, "they have clocks of their own"
    rest = stamps.errors - np.repeat(stamps.clocks, count // stamps.clocks.shape[1], axis=1)
    assert -2.1 < rest.min() < -1.2, "a quarter of a cycle early, and whole ns"
    assert 0.4 < rest.max() < 1.1
    assert not whole or ptp_page.boards_line(stamps) in PAGE.read_text(), "run make bench BENCH=ptp"


def test_a_clock_of_the_gateware_that_goes_another_way_than_its_model_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    now = StampSimulator.now
    monkeypatch.setattr(StampSimulator, "now", lambda self: (now(self)[0], now(self)[1] + 1))
    with pytest.raises(SimulationError, match=r"time_counter is .* ns off its model"):
        two_boards(1)


def test_the_disturbances_in_docs_is_that_of_the_servo() -> None:
    steps = next(each for each in DISTURBANCES if each.what.startswith("the master steps"))
    found = disturbance_row(steps)
    assert (found["state"], found["steps_after_lock"]) == ("holdover", 0)
    assert found["worst_ns"] < 20
    assert ptp_page.disturbance_line(found) in PAGE.read_text(), "run make bench BENCH=ptp"
