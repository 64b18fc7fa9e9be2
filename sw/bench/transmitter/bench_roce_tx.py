"""The packetizer's clock cycles for every payload at every bus width: deterministic, from the Verilated design."""

import itertools
import os
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from framelane.bench.runner import Measurement, Target
from framelane.bench.transmitter import roce_tx_cycles, roce_tx_page
from framelane.bench.transmitter.roce_tx_cycles import STALL_SHARES, STALL_SIDES
from framelane.driver.simulated.library import WIDTHS

PAYLOADS = range(1, 4097)
LIMIT_LATENCY = 4


def measure() -> Measurement:
    """One row a width, service, segmentation, kind of packet and payload; see `roce_tx_cycles.rows`."""
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        tables = list(pool.map(lambda width: roce_tx_cycles.rows(width, PAYLOADS), WIDTHS))
        cases = list(itertools.product(WIDTHS, STALL_SIDES, STALL_SHARES))
        bubbles = list(pool.map(lambda case: roce_tx_cycles.bubbles(*case), cases))
    rows = [row for table in tables for row in table]
    reference = [row for row in rows if row["width"] == roce_tx_page.REFERENCE_WIDTH]
    payload_latency = max(row["payload_latency"] for row in rows)
    targets = [
        Target(
            what="cycles from packet to packet over its beats at 512 bits, worst",
            value=_worst(reference),
            unit="",
            limit=1.0,
            better="lower",
        ),
        Target(what="the same at any width", value=_worst(rows), unit="", limit=1.0, better="lower"),
        Target(
            what="first payload byte in to that byte out",
            value=payload_latency,
            unit="cycles",
            limit=LIMIT_LATENCY,
            better="lower",
        ),
        Target(
            what="bubbles that no stall explains",
            value=sum(case.unexplained for case in bubbles),
            unit="",
            limit=0,
            better="lower",
        ),
    ]
    return Measurement(rows, targets, _selection(rows), roce_tx_page.page(rows, bubbles))


def _ratio(row: dict[str, Any]) -> float:
    ratio: float = row["period"] / row["ideal_beats"]
    return ratio


def _worst(rows: list[dict[str, Any]]) -> float:
    return max(map(_ratio, rows))


def _selection(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """What a console can show: some payloads of one service at the reference width, and the worst row of each width."""
    reference = [row for row in rows if row["width"] == roce_tx_page.REFERENCE_WIDTH and row["service"] == "UC"]
    some = [row for row in reference if row["payload"] in roce_tx_page.PEERS and row["packet"] in ("ONLY", "LAST")]
    some += [max((row for row in rows if row["width"] == width), key=_ratio) for width in WIDTHS]
    return [{key: value for key, value in row.items() if not key.endswith("_latency")} for row in some]
