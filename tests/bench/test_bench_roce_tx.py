"""The packetizer's page in docs/: it says what the RTL does, and a lost cycle could not hide in it."""

import itertools
import os
from pathlib import Path
from typing import Any

import pytest

from framelane.bench.transmitter import bench_roce_tx, roce_tx_cycles, roce_tx_page
from framelane.bench.transmitter.roce_tx_cycles import STALL_SHARES, STALL_SIDES, Bubbles
from framelane.driver.simulated.library import WIDTHS

PAGE = Path(__file__).resolve().parents[2] / "docs" / "measured" / "roce_tx.md"
PAYLOADS = bench_roce_tx.PAYLOADS if os.environ.get("FRAMELANE_WIDTHS") == "all" else roce_tx_page.PAYLOADS
Measured = tuple[list[dict[str, Any]], list[Bubbles]]


@pytest.fixture(scope="module")
def measured() -> Measured:
    """Measure what the page shows, nightly every payload, the widest bus first: it takes longest to build."""
    rows = [row for width in reversed(WIDTHS) for row in roce_tx_cycles.rows(width, PAYLOADS)]
    cases = itertools.product(WIDTHS, STALL_SIDES, STALL_SHARES)
    return rows, [roce_tx_cycles.bubbles(*case) for case in cases]


def test_the_page_in_docs_is_what_the_rtl_does(measured: Measured) -> None:
    assert roce_tx_page.tables(*measured) in PAGE.read_text(), "run make bench BENCH=roce_tx"
    assert "the worst needs 1.000 times the beats of its packet: no cycle is lost" in PAGE.read_text()


def test_every_kind_of_packet_leaves_without_a_lost_cycle(measured: Measured) -> None:
    rows, bubbles = measured
    assert {(row["service"], row["segmentation"], row["packet"]) for row in rows} == {
        (service, *form)
        for service in ("UC", "RC")
        for form in (("only", "ONLY"), *(("message", packet) for packet in ("ONLY", "FIRST", "MIDDLE", "LAST")))
    }
    assert [row for row in rows if row["period"] != row["ideal_beats"]] == []
    assert [row for row in rows if row["payload_latency"] > 4 or row["latency"] > 4] == []
    assert [case for case in bubbles if case.unexplained or (case.side == "sink" and case.bubbles)] == []


def test_a_lost_cycle_is_seen_on_the_page(measured: Measured) -> None:
    rows, bubbles = measured
    slow = [row | {"period": row["period"] + (row["payload"] == 129)} for row in rows]
    text = roce_tx_page.page(slow, bubbles)
    assert "cycles are lost" in text
    assert "| 129 | 27 (26) | 14 (13) | 8 (7) | 5 (4) | 3 (2) |" in text
