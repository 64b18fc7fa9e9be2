"""The page `docs/measured/bitstream.md`: what the boards come to, and what they must."""

import re
from importlib.metadata import version
from pathlib import Path

from board_build import TOOLS, Board, Placed, inputs

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "measured" / "bitstream.md"
HEAD = ROOT / "scripts" / "templates" / "bitstream.md"
CELLS = {"TRELLIS_COMB": "logic cells", "TRELLIS_FF": "flip-flops", "DP16KD": "block RAMs"}
"""What is limited, and said, of what nextpnr counts."""


def problems(made: Board, placed: Placed) -> list[str]:
    """Sentences for clocks that are not met, and for too many cells."""
    found = []
    for clock, least in made.clocks.items():
        if placed.mhz[clock] < least:
            path = placed.paths.get(clock, "no path said")
            found.append(
                f"{made.name}, seed {placed.seed}: {clock} reaches {placed.mhz[clock]:.1f} MHz, {least:g} are wanted; "
                f"it is limited by {path}"
            )
    for kind, name in CELLS.items():
        used, there = placed.used[kind]
        if 100 * used > made.cell_percent * there:
            found.append(
                f"{made.name}, seed {placed.seed}: {used:,} of {there:,} {name} are used, "
                f"more than {made.cell_percent:g} %"
            )
    return found


def text(made: Board, placements: list[Placed]) -> str:
    """Write the page."""
    tools = ", ".join(f"{tool.removeprefix('yowasp-')} {'.'.join(version(tool).split('.')[:2])}" for tool in TOOLS)
    first = placements[0]
    lines = [f"## {made.name}\n\n", "| | used | of | |\n|---|---|---|---|\n"]
    for kind, name in CELLS.items():
        used, there = first.used[kind]
        lines.append(f"| {name} | {used:,} | {there:,} | {100 * used / there:.1f} % |\n")
    lines.append(f"\n| clock | wanted | {' | '.join(f'seed {p.seed}' for p in placements)} | limits the slowest |\n")
    lines.append(f"|---|---|{'---|' * len(placements)}---|\n")
    for clock, least in made.clocks.items():
        slowest = min(placements, key=lambda placed: placed.mhz[clock])
        mhz = " | ".join(f"{placed.mhz[clock]:.1f}" for placed in placements)
        lines.append(f"| `{clock}` | {least:g} | {mhz} | {slowest.paths.get(clock, '')} |\n")
    lines.append("\n")
    lines += [f"Seed {placed.seed}: SHA-256 `{placed.digest}`  \n" for placed in placements]
    lines.append(f"Inputs: `{inputs(made)}`\n")
    return HEAD.read_text().format(tools=tools, percent=f"{made.cell_percent:g}") + "".join(lines)


def recorded(name: str) -> tuple[str, tuple[str, ...]]:
    """The digest of what the page was made of, and the digests of its bits; empty where it has no such board."""
    page = PAGE.read_text() if PAGE.is_file() else ""
    part = page.partition(f"## {name}\n")[2].partition("\n## ")[0]
    before = re.search(r"^Inputs: `(\w+)`$", part, re.MULTILINE)
    return before[1] if before else "", tuple(re.findall(r"SHA-256 `(\w+)`", part))
