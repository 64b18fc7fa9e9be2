"""The page `placement.md`: descriptors per clock, efficiency of the transmitter, and software beside it."""

from typing import Any

from framelane.bench.page_template import page_parts
from framelane.bench.transmitter.placement_cases import BUS, ROWS

_PARTS = page_parts("placement")

CLOCK_HZ = 250_000_000
"""An assumption: no timing closure yet."""

MERGED = 2
"""Descriptors of a frame whose rows are merged: the pixels, the trailer."""

WIDTHS = (1, 16, 64, 256, 1024)
"""Widths of ROIs that the page shows."""

Rows = list[dict[str, Any]]


def page(given: Rows, sent: Rows, software: Rows, options: str, ring: int, repeats: int) -> str:
    """The whole page, of the rows of `bd_gen`, `tx` and the software."""
    widths = [row["width"] for row in given]
    worst = _PARTS["worst"].format(
        **{"count": len(given), "least": min(widths), "most": max(widths), "bus": BUS},
        worst=min(row["inside"] for row in given),
        longest=max(_period(row) for row in given if row["descriptors"] == MERGED),
    )
    head = _PARTS["software"].format(options=options, ring=ring, repeats=repeats, clock=CLOCK_HZ / 1e6)
    beside = "".join(map(_beside, software))
    parts = _PARTS["head"], descriptors(given), worst, efficiency(sent), _PARTS["depth"], head, beside, _PARTS["honest"]
    return "".join(parts)


def descriptors(given: Rows) -> str:
    """The section on `bd_gen`: whole frames, and ROIs of WIDTHS."""
    shown = [row for row in given if not row["case"].startswith("ROI") or row["width"] in WIDTHS]
    return _PARTS["descriptors"].format(frames=given[0]["frames"]) + "".join(map(_given, shown))


def efficiency(sent: Rows) -> str:
    """The section on the whole transmitter: one line a payload and segmentation."""
    latencies = sorted({row["latency"] for row in sent})
    head = _PARTS["efficiency"].format(
        bus=BUS,
        frames=sent[0]["frames"],
        rows=ROWS,
        latencies=" | ".join(f"{latency} cycles" for latency in latencies),
        rules="|".join("---" for _ in latencies),
    )
    kinds = dict.fromkeys((row["case"], row["segmentation"]) for row in sent)
    return head + "".join(
        efficiency_line([row for row in sent if (row["case"], row["segmentation"]) == kind]) for kind in kinds
    )


def efficiency_line(rows: Rows) -> str:
    """The line of one payload and segmentation, at each latency."""
    first = rows[0]
    beats = f"{first['ideal_beats'] / first['packets']:.2f}"
    cells = (f"{row['efficiency']:.4f} ({row['cycles'] / row['packets']:.2f})" for row in rows)
    return _line(first["case"], first["segmentation"], beats, *cells)


def _line(*cells: object) -> str:
    return f"| {' | '.join(map(str, cells))} |\n"


def _pixels(row: dict[str, Any]) -> str:
    return f"{row['width']} x {row['height']}"


def _period(row: dict[str, Any]) -> float:
    """Cycles from the first descriptor of a frame to that of the next one."""
    period: float = (row["cycles"] - row["descriptors"]) / (row["frames"] - 1)
    return period


def _given(row: dict[str, Any]) -> str:
    rates = f"{row['inside']:.3f}", f"{row['over']:.3f}"
    return _line(row["case"], _pixels(row), row["descriptors"], f"{_period(row):.0f}", *rates)


def _beside(row: dict[str, Any]) -> str:
    hardware, median = row["over"] * CLOCK_HZ, row["per_second"]
    spread = f"{row['per_second_least'] / 1e6:.0f} to {row['per_second_greatest'] / 1e6:.0f}"
    ratio = median / hardware
    verdict = f"the program is {ratio:.1f} times as fast" if ratio > 1 else f"`bd_gen` is {1 / ratio:.1f} times as fast"
    return _line(row["case"], _pixels(row), f"{median / 1e6:.0f} ({spread})", f"{hardware / 1e6:.0f}", verdict)
