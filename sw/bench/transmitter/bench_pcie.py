"""Frames over PCIe: rates beside the wire's, cycles, events behind a switch, and the cache that the page map is not."""

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from framelane.base.errors import SimulationError
from framelane.bench.runner import Measurement, Target
from framelane.bench.transmitter import pcie_events, pcie_page
from framelane.driver.simulated.toolchain import gateware_root
from framelane.models.pcie import translation_cache
from framelane.models.pcie.translation_cache import Cache

BENCHES = {
    "sim/cocotb/pcie/test_pcie_wr_link.py": "link",
    "sim/cocotb/pcie/test_tlp_rq.py": "rq",
    "sim/cocotb/test_pcie_tx_links.py": "two",
    "sim/cocotb/pcie/test_pcie_wr.py": "cycles",
}
"""Benches that write rows down, and of which case these are."""
NOTES = ("the_rate_is", "two_links_carry", "no_more_cycles_than_it_has_beats")
"""Tests that write them have one of these in their names; the others are for `make sim`."""

WIDTH = 512
LINK_WIDTHS = str(WIDTH)
"""FRAMELANE_WIDTHS for benches with a link: their rates are those of the link at any width."""
FRAMES, FRAMES_WITHOUT = 1_000_000, 10_000
"""Small frames behind the switch, with fences and without."""
PATIENCE_S = 1800
BUS_GB_S = {128: 12.80, 256: 14.22, 512: 15.05}
"""Limits of `tlp_rq` at 250 MHz: half a beat of a TLP is its header. At 512 bytes it is the wire's."""

CACHES = (Cache(64), Cache(256), Cache(256, tags=8, ahead=128))
PAGES = (1 << 12, 1 << 16, 1 << 21)
RINGS = (1 << 18, 1 << 20, 1 << 24, 1 << 29)


def simulated(benches: list[str], folder: Path, widths: str = str(WIDTH)) -> list[dict[str, Any]]:
    """The rows that these benches write down. SimulationError where one of them fails."""
    rows = folder / f"{Path(benches[0]).stem}.json"
    command = [sys.executable, "-m", "pytest", "-q", *benches]
    env = os.environ | {"FRAMELANE_ROWS": str(rows), "FRAMELANE_WIDTHS": widths, "COCOTB_TEST_FILTER": "|".join(NOTES)}
    done = subprocess.run(
        command, cwd=gateware_root(), env=env, capture_output=True, text=True, timeout=PATIENCE_S, check=False
    )
    if done.returncode or not rows.is_file():
        raise SimulationError(f"a bench of PCIe failed: {done.stdout[-2000:]}{done.stderr[-500:]}")
    return [json.loads(line) for line in rows.read_text().splitlines()]


def named(row: dict[str, Any]) -> dict[str, Any]:
    """A row of a bench with the name of its link, and what its wire or bus can."""
    if row["case"] == "rq":
        return row | {"link": "gen3 x16 behind `tlp_rq`", "wire": BUS_GB_S[row["mps"]]}
    if row["case"] == "two":
        return row | {"link": "two gen4 x8, two engines"}
    return row | {"link": f"gen3 x{row['lanes']}"} if row["case"] == "link" else row


def event_rows() -> list[dict[str, Any]]:
    """Frames behind a switch that delays them, whose events it does not delay: with fences, and without."""
    found = []
    for frames, fences in ((FRAMES, True), (FRAMES_WITHOUT, False)):
        start = time.monotonic()
        row = pcie_events.count_early(frames, fences=fences)
        found.append({"case": "events", **row, "wall_s": round(time.monotonic() - start, 1)})
    return found


def cache_rows() -> list[dict[str, Any]]:
    """What a cache of translations would do, one row a cache, size of pages and ring."""
    return [
        {
            **{"case": "cache", "entries": cache.entries, "tags": cache.tags, "ahead": cache.ahead},
            **{"page": page, "ring": ring, "hits": found.hit_share, "gb_s": found.gb_s},
        }
        for cache in CACHES
        for page in PAGES
        for ring in RINGS
        if ring >= page
        for found in [translation_cache.of_ring(cache, ring, page)]
    ]


def alike(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The rows with the same keys each, None where a case has no such figure: they stand in one table."""
    keys = list(dict.fromkeys(key for row in rows for key in row))
    return [{key: row.get(key) for key in keys} for row in rows]


def measure() -> Measurement:
    """Run the benches, the frames behind the switch, then the model of the cache."""
    links = [bench for bench, case in BENCHES.items() if case != "cycles"]
    others = [bench for bench, case in BENCHES.items() if case == "cycles"]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        rows = [named(row) for row in simulated(links, folder, LINK_WIDTHS) + simulated(others, folder)]
    if missing := set(BENCHES.values()) - {row["case"] for row in rows}:
        raise SimulationError(f"benches of PCIe wrote nothing down of {', '.join(sorted(missing))}")
    rows = alike(rows + event_rows() + cache_rows())
    return Measurement(
        rows, targets(rows), shown=[row for row in rows if row["case"] != "cache"], page=pcie_page.page(rows)
    )


def targets(rows: list[dict[str, Any]]) -> list[Target]:
    """What was promised."""

    def value(case: str, key: str, **of: int) -> float:
        return float(next(r[key] for r in rows if r["case"] == case and all(r[k] == v for k, v in of.items())))

    links = [row for row in rows if row["case"] in ("link", "two")]
    cycles = [row["cycles"] / (row["payload"] / 64) for row in rows if row["case"] == "cycles"]
    found = [
        ("least share of the wire, all links", min(r["gb_s"] / r["wire"] for r in links), "", 0.995, "higher"),
        ("gen3 x16, MPS 256", value("link", "gb_s", mps=256, lanes=16), "GB/s", 14.33, "higher"),
        ("gen3 x16, MPS 256, behind tlp_rq", value("rq", "gb_s", mps=256), "GB/s", 14.2, "higher"),
        ("gen3 x8, MPS 256", value("link", "gb_s", mps=256, lanes=8), "GB/s", 7.16, "higher"),
        ("two gen4 x8, MPS 256", value("two", "gb_s"), "GB/s", 28.4, "higher"),
        ("cycles of a TLP over payload / 64, worst", max(cycles), "", 1.0, "lower"),
        ("cycles from a descriptor to its first beat", value("cycles", "latency", payload=256), "", 6, "lower"),
        ("events before their data, with fences", value("events", "early", fences=1), "", 0, "lower"),
        ("events before their data, without", value("events", "early", fences=0), "", 1, "higher"),
    ]
    return [
        Target(what=what, value=reached, unit=unit, limit=limit, better=better)  # type: ignore[arg-type]
        for what, reached, unit, limit, better in found
    ]
