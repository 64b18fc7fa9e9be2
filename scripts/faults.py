"""Plants single faults in the packetizer and sees whether its benches go red: the table `docs/faults.md`.

Run with the Python that has the testbenches' tools: `.venv/bin/python scripts/faults.py`. Every fault is one changed
operator, constant or condition, drawn from the sources by a seed (`mutations.py`); it must fail in its block's own
bench or in that of the whole packetizer. Exit status 1 where fewer than 95 % are caught, or where a survivor is not
explained in `EXPLAINED`.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from pathlib import Path
from queue import Queue
from typing import Any

from mutations import Mutation, sample

ROOT = Path(__file__).resolve().parents[1]
TABLE = ROOT / "docs" / "faults.md"
WORK = ROOT / "build" / "faults"
RESULTS = ROOT / "build" / "faults.json"
"""Of the last run over all blocks, with what it was made of."""
SHARE = 0.95
WIDTHS = "not 128 and not 256"
"""To save time: of the packetizer's bench 64 and 512 bits run."""
TIMEOUT_S = 900
"""A simulation that does not end is a fault that was noticed."""

EXPLAINED = {
    ("roce_join", "waited_q <= '0;", "waited_q <= '1;"): (
        "at reset: no header waits then, and a cycle without one clears it again"
    ),
    (
        "roce_pacer",
        "logic filling1_q = 1'b0, filling2_q = 1'b0, filling3_q = 1'b0;  // from the first turn on",
        "logic filling1_q = 1'b1, filling2_q = 1'b0, filling3_q = 1'b0;  // from the first turn on",
    ): "for simulators that start registers at X: here, as in an FPGA, what would be written too early is zero",
    ("roce_pacer", "if (rst) begin", "if (1'b0) begin"): (
        "a reset within two cycles of a packet's start may forget what it owes, and no packet is left to tell"
    ),
}
"""Why a fault cannot be seen: by block, line without margin, and the line that it became."""

HEAD = """# Seeded faults

{planted} single faults (one operator, constant or condition of one line; seed {seed}, {count} a block) planted in the
packetizer one after the other: its benches caught {caught} ({share:.1%}). Written by `make faults`.

| block | faults | caught | by the bench of the block itself |
|---|---|---|---|
"""
SURVIVORS = """
## Survivors

| block | line | became | why no bench can see it |
|---|---|---|---|
"""


class NoDesignError(Exception):
    """The simulator does not build the sources."""


