"""Plants single faults in the gateware, the receiver's core and the doctor, and sees whether tests go red.

Run with the Python that has the testbenches' tools: `make faults`. Every fault is one changed
operator, constant, condition, order or statement, drawn from the sources by a seed (`mutations.py`,
`python_mutations.py`); it must fail in the tests that `fault_targets.py` names for its block or module. Verdicts are
kept in `docs/records/faults.json`, each with the digest of the source and the tests that it depends on: a run goes on
from them, and runs again only what has changed; the table is made of them. Exit status 1 where fewer than 95 % of a
part are caught, where a survivor is not explained in `fault_reasons.py`, or where faults are left untried.
"""

import argparse
import fnmatch
import json
import os
import sys
import time
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from fcntl import LOCK_EX, flock
from functools import cache
from typing import Any

import fault_targets
import mutations
import plant_gateware
import plant_python
import python_mutations
from fault_reasons import EXPLAINED
from fault_targets import GATEWARE, GROUPS, ROOT, Target
from framelane.bench.page_template import page_parts
from mutations import Mutation
from plant_gateware import SAME

TABLE = ROOT / "docs" / "measured" / "faults.md"
RECORD = ROOT / "docs" / "records" / "faults.json"
WORK = ROOT / "build" / "faults"
SHARE = 0.95
_UNCAUGHT = {None: "does not build", SAME: "leaves the netlist as it is", "": "SURVIVED"}


@dataclass(frozen=True, slots=True)
class Tried:
    """A fault and the tests that caught it; "": none did.

    None: it builds no design, SAME: it leaves the netlist as it is. Both count for nothing. `inputs` is
    the digest of what that depends on.
    """

    mutation: Mutation
    by: str | None
    inputs: str

    def of(self, mutation: Mutation) -> bool:
        """Whether it is this fault, wherever its line is now."""
        return (self.mutation.old, self.mutation.new) == (mutation.old, mutation.new)

    def holds(self, target: Target, seed: int) -> bool:
        """Whether it is of the present source and tests."""
        return self.inputs == target.inputs(seed, self.by)


Record = dict[str, list[Tried]]
"""What was tried of each block, in the order in which its faults are drawn."""


def why(mutation: Mutation) -> str:
    """The explanation of a survivor, or nothing."""
    return EXPLAINED.get((mutation.block, mutation.old.strip(), mutation.new.strip()), "")


def drawn(target: Target, seed: int) -> list[Mutation]:
    """All faults of a target in the order in which they are tried."""
    return list(_drawn(target.name, target.group == GATEWARE, target.source, seed))


@cache
def _drawn(name: str, gateware: bool, source: str, seed: int) -> list[Mutation]:
    of = mutations.every if gateware else python_mutations.every
    return mutations.drawn(name, of(name, source), seed)


def read() -> Record:
    """The record; empty without a file."""
    kept: dict[str, Any] = json.loads(RECORD.read_text()) if RECORD.is_file() else {}
    return {
        name: [Tried(Mutation(name, *fault[:4]), fault[4], fault[5]) for fault in found] for name, found in kept.items()
    }


def keep(name: str, found: list[Tried]) -> None:
    """Write one block into the record, whatever other runs write there meanwhile."""
    RECORD.parent.mkdir(exist_ok=True)
    WORK.mkdir(parents=True, exist_ok=True)
    with (WORK / "lock").open("w") as lock:
        flock(lock, LOCK_EX)
        entries = []
        for each, of in sorted((read() | {name: found}).items()):
            rows = [[m.number, m.kind, m.old, m.new, t.by, t.inputs] for t in of for m in [t.mutation]]
            entries.append(f"  {json.dumps(each)}: [\n    " + ",\n    ".join(map(json.dumps, rows)) + "\n  ]")
        (WORK / "record").write_text("{\n" + ",\n".join(entries) + "\n}\n")
        (WORK / "record").replace(RECORD)  # whoever reads it meanwhile sees the one or the other


def counted(found: Iterable[Tried]) -> list[Tried]:
    """Those that are other designs."""
    return [tried for tried in found if tried.by not in (None, SAME)]


def table(targets: Sequence[Target], record: Record, seed: int) -> str:
    """The page: what was tried of each target by this seed, and what survived."""
    parts = page_parts("faults", ROOT / "scripts" / "templates")
    text, rows = parts["head"].format(seed=seed), ""
    for group in GROUPS:
        of = [target for target in targets if target.group == group and drawn(target, seed)]
        here = [target for target in of if target.name in record]
        all_of = [tried for target in here for tried in counted(record[target.name])]
        caught = sum(tried.by != "" for tried in all_of)
        share = f"{caught / len(all_of):.1%}" if all_of else ""
        text += f"| {group}: {len(here)} of {len(of)} | {len(all_of)} | {caught} | {share} |\n"
        rows += parts["rows"].format(
            title=group[0].upper() + group[1:], what="block" if group == GATEWARE else "module"
        )
        for target in sorted(here, key=lambda t: t.name):
            found = counted(record[target.name])
            own = sum(tried.by == target.suites[0].stem for tried in found)
            mark = "" if all(tried.holds(target, seed) for tried in record[target.name]) else " †"
            rows += f"| `{target.name}`{mark} | {len(found)} | {sum(tried.by != '' for tried in found)} | {own} "
            rows += f"| {len(drawn(target, seed))} |\n"
        if missing := sorted(target.name for target in of if target.name not in record):
            rows += f"\nNot run: {', '.join(f'`{name}`' for name in missing)}.\n"
    text += rows
    left = [tried.mutation for target in targets for tried in record.get(target.name, []) if tried.by == ""]
    if left:
        text += parts["survivors"]
    for m in left:
        old, new = (line.strip().replace("|", "\\|") for line in (m.old, m.new))
        text += f"| `{m.block}` | `{old}` | `{new}` | {why(m)} |\n"
    same = [tried.mutation for target in targets for tried in record.get(target.name, []) if tried.by == SAME]
    text += parts["same"] if same else ""
    for m in same:
        old, new = (line.strip().replace("|", "\\|") for line in (m.old, m.new))
        text += f"| `{m.block}` | `{old}` | `{new}` |\n"
    return text


