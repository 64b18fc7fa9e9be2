"""`framelane bench ptp`: the page says what the servo does, and the figures are made of the errors."""

from pathlib import Path

import numpy as np
import pytest

from framelane.bench.transmitter import ptp_page
from framelane.bench.transmitter.bench_ptp import CASES, Case, rms, row, two_boards

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
    assert rms(np.array([3.0, 3.0])) == pytest.approx(3.0)


def test_two_boards_stamp_the_same_triggers() -> None:
    differences = two_boards(50)
    assert len(differences) == 50
    assert np.abs(differences).max() < 12
    assert len(set(differences.tolist())) > 10, "they have clocks of their own"
