"""`framelane bench placement`: the page says what the RTL does, and lost cycles or wrong descriptors cannot hide."""

import dataclasses
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from framelane.base.errors import SimulationError
from framelane.bench.transmitter import bench_placement, placement_cases, placement_page, placement_software
from framelane.bench.transmitter.bench_placement import FRAMES, LATENCIES, LIMIT_EFFICIENCY, software_row
from framelane.bench.transmitter.placement_cases import (
    FRAMES_MERGED,
    RINGS,
    TRAFFIC,
    WHOLE,
    descriptor_row,
    efficiency_row,
    region,
)
from framelane.bench.transmitter.placement_software import SoftwarePlacement
from framelane.driver.simulated.verilated_bd_gen import BdGenSimulator, Placement
from framelane.models.placement.bd_rows import Descriptor
from framelane.models.roce_tx.roce_qp import Segmentation

PAGE = Path(__file__).resolve().parents[2] / "docs" / "measured" / "placement.md"
Row = dict[str, Any]


@pytest.fixture(scope="module")
def given() -> list[Row]:
    """Measure what the page shows of the descriptor generator."""
    with BdGenSimulator() as simulator:
        return [descriptor_row(simulator, plan, FRAMES) for plan in placement_cases.plans(placement_page.WIDTHS)]


@pytest.fixture(scope="module")
def sent() -> list[Row]:
    """Measure the promised traffic at the longest latency, and the shortest rows at all of them."""
    promised = [traffic for traffic in TRAFFIC if traffic.promised]
    rows = [efficiency_row(traffic, Segmentation.ONLY, LATENCIES[-1], FRAMES) for traffic in promised]
    short = [traffic for traffic in TRAFFIC if traffic.flow.width == 16]
    return rows + [efficiency_row(each, Segmentation.ONLY, latency, FRAMES) for each in short for latency in LATENCIES]


def test_the_page_in_docs_is_what_the_rtl_does(given: list[Row], sent: list[Row]) -> None:
    page = PAGE.read_text()
    assert placement_page.descriptors(given) in page, "run make bench BENCH=placement"
    for case in ("rows of 32 bytes", "rows of 32 bytes, unaligned"):
        assert placement_page.efficiency_line([row for row in sent if row["case"] == case]) in page


def test_inside_a_frame_every_clock_has_its_descriptor(given: list[Row]) -> None:
    assert {row["descriptors"] for row in given} == {2, 65, 257, 513}
    assert [row for row in given if row["inside"] != 1] == []
    assert [row for row in given if row["over"] >= 1] == [], "time between frames is not counted"


def test_the_promised_traffic_fills_the_line_though_the_memory_is_slow(sent: list[Row]) -> None:
    promised = [row for row in sent if row["width"] == placement_cases.COLUMNS]
    assert {row["case"]: row["packets"] for row in promised} == {
        "JUNGFRAU rows, 2048 bytes": FRAMES * (512 + 1),
        "packets of 4096 bytes": FRAMES * (256 + 1),
    }
    assert [row for row in promised if not LIMIT_EFFICIENCY <= row["efficiency"] <= 1] == []


def test_a_cycle_without_a_descriptor_inside_a_frame_lowers_its_rate(monkeypatch: pytest.MonkeyPatch) -> None:
    cycles = np.array([0, 1, 2, 3, 10, 11, 13, 14], np.uint64)
    with BdGenSimulator() as simulator:
        monkeypatch.setattr(simulator, "run", lambda *plan: Placement(np.empty((8, 7), np.uint32), cycles))
        row = descriptor_row(simulator, FRAMES_MERGED, 2)
    assert (row["descriptors"], row["inside"], row["cycles"], row["over"]) == (4, 4 / 5, 15, 8 / 15)


def test_a_program_that_decides_otherwise_is_not_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    right = SoftwarePlacement.descriptors

    def wrong(self: SoftwarePlacement, *arguments: Any) -> list[Descriptor]:
        *others, last = right(self, *arguments)
        return [*others, dataclasses.replace(last, imm=last.imm ^ 1)]

    monkeypatch.setattr(SoftwarePlacement, "descriptors", wrong)
    with (
        BdGenSimulator() as simulator,
        pytest.raises(SimulationError, match=r"^whole frames: the descriptors .* differ"),
    ):
        software_row(simulator, FRAMES_MERGED)


def test_descriptors_that_do_not_fit_are_an_error_and_not_the_last_ones() -> None:
    plan = region(8, 64)
    program = SoftwarePlacement([plan.flow], RINGS)
    assert len(program.descriptors(plan.events(1), most=128)) == 65
    with pytest.raises(SimulationError, match=r"^130 descriptors do not fit 128"):
        program.descriptors(plan.events(2), most=128)


def test_a_compiler_that_fails_is_named_with_what_it_says(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(placement_software, "OPTIONS", ("-fno-such-option",))
    with pytest.raises(SimulationError, match=r"^g\+\+ could not compile .*placement\.c: .*no-such-option"):
        SoftwarePlacement([WHOLE], RINGS)


def test_every_repeat_is_kept_slowest_first(monkeypatch: pytest.MonkeyPatch) -> None:
    times = iter([0.0, 2.0, 10.0, 11.0, 20.0, 24.0])
    monkeypatch.setattr(time, "thread_time", lambda: next(times))
    rates = SoftwarePlacement([WHOLE], RINGS).rates(FRAMES_MERGED.events(6), 3)
    assert rates == [12 / 4, 12 / 2, 12 / 1]


@pytest.mark.parametrize(
    ("per_second", "verdict"),
    [(500e6, "the program is 4.0 times as fast"), (62.5e6, "`bd_gen` is 2.0 times as fast")],
)
def test_the_page_says_which_is_faster(given: list[Row], sent: list[Row], per_second: float, verdict: str) -> None:
    rates = {"per_second": per_second, "per_second_least": 1e6, "per_second_greatest": 2e9}
    software = [given[0] | rates | {"over": 0.5}]
    page = placement_page.page(given, sent, software, "g++", 4096, 3)
    assert f"| whole frames | 1024 x 512 | {per_second / 1e6:.0f} (1 to 2000) | 125 | {verdict} |" in page


def test_both_segmentations_are_measured_where_efficiency_is_promised() -> None:
    cases = bench_placement.efficiency_cases()
    promised = {traffic.name for traffic, segmentation, _ in cases if segmentation is Segmentation.MESSAGE}
    assert promised == {"JUNGFRAU rows, 2048 bytes", "packets of 4096 bytes"}
    assert len(cases) == len(set(cases)) == (len(TRAFFIC) + 2) * len(LATENCIES)
