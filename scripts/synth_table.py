"""The table `docs/area.md`: its rows, the limits they keep, what may change."""

from dataclasses import astuple, dataclass
from pathlib import Path

TABLE = Path(__file__).resolve().parents[1] / "docs" / "area.md"

LEVELS = 8
"""Most levels of logic in the packetizer's blocks, so that 322 MHz is plausible."""
LUTS = {"roce_tx": 9_000}
"""Most LUTs of a block with all that it contains, those used as memory included."""
GROWTH_PERCENT = 5
"""Most that a block's LUTs may grow without a new table."""

WIDE_CARRIES: dict[str, str] = {}
"""Blocks that have more levels when adders are made of LUTs: the carry chain that is on that path."""

HEAD = f"""# Area and depth of logic

Each block at 512 bits, the packetizer with 16 QPs, by yosys {{yosys}}. Blocks that contain others are counted with
them. `tx_rc` is `tx` with RC and its receive path (`Rc`, `Station`), `tx` is without any of it. Written by
`make synth`; `make test` fails when a block has grown by more than {GROWTH_PERCENT} % since or breaks a limit. No
timing has been closed.

- Area: `synth_xilinx -family xcup` (UltraScale+). Limit: {LUTS["roce_tx"]:,} LUTs in all for `roce_tx`, those used as
  memory included.
- Levels, for the blocks of `hw/roce_tx`: 6-input LUTs on the longest path between registers and ports
  (`synth -flatten -lut 6`, `ltp -noff`). Adders are made of LUTs there, memories of registers. Limit: {LEVELS}, wide
  carries excepted by name. *With carries*: the same for the exceptions, an adder or comparator of 8 bits or more being
  one level, as it is a carry chain in the FPGA.

| block | LUTs | LUTs as memory | flip-flops | carry cells | DSPs | block RAMs | levels | with carries |
|---|---|---|---|---|---|---|---|---|
"""


@dataclass(frozen=True)
class Row:
    """One block, in the order of the table. Levels are None where not measured."""

    block: str
    logic: int
    memory: int
    flops: int
    carries: int
    dsps: int
    brams: int = 0
    levels: int | None = None
    levels_with_carries: int | None = None

    @property
    def luts(self) -> int:
        """LUTs of all kinds."""
        return self.logic + self.memory


def text(rows: list[Row], yosys: str, carries: dict[str, str]) -> str:
    """Write the table; `carries` are the exceptions by name, as WIDE_CARRIES."""
    lines = []
    for block, *values in map(astuple, rows):
        cells = ("" if value is None else f"{value:,}" for value in values)
        lines.append(f"| {' | '.join((f'`{block}`', *cells))} |\n")
    named = [f"- `{block}`: {carry}\n" for block, carry in carries.items()]
    return HEAD.format(yosys=yosys) + "".join(lines) + ("\nWide carries:\n\n" + "".join(named) if named else "")


def parse(table: str) -> dict[str, Row]:
    """Read the rows of a table back, by block."""
    rows = {}
    for line in table.splitlines():
        if not line.startswith("| `"):
            continue
        block, *cells = (cell.strip() for cell in line.strip("|").split("|"))
        try:
            values = [int(cell.replace(",", "")) if cell else None for cell in cells]
            rows[block.strip("`")] = Row(block.strip("`"), *values)  # type: ignore[arg-type]
        except (TypeError, ValueError):
            raise SystemExit(f"docs/area.md: not a row of this table, run make synth: {line}") from None
    return rows


def beyond_limits(row: Row, carries: dict[str, str]) -> list[str]:
    """Say which limits a block breaks."""
    found = []
    most = LUTS.get(row.block, row.luts)
    if row.luts > most:
        found.append(f"{row.luts:,} LUTs in all, the limit is {most:,}")
    if (row.levels or 0) > LEVELS and row.block not in carries:
        found.append(f"{row.levels} levels, the limit is {LEVELS}, and no wide carry is named in WIDE_CARRIES")
    if (row.levels_with_carries or 0) > LEVELS:
        found.append(f"{row.levels_with_carries} levels with carry chains as one each, the limit is {LEVELS}")
    if (row.levels or 0) <= LEVELS and row.block in carries:
        found.append("keeps the limit of levels, so it has to leave WIDE_CARRIES")
    return [f"{row.block}: {sentence}" for sentence in found]


def growth(old: dict[str, Row], new: list[Row]) -> list[str]:
    """Say which blocks have grown by more than is allowed, and which are in `new` or the table `old` alone."""
    both = [(old[row.block].luts, row) for row in new if row.block in old]
    grown = [(luts, row) for luts, row in both if row.luts * 100 > luts * (100 + GROWTH_PERCENT)]
    found = [f"{row.block}: {luts:,} -> {row.luts:,} LUTs, more than {GROWTH_PERCENT} % up" for luts, row in grown]
    added = [row.block for row in new if row.block not in old]
    gone = old.keys() - {row.block for row in new}
    found += [f"{block}: not in docs/area.md, run make synth" for block in added]
    return found + [f"{block}: in docs/area.md but not in hw/, run make synth" for block in sorted(gone)]
