"""The page `docs/roce_tx.md`: the packetizer in cycles, beside what others reach."""

from typing import Any

from framelane.cli.roce_tx_cycles import STALL_SHARES, STALL_SIDES, Bubbles

REFERENCE_WIDTH = 512
PEERS = {128: ("18", "5"), 512: ("14 to 16", "11"), 1024: ("22", "19"), 2048: ("38", "35"), 4096: ("70", "67")}
"""Cycles from packet to packet, by payload: NVIDIA Holoscan Sensor Bridge, 100G-verilog-RoCEv2-lite."""

ODD = (1, 5, 63, 129, 1023, 4095)
"""Payloads that fill neither beats nor words."""

PAYLOADS = sorted({*PEERS, *ODD})
"""All that the page shows."""

_HEAD = """# The packetizer in cycles

`roce_tx` simulated by Verilator, source and sink always ready. Cycles, not seconds: they are the same on every
machine. Written by `make bench BENCH=roce_tx`, which measures every payload from 1 to 4096 bytes at every width, for UC
and RC and both segmentations; all rows are in `build/bench/roce_tx.json`.

Of {count:,} rows the worst needs {worst:.3f} times the beats of its packet: {verdict}.

"""
_BESIDE = """## Beside others

Cycles from packet to packet, one WRITE ONLY after the other. All three on the same bench: 512-bit bus, source and sink
always ready. The others' figures were measured once, on their public sources, without note of the version; this command
does not measure them again.

| payload | ideal beats | `roce_tx` | NVIDIA Holoscan Sensor Bridge | 100G-verilog-RoCEv2-lite |
|---|---|---|---|---|
"""
_OTHERS = """
| | `roce_tx` | NVIDIA Holoscan Sensor Bridge | 100G-verilog-RoCEv2-lite |
|---|---|---|---|
| cycles from the first payload in to the first beat out | {latency} | 3 | 29 to 92 (stores the packet first) |
| payload lengths | any | whole beats of the bus | multiples of 4; others are cut, and sent with a wrong ICRC |
| service, operations | UC and RC WRITE, both segmentations | UC WRITE ONLY | RC WRITE, SEND, with retransmission |
| CRC-32 of 512 bits, LUTs by yosys | [`roce_icrc`](area.md): ends at any byte | 2,812: full beats only | not measured |
"""
_WIDTHS = """
## All widths

Cycles from packet to packet, one UC WRITE ONLY after the other. Where a packet has fewer beats, their number follows in
brackets.

"""
_LATENCY = """
## Latency

Cycles from the first payload beat that is taken to the packet's first beat out (negative: beats that hold headers only
leave before payload is asked for), to the beat out that holds the first payload byte, and from the message. The
packetizer takes payload when its header is there: what is offered together with its message, from idle, waits for it.

| width | payload to first beat, ONLY or FIRST | the same, MIDDLE or LAST | payload to payload | message to first beat |
|---|---|---|---|---|
"""
_STALLS = """
## Stalls

Random messages on 16 QPs of every kind. One side, or all (then the sink's pauses hide those of the sources), pause at
random in {shares} of the cycles. A bubble is a
cycle between the first beat and the last in which the sink is ready and no beat comes; each must have its own pause of
a source before it.

| width | beats | bubbles while the sink pauses | payload | messages | all three | without a cause |
|---|---|---|---|---|---|---|
"""

Rows = list[dict[str, Any]]


def page(rows: Rows, bubbles: list[Bubbles]) -> str:
    """The whole page."""
    worst = max(row["period"] / row["ideal_beats"] for row in rows)
    verdict = "no cycle is lost" if worst == 1 else "cycles are lost"
    return _HEAD.format(count=len(rows), worst=worst, verdict=verdict) + tables(rows, bubbles)


def tables(rows: Rows, bubbles: list[Bubbles]) -> str:
    """What it shows of the payloads in PEERS and ODD at each width in `rows`."""
    widths = sorted({row["width"] for row in rows})
    parts = [_BESIDE, *(_beside(rows, payload) for payload in PEERS)]
    parts.append(_OTHERS.format(latency=_span(_select(rows, REFERENCE_WIDTH, ("ONLY", "FIRST")), "latency")))
    parts += [_WIDTHS, _line("payload", *(f"{width} bits" for width in widths)), "|---" * (len(widths) + 1) + "|\n"]
    parts += [_line(payload, *(_period(rows, width, payload) for width in widths)) for payload in PAYLOADS]
    parts += [_LATENCY, *(_latency(rows, width) for width in widths)]
    shares = ", ".join(f"{share:.0%}" for share in STALL_SHARES)
    parts += [_STALLS.format(shares=shares), *(_stalls(bubbles, width) for width in widths)]
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
