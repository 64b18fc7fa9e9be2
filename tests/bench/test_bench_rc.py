"""`framelane bench rc`: the page says what the RTL does, and wrong bytes or a queue pair in error are not measured."""

import itertools
from pathlib import Path
from typing import Any

import pytest

from framelane.base.errors import SimulationError
from framelane.bench.transmitter import bench_rc, rc_page
from framelane.bench.transmitter.bench_rc import COST, LENGTHS, LIMIT_COST, PROMISED, cost_row, dead_rows, goodput_row
from framelane.bench.transmitter.rc_run import CLOCK_HZ, IMAGES, PATIENCE, RcRun
from framelane.driver.board.network import gives_up_after_s, silence_s
from framelane.driver.registers.register_file import RegisterFile
from framelane.models.rc.lossy_network import LinkImpairments
from framelane.models.rc.rc_protocol import RcLimits, RcState
from framelane.models.rc.rc_timer import TICK_NS

PAGE = Path(__file__).resolve().parents[2] / "docs" / "measured" / "rc_speed.md"
OWN = 130.0
LIMITS = RcLimits(window=64, timeout=0, backoff=0)


def row(**fields: Any) -> dict[str, Any]:
    """A row of the page's first table."""
    common = {"case": "goodput", "round_trip": 250.0, "window": 64, "loss": 0.0, "measured_over_predicted": 1.0}
    return common | {"goodput": 1.0, "cycles_per_packet": 10.0} | fields


def test_the_costs_in_docs_are_those_of_the_rtl() -> None:
    page = PAGE.read_text()
    for cost in COST:
        assert rc_page.cost_line(cost_row(cost)) in page, "run make bench BENCH=rc"


def test_rc_costs_no_cycles_where_nothing_is_lost() -> None:
    for uc, rc in itertools.pairwise(COST):
        if rc.case in PROMISED:
            assert cost_row(rc)["cycles_per_packet"] <= LIMIT_COST * cost_row(uc)["cycles_per_packet"], rc.case


def test_a_window_too_small_for_the_path_is_as_slow_as_predicted() -> None:
    own = bench_rc.own_round_trip()
    found = [goodput_row(125, window, 0.0, own, LENGTHS[0.0]) for window in (16, 64)]
    assert [each["goodput"] for each in found] == [pytest.approx(0.55, abs=0.02), pytest.approx(1, abs=0.005)]
    for each in found:
        assert each["measured_over_predicted"] == pytest.approx(1, abs=0.05)
        assert f"| {each['window']} | {each['goodput']:.3f} " in PAGE.read_text(), "run make bench BENCH=rc"


def test_losses_cost_about_what_is_predicted() -> None:
    found = goodput_row(125, 64, 0.01, OWN, 200_000)
    assert found["lost"] > 50
    assert 0.4 < found["goodput"] < 0.8
    assert found["measured_over_predicted"] == pytest.approx(1, abs=0.2)


def test_a_dead_queue_pair_takes_no_goodput_from_the_others_once_it_is_in_error() -> None:
    alone, retrying, in_error = (each["cycles_per_packet"] for each in dead_rows(bench_rc.DEAD_FRAMES))
    assert in_error == pytest.approx(alone, rel=0.002)
    assert alone < retrying < 1.1 * alone, "its retries take part of the line"


def test_a_queue_pair_that_gives_up_is_not_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bench_rc, "RETRIES", 0)
    monkeypatch.setattr("framelane.bench.transmitter.rc_run.PATIENCE", 50_000)
    with pytest.raises(SimulationError, match=r"^(the queue pair is in error at|no packet has arrived)"):
        goodput_row(125, 16, 0.3, OWN, 20_000)


@pytest.mark.parametrize("limits", [RcLimits(64, 0, 2, 4), RcLimits(64, 1, 0, 2)])
def test_a_queue_pair_gives_up_after_its_time_outs_or_twice_as_long(limits: RcLimits) -> None:
    with RcRun(limits, LinkImpairments(delay=50)) as run:
        run.until(lambda: run.frames() >= 3, run.room)
        run.remote.silent.update(run.remote.receivers)
        start = run.board.cycle
        registers = RegisterFile(run.board)
        while registers["qp[0].rc_state.state"] != RcState.ERROR:
            run.step()
            assert run.board.cycle - start < PATIENCE
        took_s = (run.board.cycle - start) / CLOCK_HZ
    ticks_s = (2 * limits.retries + 3) * TICK_NS * 1e-9  # one for each time-out, and what was under way
    assert silence_s(limits) < took_s < gives_up_after_s(limits) + ticks_s
    assert took_s > 1.5 * silence_s(limits), "packets that are sent again leave during each"


def test_wrong_bytes_at_a_receiver_are_not_measured() -> None:
    with RcRun(LIMITS, LinkImpairments(delay=50)) as run:
        run.until(lambda: run.frames() >= IMAGES, run.room)
        run.check()
        run.memories[0][100] ^= 1
        with pytest.raises(SimulationError, match=r"^the memory of receiver 0 is not what was sent"):
            run.check()


def test_a_run_in_which_nothing_arrives_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("framelane.bench.transmitter.rc_run.PATIENCE", 20_000)
    with RcRun(LIMITS, LinkImpairments(delay=50)) as run:
        run.remote.silent.update(run.remote.receivers)
        with pytest.raises(SimulationError, match=r"^no packet has arrived in order for 20000 cycles, 0 before$"):
            run.until(lambda: False, run.room)


def test_the_page_shows_losses_in_columns_and_what_a_large_window_costs() -> None:
    lossy = [
        row(window=window, loss=loss, goodput=1 - 10 * window * loss / 64)
        for window in (16, 64, 128)
        for loss in (0.0, 0.01, 0.05)
    ]
    text = rc_page.goodput(lossy, OWN)
    assert "| round trip | window | loss 0 | loss 0.01 | loss 0.05 |\n|---|---|---|---|---|\n" in text
    assert "| 1.0 us | 16 | 1.000 (1.00) | 0.975 (1.00) | 0.875 (1.00) |\n" in text
    text = rc_page.window([row(loss=0.01, window=n, goodput=10 / n, cycles_per_packet=float(n)) for n in (16, 64, 128)])
    assert "25 packets long, at a loss of 0.01:" in text
    assert "- 128 packets outstanding: 0.078\n- 64 packets outstanding: 0.156\n" in text
    assert f"has come: {10 / (10 + 0.01 * (20 + 250)):.3f}\n" in text
