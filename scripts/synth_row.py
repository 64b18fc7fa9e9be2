"""How a row of `docs/measured/area.md` is measured: what its cells come to, how long its longest paths are."""

import re
from dataclasses import dataclass, field

from synth_table import LEVELS, Row
from yosys import LongestPath, Mapped, area, depth

LUTS_OF = {
    **{"RAM32M16": 8, "RAM32M": 4, "RAM64M8": 8, "RAM64M": 4},
    **{"RAM32X1S": 1, "RAM64X1S": 1, "RAM128X1S": 2, "RAM256X1S": 4, "RAM512X1S": 8},
    **{"RAM32X1D": 2, "RAM64X1D": 2, "RAM128X1D": 4, "RAM256X1D": 8},
    **{"SRL16E": 1, "SRLC32E": 1},
}
"""LUTs that one cell of memory takes, shift registers among them (Xilinx UG574, table 2-2)."""


@dataclass(frozen=True)
class Build:
    """What a row is measured of."""

    module: str
    parameters: dict[str, int] = field(default_factory=dict)
    """Beside the width."""
    has_levels: bool = True
    """Whether its longest paths are measured."""
    depth_parameters: dict[str, int] = field(default_factory=dict)
    """Others than those of the area for the path with adders of LUTs, where these would take too long."""

    def area(self) -> Mapped:
        """Map it to cells."""
        return area(self.module, **self.parameters)

    def depth(self, *, both: bool = False) -> list[LongestPath]:
        """Measure the longest path with adders of LUTs; beyond the limit, or for `both`, also with carry chains."""
        if not self.has_levels:
            return []
        path = depth(self.module, carries=False, **self.parameters | self.depth_parameters)
        if not both and path.levels <= LEVELS:
            return [path]
        return [path, depth(self.module, carries=True, **self.parameters)]


def row_of(block: str, mapped: Mapped, paths: list[LongestPath]) -> Row:
    """Count what the table has."""
    cells = mapped.cells
    logic = sum(n for cell, n in cells.items() if re.fullmatch(r"LUT\d|INV", cell))
    memory = sum(n * LUTS_OF[cell] for cell, n in cells.items() if re.match(r"RAM\d|SRL", cell))
    brams = cells.get("RAMB36E2", 0) + (cells.get("RAMB18E2", 0) + 1) // 2
    flops = sum(n for cell, n in cells.items() if re.fullmatch(r"FD[RSCP]E", cell))
    levels, with_carries, *_ = [path.levels for path in paths] + [None, None]
    carries, dsps = cells.get("CARRY4", 0), cells.get("DSP48E2", 0)
    return Row(block, logic, memory, flops, carries, dsps, brams, mapped.fanout, levels, with_carries)
