"""The page `docs/placement.md`: descriptors per clock, efficiency of the transmitter, and software beside it."""

from typing import Any

from framelane.cli.placement_cases import BUS, ROWS

CLOCK_HZ = 250_000_000
"""An assumption: no timing closure yet."""

MERGED = 2
"""Descriptors of a frame whose rows are merged: the pixels, the trailer."""

WIDTHS = (1, 16, 64, 256, 1024)
"""Of ROIs that the page shows."""

_HEAD = """# Placement in cycles

Which bytes of which frame go where is decided in hardware: `bd_gen` makes the descriptors, `tx` is the whole
transmitter. Both are simulated by Verilator; cycles, not seconds: they are the same on every machine. Written by
`make bench BENCH=placement`; all rows are in `build/bench/placement.json`.

"""
_DESCRIPTORS = """## Descriptors per clock

`bd_gen` alone, its sinks always ready, {frames} frames offered at once; each frame ends with its trailer's descriptor.
"Inside" counts from a frame's first descriptor to its last, "over frames" from the first frame's first to the last
frame's last: the difference is the time to place a frame, as far as the descriptors of the one before do not hide it.

| frames | pixels | descriptors a frame | cycles from frame to frame | per clock, inside | per clock, over frames |
|---|---|---|---|---|---|
"""
_WORST = """
Of {count:,} plans, ROIs of every width from {least} to {most} pixels among them, the slowest gives {worst:.3f}
descriptors per clock inside a frame. A packet with payload has at least two beats at {bus} bits, so the line takes at
most one descriptor every two clocks. The plan that takes longest to place lets a frame begin every {longest:.0f}
cycles.

"""
_EFFICIENCY = """## The whole transmitter

Beats of all packets over the cycles from the first frame's offer to the last beat, at {bus} bits, by the latency of
the memory. {frames} frames of {rows} rows are offered at once, the sink is always ready. The start of the first frame,
which nothing can hide, is counted; the trailers are packets too. In brackets: cycles a packet.

| payload | segmentation | beats a packet | {latencies} |
|---|---|---|{rules}|
"""
_DEPTH = """
The memory reader runs at most `ReadDepth` transfers (64 by default) ahead of the packets. While each is a packet of n
beats, that hides a latency of up to about 64 n cycles: of shorter rows more would have to be under way.

"""
_SOFTWARE = """## Beside software

The same descriptors in the same order by a C program (`sim/software/placement.c`, `{options}`) on one
core of the machine that ran this bench. They are checked to equal those of the model and of `bd_gen`. The program
writes them to a ring of {ring:,} that stays in its caches, and computes no trailers; to hand them to a device comes on
top, and is not counted. Millions of descriptors per second: of the program by its CPU time, the median of {repeats}
runs, least to greatest in brackets; of `bd_gen` those over frames at {clock:.0f} MHz. That clock is an assumption:
timing is not closed yet.

| frames | pixels | C program | `bd_gen` | |
|---|---|---|---|---|
"""
_HONEST = """
A server's core at full speed is not what `bd_gen` must beat, and often does not: what counts is that the line never
waits for it, which the efficiency above shows, and that no program takes part in a frame.
"""

Rows = list[dict[str, Any]]


def page(given: Rows, sent: Rows, software: Rows, options: str, ring: int, repeats: int) -> str:
    """The whole page, of the rows of `bd_gen`, `tx` and the software."""
    widths = [row["width"] for row in given]
    worst = _WORST.format(
        **{"count": len(given), "least": min(widths), "most": max(widths), "bus": BUS},
        worst=min(row["inside"] for row in given),
        longest=max(_period(row) for row in given if row["descriptors"] == MERGED),
    )
    head = _SOFTWARE.format(options=options, ring=ring, repeats=repeats, clock=CLOCK_HZ / 1e6)
    beside = "".join(map(_beside, software))
    return f"{_HEAD}{descriptors(given)}{worst}{efficiency(sent)}{_DEPTH}{head}{beside}{_HONEST}"


def descriptors(given: Rows) -> str:
    """The section on `bd_gen`: whole frames, and ROIs of WIDTHS."""
    shown = [row for row in given if not row["case"].startswith("ROI") or row["width"] in WIDTHS]
    return _DESCRIPTORS.format(frames=given[0]["frames"]) + "".join(map(_given, shown))


def efficiency(sent: Rows) -> str:
    """The section on the whole transmitter: one line a payload and segmentation."""
    latencies = sorted({row["latency"] for row in sent})
    head = _EFFICIENCY.format(
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
    """Of one payload and segmentation, at each latency."""
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
