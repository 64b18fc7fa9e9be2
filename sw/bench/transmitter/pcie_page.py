"""The page `docs/measured/pcie.md`: rates, cycles, events, and what a cache of translations would do."""

from typing import Any

from framelane.bench.page_template import page_parts

_PARTS = page_parts("pcie")

Rows = list[dict[str, Any]]


def of(rows: Rows, case: str) -> Rows:
    """The rows of one case."""
    return [row for row in rows if row["case"] == case]


def page(rows: Rows) -> str:
    """The whole page."""
    links, rq, two, cycles = (of(rows, case) for case in ("link", "rq", "two", "cycles"))
    generic = next(row["gb_s"] for row in links if (row["mps"], row["lanes"]) == (256, 16))
    text = _PARTS["head"] + "".join(rate_line(row) for row in (*links, *rq, *two))
    text += _PARTS["cycles"] + "".join(cycles_line(row) for row in cycles)
    text += _PARTS["peers"].format(
        generic=generic,
        rq=next(row["gb_s"] for row in rq if row["mps"] == 256),
        two=two[0]["gb_s"],
        cycles=", ".join(f"{row['cycles']:g}" for row in cycles),
        rq_cycles=", ".join(f"{payload / 64 + 0.5:g}" for payload in (64, 128, 256, 512)),
        latency=max(row["latency"] for row in cycles),
    )
    events = of(rows, "events")
    text += "".join(event_line(row) for row in events)
    cached = of(rows, "cache")
    rings = sorted({row["ring"] for row in cached})
    text += _PARTS["cache"].format(
        rings=" | ".join(f"ring of {size(ring)}" for ring in rings),
        rules="---|" * len(rings),
    )
    kinds = list(dict.fromkeys((row["entries"], row["tags"], row["ahead"], row["page"]) for row in cached))
    return text + "".join(cache_line(cached, kind, rings) for kind in kinds) + _PARTS["end"]


def rate_line(row: dict[str, Any]) -> str:
    """A row of one link."""
    share = row["gb_s"] / row["wire"]
    return f"| {row['link']} | {row['mps']} | {row['gb_s']:.2f} | {share:.4f} |\n"


def cycles_line(row: dict[str, Any]) -> str:
    """A row of one payload."""
    return f"| {row['payload']} B | {row['cycles']:g} | {row['latency']} |\n"


def event_line(row: dict[str, Any]) -> str:
    """A row of the frames behind the switch."""
    fences = "on" if row["fences"] else "off"
    return f"| {fences} | {row['frames']:,} | {row['early']:,} | {row['cycles']:,} | {row['wall_s']:.0f} s |\n"


def cache_line(rows: Rows, kind: tuple[int, int, int, int], rings: list[int]) -> str:
    """A row of one cache with one size of pages."""
    entries, tags, ahead, page_bytes = kind
    reads = "one read" if tags == 1 else f"{tags} reads"
    cells = []
    for ring in rings:
        found = [r for r in rows if (r["entries"], r["tags"], r["ahead"], r["page"], r["ring"]) == (*kind, ring)]
        cells.append(f"{found[0]['hits']:.3f}, {found[0]['gb_s']:.2f}" if found else "")
    return f"| {entries} entries, {reads}, {ahead} TLPs ahead | {size(page_bytes)} | {' | '.join(cells)} |\n"


def size(count: int) -> str:
    """Bytes by a power of 1024."""
    for unit, bits in (("GiB", 30), ("MiB", 20), ("KiB", 10)):
        if count >= 1 << bits:
            return f"{count >> bits} {unit}"
    return f"{count} B"
