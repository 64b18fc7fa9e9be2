"""The page `docs/measured/roce_tx.md`: the packetizer in cycles, beside what others reach."""

from typing import Any

from framelane.bench.page_template import page_parts
from framelane.bench.transmitter.roce_tx_cycles import STALL_SHARES, STALL_SIDES, Bubbles

_PARTS = page_parts("roce_tx")

REFERENCE_WIDTH = 512
PEERS = {128: ("18", "5"), 512: ("14 to 16", "11"), 1024: ("22", "19"), 2048: ("38", "35"), 4096: ("70", "67")}
"""Cycles from packet to packet, by payload: NVIDIA Holoscan Sensor Bridge, 100G-verilog-RoCEv2-lite."""

ODD = (1, 5, 63, 129, 1023, 4095)
"""Payloads that fill neither beats nor words."""

PAYLOADS = sorted({*PEERS, *ODD})
"""All that the page shows."""

Rows = list[dict[str, Any]]


def page(rows: Rows, bubbles: list[Bubbles]) -> str:
    """The whole page."""
    worst = max(row["period"] / row["ideal_beats"] for row in rows)
    verdict = "no cycle is lost" if worst == 1 else "cycles are lost"
    return _PARTS["head"].format(count=len(rows), worst=worst, verdict=verdict) + tables(rows, bubbles)


def tables(rows: Rows, bubbles: list[Bubbles]) -> str:
    """What it shows of the payloads in PEERS and ODD at each width in `rows`."""
    widths = sorted({row["width"] for row in rows})
    parts = [_PARTS["beside"], *(_beside(rows, payload) for payload in PEERS)]
    parts.append(_PARTS["others"].format(latency=_span(_select(rows, REFERENCE_WIDTH, ("ONLY", "FIRST")), "latency")))
    parts += [
        _PARTS["widths"],
        _line("payload", *(f"{width} bits" for width in widths)),
        "|---" * (len(widths) + 1) + "|\n",
    ]
    parts += [_line(payload, *(_period(rows, width, payload) for width in widths)) for payload in PAYLOADS]
    parts += [_PARTS["latency"], *(_latency(rows, width) for width in widths)]
    shares = ", ".join(f"{share:.0%}" for share in STALL_SHARES)
    parts += [_PARTS["stalls"].format(shares=shares), *(_stalls(bubbles, width) for width in widths)]
    return "".join(parts)


def _line(*cells: object) -> str:
    return f"| {' | '.join(map(str, cells))} |\n"


def _select(rows: Rows, width: int, kinds: tuple[str, ...]) -> Rows:
    return [row for row in rows if row["width"] == width and row["packet"] in kinds]


def _only(rows: Rows, width: int, payload: int) -> dict[str, Any]:
    return next(row for row in _select(rows, width, ("ONLY",)) if row["payload"] == payload)


def _beside(rows: Rows, payload: int) -> str:
    row = _only(rows, REFERENCE_WIDTH, payload)
    return _line(f"{payload} B", row["ideal_beats"], row["period"], *PEERS[payload])


def _period(rows: Rows, width: int, payload: int) -> str:
    row = _only(rows, width, payload)
    beats = "" if row["period"] == row["ideal_beats"] else f" ({row['ideal_beats']})"
    return f"{row['period']}{beats}"


def _span(rows: Rows, key: str) -> str:
    """The least and the greatest value of those that were measured."""
    values = {row[key] for row in rows} - {None}
    return f"{min(values)}" if len(values) == 1 else f"{min(values)} to {max(values)}"


def _latency(rows: Rows, width: int) -> str:
    starting, going_on = _select(rows, width, ("ONLY", "FIRST")), _select(rows, width, ("MIDDLE", "LAST"))
    both = [_span(starting, "latency"), _span(going_on, "latency"), _span(starting + going_on, "payload_latency")]
    return _line(width, *both, _span(starting, "message_latency"))


def _stalls(bubbles: list[Bubbles], width: int) -> str:
    here = [case for case in bubbles if case.width == width]
    seen = [sum(case.bubbles for case in here if case.side == side) for side in STALL_SIDES]
    total, unexplained = sum(case.beats for case in here), sum(case.unexplained for case in here)
    return _line(width, *(f"{count:,}" for count in (total, *seen, unexplained)))
