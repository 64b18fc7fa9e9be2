"""The page `docs/measured/mac_port.md`: what the port to a MAC costs."""

from typing import Any

from framelane.bench.page_template import page_parts
from framelane.driver.simulated.verilated_mac_port import MAC_WIDTH

_PARTS = page_parts("mac_port")

ALONE = (64, 1024, 4096)
"""Payloads of the table of latencies."""

Rows = list[dict[str, Any]]


def page(rows: Rows, ratio: float) -> str:
    """The whole page; `ratio` of both clocks."""
    in_a_row = [row for row in rows if row["efficiency"]]
    alone = [row for row in rows if row["latency_ns"] and not row["of_line"]]
    real = [row for row in rows if row["of_line"]]
    head = _PARTS["head"].format(width=MAC_WIDTH, ratio=ratio, gaps=sum(row["gaps"] for row in rows))
    latency = _PARTS["latency"].format(
        payloads=" | ".join(f"{payload} B of payload" for payload in ALONE), rules="---|" * len(ALONE)
    )
    thresholds = sorted({row["threshold"] for row in alone})
    body = "".join(efficiency_line(row) for row in in_a_row) + latency
    body += "".join(latency_line([row for row in alone if row["threshold"] == each]) for each in thresholds)
    return head + body + _PARTS["bus"] + "".join(line_line(row) for row in real)


def efficiency_line(row: dict[str, Any]) -> str:
    """The line of one payload."""
    return f"| {row['payload']} B | {row['beats']:,} | {row['cycles']:,} | {row['efficiency']:.3f} |\n"


def latency_line(rows: Rows) -> str:
    """The line of one threshold, at each payload."""
    threshold = rows[0]["threshold"]
    cells = " | ".join(f"{row['latency_ns']:.0f}" for row in rows)
    return f"| {threshold or 'whole packet'} | {cells} |\n"


def line_line(row: dict[str, Any]) -> str:
    """The line of one payload, of a core at 250 MHz."""
    return f"| {row['payload']} B | {row['of_line']:.2f} | {row['latency_ns']:.0f} |\n"