class Checkout:
    """A copy of what the benches need, with its own build folder."""

    def __init__(self, folder: Path) -> None:
        self.root = folder
        for tree in ("hw", "sim", "models", "sw"):
            shutil.copytree(ROOT / tree, folder / tree, ignore=shutil.ignore_patterns("__pycache__"))
        shutil.copy(ROOT / "pyproject.toml", folder)
        package = folder / "import" / "framelane"
        package.mkdir(parents=True)
        for entry in (folder / "sw").iterdir():
            (package / entry.name).symlink_to(entry)
        (package / "models").symlink_to(folder / "models")

    def caught(self, mutation: Mutation, bench: str) -> bool:
        """Whether `bench` fails with the fault in its sources. Raises NoDesignError where they are none any more."""
        path = next((self.root / "hw").rglob(f"{mutation.block}.sv"))
        original = path.read_text()
        path.write_text(mutation.apply(original))
        command = [sys.executable, "-m", "pytest", "-x", "-q", "-k", WIDTHS, f"sim/cocotb/test_{bench}.py"]
        try:
            result = subprocess.run(
                command,
                cwd=self.root,
                env=os.environ | {"PYTHONPATH": str(self.root / "import")},
                capture_output=True,
                text=True,
                timeout=TIMEOUT_S,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return True
        finally:
            path.write_text(original)
        if result.returncode not in (0, 1):
            raise SystemExit(f"pytest could not run the bench of {bench}:\n{result.stdout}{result.stderr}")
        if result.returncode and "the simulation of" not in result.stdout:
            raise NoDesignError(result.stdout)
        return result.returncode == 1


def try_all(mutations: list[Mutation], jobs: int) -> list[str | None]:
    """For each fault the bench that caught it, or "", or None where the simulator does not build it."""
    shutil.rmtree(WORK, ignore_errors=True)
    WORK.mkdir(parents=True)
    checkouts: Queue[Checkout] = Queue()
    for _ in range(jobs):
        checkouts.put(Checkout(Path(tempfile.mkdtemp(dir=WORK))))

    def attempt(mutation: Mutation) -> str | None:
        checkout = checkouts.get()
        try:
            benches = dict.fromkeys((mutation.block, "roce_tx"))
            by = next((bench for bench in benches if checkout.caught(mutation, bench)), "")
        except NoDesignError:
            by = None
        finally:
            checkouts.put(checkout)
        verdict = "does not build" if by is None else f"caught by {by}" if by else "SURVIVED"
        print(f"{mutation.block}:{mutation.number} {verdict}: {mutation.new.strip()}", flush=True)
        return by

    with ThreadPoolExecutor(jobs) as pool:
        return list(pool.map(attempt, mutations))


def why(mutation: Mutation) -> str:
    """The explanation of a survivor, or nothing."""
    return EXPLAINED.get((mutation.block, mutation.old.strip(), mutation.new.strip()), "")


def table(results: list[tuple[Mutation, str]], count: int, seed: int) -> str:
    """The page, from each fault and the bench that caught it."""
    caught = sum(by != "" for _, by in results)
    text = HEAD.format(planted=len(results), seed=seed, count=count, caught=caught, share=caught / len(results))
    for block in dict.fromkeys(m.block for m, _ in results):
        own = [by for m, by in results if m.block == block]
        text += f"| `{block}` | {len(own)} | {sum(by != '' for by in own)} | {own.count(block)} |\n"
    survivors = [m for m, by in results if not by]
    if survivors:
        text += SURVIVORS
    for m in survivors:
        old, new = (line.strip().replace("|", "\\|") for line in (m.old, m.new))
        text += f"| `{m.block}` | `{old}` | `{new}` | {why(m)} |\n"
    return text


def save(results: list[tuple[Mutation, str]], made_of: dict[str, Any]) -> None:
    """Keep a run for `load`."""
    rows = [[asdict(mutation), by] for mutation, by in results]
    RESULTS.write_text(json.dumps({"made_of": made_of, "results": rows}, indent=1))


def load(made_of: dict[str, Any]) -> list[tuple[Mutation, str]]:
    """The last run; ends the program where that was made of something else."""
    kept: dict[str, Any] = json.loads(RESULTS.read_text()) if RESULTS.is_file() else {}
    if kept.get("made_of") != made_of:
        raise SystemExit(f"{RESULTS.relative_to(ROOT)} is not of this gateware, count and seed: run without --page")
    return [(Mutation(**mutation), by) for mutation, by in kept["results"]]


def blocks() -> Iterable[Path]:
    """Sources of the packetizer, packages left out: their constants are checked by every bench."""
    return (p for p in sorted((ROOT / "hw" / "roce_tx").glob("*.sv")) if not p.stem.endswith("_pkg"))


def main() -> int:
    """Plant, run, write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=9, help="faults a block")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--block", help="only this one; the table is not written")
    parser.add_argument("--page", action="store_true", help="do not run: write the page of the last run anew")
    parser.add_argument("--jobs", type=int, default=min(8, os.cpu_count() or 1))
    options = parser.parse_args()
    sources = {path.stem: path.read_text() for path in blocks() if options.block in (None, path.stem)}
    made_of = {"sources": sources, "count": options.count, "seed": options.seed}
    if options.page:
        results = load(made_of)
    else:
        mutations = [m for name, text in sources.items() for m in sample(name, text, options.count, options.seed)]
        tried = zip(mutations, try_all(mutations, options.jobs), strict=True)
        results = [(mutation, by) for mutation, by in tried if by is not None]
    caught = sum(by != "" for _, by in results)
    print(f"{caught} of {len(results)} caught")
    if options.block is None:
        save(results, made_of)
        TABLE.write_text(table(results, options.count, options.seed))
    unexplained = [mutation for mutation, by in results if not by and not why(mutation)]
    for m in unexplained:
        print(f"not explained: {m.block}:{m.number}: {m.old.strip()} -> {m.new.strip()}")
    return int(bool(unexplained) or caught < SHARE * len(results))


if __name__ == "__main__":
    sys.exit(main())
