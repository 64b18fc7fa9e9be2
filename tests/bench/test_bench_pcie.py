"""`framelane bench pcie`: its page follows its rows, and rows that miss a promise are said to miss it."""

from pathlib import Path

import pytest

from framelane.base.errors import SimulationError
from framelane.bench.transmitter import bench_pcie, pcie_page

PAGE = Path(__file__).resolve().parents[2] / "docs" / "measured" / "pcie.md"
ROWS = [
    *(
        {"case": "link", "width": 512, "mps": m, "lanes": n, "gb_s": g, "wire": g}
        for m, n, g in [(256, 16, 14.4), (256, 8, 7.2)]
    ),
    {"case": "rq", "mps": 256, "gb_s": 14.22},
    {"case": "two", "width": 512, "mps": 256, "lanes": 8, "gb_s": 28.8, "wire": 28.81},
    {"case": "cycles", "width": 512, "payload": 256, "cycles": 4.0, "latency": 6},
    {"case": "events", "width": 512, "fences": 1, "frames": 150, "early": 0},
    {"case": "events", "width": 512, "fences": 0, "frames": 40, "early": 39},
]


def test_the_page_in_docs_has_the_figures_of_the_cache() -> None:
    page = PAGE.read_text()
    rows = bench_pcie.cache_rows()
    rings = sorted({row["ring"] for row in rows})
    kinds = {(row["entries"], row["tags"], row["ahead"], row["page"]) for row in rows}
    assert len(kinds) == 9
    for kind in kinds:
        assert pcie_page.cache_line(rows, kind, rings) in page, "run make bench BENCH=pcie"


def test_every_promise_is_met_by_these_rows_and_missed_by_worse_ones() -> None:
    rows = [bench_pcie.named(row) for row in ROWS]
    assert all(target.met for target in bench_pcie.targets(rows))
    worse = [row | {"gb_s": 0.9 * row["gb_s"]} if "gb_s" in row else row for row in rows]
    worse = [row | {"cycles": 5.0, "latency": 7} if row["case"] == "cycles" else row for row in worse]
    worse = [row | {"early": row["fences"]} if row["case"] == "events" else row for row in worse]
    assert not any(target.met for target in bench_pcie.targets(worse))


def test_a_bench_that_fails_is_said(tmp_path: Path) -> None:
    with pytest.raises(SimulationError, match=r"^a bench of PCIe failed: "):
        bench_pcie.simulated(["sim/cocotb/pcie/no_such_bench.py"], tmp_path)
