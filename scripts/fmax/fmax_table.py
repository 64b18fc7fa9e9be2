"""The table `docs/measured/fmax.md`: its rows, the limits they keep, what may change."""

from dataclasses import dataclass
from pathlib import Path

TABLE = Path(__file__).resolve().parents[2] / "docs" / "measured" / "fmax.md"
HEAD = TABLE.parents[2] / "scripts" / "templates" / "fmax.md"
"""The prose of the page, to be filled by `str.format`; the rows follow."""

LEAST_MHZ = {"roce_tx": 125.0, "tx": 100.0}
"""Least clock of a design, with every seed, so that nothing takes it back."""
ALLOWED_PERCENT = 10
"""Most that the slowest seed of a design that has changed may be below the table."""


@dataclass(frozen=True)
class Row:
    """One design, in the order of the table."""

    design: str
    cells: int
    flops: int
    brams: int
    mhz: tuple[float, ...]
    """Fmax by seed, in MHz."""
    path: str
    """What limits the slowest of them."""


def text(rows: list[Row], tools: str, effort: str, seeds: int) -> str:
    """Write the page, with the options that the placer had as its `effort`."""
    lines = []
    for row in rows:
        least = f"{LEAST_MHZ[row.design]:g}" if row.design in LEAST_MHZ else ""
        mhz = " ".join(f"{each:.1f}" for each in row.mhz)
        columns = (f"`{row.design}`", f"{row.cells:,}", f"{row.flops:,}", f"{row.brams}", mhz, least, row.path)
        lines.append(f"| {' | '.join(columns)} |\n")
    return HEAD.read_text().format(tools=tools, effort=effort, seeds=seeds, apart=ALLOWED_PERCENT) + "".join(lines)


def parse(page: str) -> dict[str, Row]:
    """Read the rows of a page back, by design."""
    rows = {}
    for line in page.splitlines():
        if not line.startswith("| `"):
            continue
        try:
            design, cells, flops, brams, mhz, _, path = (cell.strip() for cell in line.strip("|").split("|"))
            counts = [int(cell.replace(",", "")) for cell in (cells, flops, brams)]
            name = design.strip("`")
            rows[name] = Row(name, counts[0], counts[1], counts[2], tuple(float(each) for each in mhz.split()), path)
        except ValueError:
            raise SystemExit(f"docs/measured/fmax.md: not a row of this table, run make fmax: {line}") from None
    return rows


def beyond_limits(row: Row) -> list[str]:
    """Say where a design is slower than it may be."""
    least = LEAST_MHZ.get(row.design, 0.0)
    if min(row.mhz) >= least:
        return []
    return [f"{row.design}: {min(row.mhz):.1f} MHz routed, at least {least:g} are wanted; it is limited by {row.path}"]


def differences(old: dict[str, Row], names: list[str], measured: dict[str, Row], exact: set[str]) -> list[str]:
    """Say where a row of the table `old` is not what is `measured`, and which designs only one of both sides has.

    The designs are `names`. Those of `exact` must be the same in every column, of the others only the clock counts.
    """
    found = []
    for name, row in measured.items():
        if name not in old:
            continue
        before, now = min(old[name].mhz), min(row.mhz)
        if name in exact and row != old[name]:
            found.append(f"{name}: measured again it is {row}, docs/measured/fmax.md has {old[name]}: run make fmax")
        elif now < before * (1 - ALLOWED_PERCENT / 100):
            found.append(
                f"{name}: {now:.1f} MHz, more than {ALLOWED_PERCENT} % below the {before:.1f} of "
                "docs/measured/fmax.md: find what has made its path longer, or run make fmax"
            )
    found += [f"{name}: not in docs/measured/fmax.md, run make fmax" for name in names if name not in old]
    gone = sorted(old.keys() - set(names))
    return found + [f"{name}: in docs/measured/fmax.md, but no design of scripts/fmax: run make fmax" for name in gone]
