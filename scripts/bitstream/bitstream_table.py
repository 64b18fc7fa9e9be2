"""The page `docs/measured/bitstream.md`: what the boards come to, and what they must."""

import re
from importlib.metadata import version
from pathlib import Path

from board_build import TOOLS, Board, Placed, inputs
from tool import Cost

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "measured" / "bitstream.md"
HEAD = ROOT / "scripts" / "templates" / "bitstream.md"
CELLS = {"TRELLIS_COMB": "logic cells", "TRELLIS_FF": "flip-flops", "DP16KD": "block RAMs"}
"""What is limited, and said, of what nextpnr counts."""
_TOOK = re.compile(r"^\| (?:yosys|nextpnr, seed \d+) \|.*$", re.MULTILINE)
"""A row of what the tools took."""


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


def text(made: Board, placements: list[Placed], synthesis: Cost) -> str:
    """The page with this board's part new, and those of others as they are.

    Where it has these very bits, of whatever sources, what the tools took stays that of the run that first made them.
    """
    tools = ", ".join(f"{tool.removeprefix('yowasp-')} {'.'.join(version(tool).split('.')[:2])}" for tool in TOOLS)
    head = HEAD.read_text().format(tools=tools, percent=f"{made.cell_percent:g}")
    before, part = _parts().get(made.name, ""), _part(made, placements, synthesis)
    if recorded(made.name)[1] == tuple(placed.digest for placed in placements):
        took = iter(_TOOK.findall(before))
        part = _TOOK.sub(lambda _: next(took), part)
    return head + "\n".join(f"## {name}\n\n{each}" for name, each in sorted((_parts() | {made.name: part}).items()))


def _part(made: Board, placements: list[Placed], synthesis: Cost) -> str:
    """What the page says of a board."""
    first = placements[0]
    lines = ["| | used | of | |\n|---|---|---|---|\n"]
    for kind, name in CELLS.items():
        used, there = first.used[kind]
        lines.append(f"| {name} | {used:,} | {there:,} | {100 * used / there:.1f} % |\n")
    lines.append(f"\n| clock | wanted | {' | '.join(f'seed {p.seed}' for p in placements)} | limits the slowest |\n")
    lines.append(f"|---|---|{'---|' * len(placements)}---|\n")
    for clock, least in made.clocks.items():
        slowest = min(placements, key=lambda placed: placed.mhz[clock])
        mhz = " | ".join(f"{placed.mhz[clock]:.1f}" for placed in placements)
        lines.append(f"| `{clock}` | {least:g} | {mhz} | {slowest.paths.get(clock, '')} |\n")
    lines.append("\n| | time | memory at its peak |\n|---|---|---|\n")
    costs = [("yosys", synthesis), *((f"nextpnr, seed {placed.seed}", placed.cost) for placed in placements)]
    lines += [f"| {tool} | {cost.seconds / 60:.1f} min | {cost.mib / 1024:.2f} GiB |\n" for tool, cost in costs]
    lines.append("\n")
    lines += [f"Seed {placed.seed}: SHA-256 `{placed.digest}`  \n" for placed in placements]
    lines.append(f"Inputs: `{inputs(made)}`\n")
    return "".join(lines)


def _parts() -> dict[str, str]:
    """What the page says of each board, by its name."""
    page = PAGE.read_text() if PAGE.is_file() else ""
    return {part.partition("\n")[0]: part.partition("\n\n")[2].rstrip("\n") + "\n" for part in page.split("\n## ")[1:]}


def recorded(name: str) -> tuple[str, tuple[str, ...]]:
    """The digest of what the page was made of, and the digests of its bits; empty where it has no such board."""
    part = _parts().get(name, "")
    before = re.search(r"^Inputs: `(\w+)`$", part, re.MULTILINE)
    return before[1] if before else "", tuple(re.findall(r"SHA-256 `(\w+)`", part))