Planter = plant_gateware.Planter | plant_python.Planter


def planter(gateware: bool, jobs: int) -> Planter:
    """What plants faults, `jobs` at a time; made when it is needed: copies of the sources, or libraries."""
    kind = plant_gateware.Planter if gateware else plant_python.Planter
    return kind(WORK / ("gateware" if gateware else "python"), jobs)


def run(targets: Sequence[Target], count: int, seed: int, jobs: int, end: float) -> None:
    """Try the first `count` faults of each target, but for those whose verdict still holds; more stay as they were.

    A target is begun before `end` (of time.monotonic) or not at all, and written into the record when it is through.
    """

    def one(target: Target) -> None:
        if time.monotonic() >= end:
            return
        kept = read().get(target.name, [])
        faults = {n: mutation for n, mutation in enumerate(drawn(target, seed)) if n < count or n < len(kept)}
        found = {n: t for n, t in enumerate(kept) if n in faults and t.of(faults[n]) and t.holds(target, seed)}
        again = {n: mutation for n, mutation in faults.items() if n not in found}
        for n, (mutation, by) in zip(again, plant.attempt(target, list(again.values())), strict=True):
            told = _UNCAUGHT.get(by, f"caught by {by}")
            print(f"{mutation.block}:{mutation.number} {told}: {mutation.new.strip()}", flush=True)
            found[n] = Tried(mutation, by, target.inputs(seed, by))
        keep(target.name, [found[n] for n in sorted(found)])

    for gateware in (True, False):
        of = [target for target in targets if (target.group == GATEWARE) == gateware]
        if of:
            with planter(gateware, jobs) as plant, ThreadPoolExecutor(jobs) as at_a_time:
                list(at_a_time.map(one, of))


def untried(target: Target, tried: Sequence[Tried], count: int, seed: int) -> int:
    """How many of a target's first faults, `count` or all recorded, have no verdict of the present source and tests."""
    faults = drawn(target, seed)[: max(count, len(tried))]
    held = [n < len(tried) and tried[n].of(fault) and tried[n].holds(target, seed) for n, fault in enumerate(faults)]
    return held.count(False)


def verdict(targets: Sequence[Target], record: Record, count: int, seed: int) -> int:
    """The exit status, and what leads to it: too few caught, survivors without a reason, faults not tried."""
    missing = {t.name: n for t in targets if (n := untried(t, record.get(t.name, []), count, seed))}
    if missing:
        print(f"not tried: {', '.join(f'{n} of {name}' for name, n in missing.items())}")
    failed = bool(missing)
    for group in GROUPS:
        found = [tried for t in targets if t.group == group for tried in counted(record.get(t.name, []))]
        caught = sum(tried.by != "" for tried in found)
        if found:
            print(f"{group}: {caught} of {len(found)} caught")
        failed |= caught < SHARE * len(found)
    for m in [tried.mutation for t in targets for tried in record.get(t.name, []) if tried.by == ""]:
        if not why(m):
            print(f"not explained: {m.block}:{m.number}: {m.old.strip()} -> {m.new.strip()}")
            failed = True
    return int(failed)


def main() -> int:
    """Plant, run, write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=2, help="faults a block, but no fewer than are recorded of it")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--group", choices=GROUPS, help="only this part")
    parser.add_argument("--block", action="append", help="only these, such as roce_join or 'doctor/*'")
    parser.add_argument("--minutes", type=float, default=float("inf"), help="begin no other block after so long")
    parser.add_argument("--page", action="store_true", help="do not run: write the page of what is recorded")
    parser.add_argument("--jobs", type=int, default=min(8, os.cpu_count() or 1))
    options = parser.parse_args()
    targets = fault_targets.every()
    chosen = [
        target
        for target in targets
        if options.group in (None, target.group)
        and (options.block is None or any(fnmatch.fnmatch(target.name, pattern) for pattern in options.block))
    ]
    if not chosen:
        raise SystemExit("no block of that name: " + ", ".join(target.name for target in targets))
    if not options.page:
        run(chosen, options.count, options.seed, options.jobs, time.monotonic() + 60 * options.minutes)
    if options.page or options.block is None:
        TABLE.write_text(table(targets, read(), options.seed))
    return verdict(chosen, read(), options.count, options.seed)


if __name__ == "__main__":
    sys.exit(main())
