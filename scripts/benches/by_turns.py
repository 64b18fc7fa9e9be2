"""Measures two checkouts by turns, on one machine: what of their benches has changed, beside what differs anyway.

    scripts/benches/by_turns.py BEFORE AFTER bench_pipeline:measure "recv --pcap x.pcap ... --force" [--rounds 5]
        [--set bench_pipeline.REPEATS=20] [--json build/by_turns.json]

What is measured is a function of a module of `framelane`, wherever in the package that is, without arguments: it
returns a Measurement, rows, rows and targets, or a number for each name. Or it is a command line of framelane, with a
space in it: seconds on the clock and of the processor. Constants of modules can be set to others, to shorten a bench.

Each checkout has one process, which imports and compiles once; its first run is not counted (`--uncounted`). Rounds
begin with either checkout in turn. A row is known by what of it is no float. Each float is compared: the median of each
checkout, the median, least and greatest of the rounds' ratios (AFTER over BEFORE), and the least and greatest ratio of
two successive rounds of the same checkout, which is what differs anyway.

Exit status 1: rows of one checkout are not those of the other.
"""

import argparse
import contextlib
import dataclasses
import importlib
import importlib.util
import itertools
import json
import os
import pkgutil
import shlex
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from types import ModuleType
from typing import Any

Values = dict[tuple[str, str], float]
"""What a run has measured, by the row and its column."""

HEAD = """
| {what} | | before | after | after / before | least | greatest | anyway, least | greatest |
|---|---|---|---|---|---|---|---|---|
"""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """One figure: its row and column; medians of both checkouts; `ratio`, `anyway`: as the module says."""

    row: str
    column: str
    before: float
    after: float
    ratio: tuple[float, float, float]
    anyway: tuple[float, float]


def compared(runs: list[tuple[Values, Values]]) -> list[Compared]:
    """Compare rounds of (before, after). ValueError where the rows are not the same."""
    found = []
    first = runs[0][0]
    for name in {row for values in itertools.chain(*runs) for row, _ in values.keys() ^ first.keys()}:
        raise ValueError(f"rows are not the same in both checkouts: {name}")
    for row, column in first:
        both = [(before[row, column], after[row, column]) for before, after in runs]
        of = [quotient(after, before) for before, after in both]
        tree = [[pair[n] for pair in both] for n in (0, 1)]
        anyway = [quotient(b, a) for values in tree for a, b in itertools.pairwise(values)] or [1.0]
        ratio = median(of), min(of), max(of)
        medians = {"before": median(tree[0]), "after": median(tree[1])}
        found.append(Compared(row=row, column=column, **medians, ratio=ratio, anyway=(min(anyway), max(anyway))))
    return found


def quotient(a: float, b: float) -> float:
    """`a / b`; 1 where both are 0."""
    return 1.0 if a == b else a / b if b else float("inf")


def table(what: str, rows: list[Compared]) -> str:
    """Markdown."""
    text = HEAD.format(what=what)
    for each in rows:
        ratios = " | ".join(f"{value:.3f}" for value in (*each.ratio, *each.anyway))
        text += f"| {each.row} | {each.column} | {each.before:.4g} | {each.after:.4g} | {ratios} |\n"
    return text


def values(measured: Any) -> Values:
    """The figures in what a bench returned: a dict, rows, or something with `rows`."""
    if isinstance(measured, dict):
        measured = [{"what": what, "value": value} for what, value in measured.items()]
    rows = measured[0] if isinstance(measured, tuple) else getattr(measured, "rows", measured)
    found: Values = {}
    for row in rows:
        known = ", ".join(
            f"{key} {value}" for key, value in row.items() if not isinstance(value, float) and value != ""
        )
        found |= {(known, key): value for key, value in row.items() if isinstance(value, float)}
    return found


class Checkout:
    """A process with the `framelane` of a checkout."""

    def __init__(self, root: Path, folder: Path, constants: list[str]) -> None:
        package = folder / "framelane"
        package.mkdir(parents=True)
        for entry in [*(root.resolve() / "sw").iterdir(), root.resolve() / "models"]:
            (package / entry.name).symlink_to(entry)
        environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, [str(folder), os.getenv("PYTHONPATH")]))}
        command = [sys.executable, __file__, "--serve", *constants]
        self._process = subprocess.Popen(
            command, cwd=root, env=environment, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )

    def run(self, what: str) -> Values:
        """Measure once; RuntimeError where that fails, its own words are on stderr."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        with contextlib.suppress(BrokenPipeError):
            print(what, file=self._process.stdin, flush=True)
        answer = self._process.stdout.readline()
        if not answer:
            raise RuntimeError(f"{what} failed, see above")
        return {(row, column): value for row, column, value in json.loads(answer)}

    def close(self) -> None:
        """End the process."""
        assert self._process.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.close()
        self._process.wait()


def timed(tree: Checkout, what: str, name: str, turn: int) -> Values:
    """Run, and say on stderr how long it took."""
    begin = time.perf_counter()
    found = tree.run(what)
    print(f"{what}: {name}, round {turn}: {time.perf_counter() - begin:.1f} s", file=sys.stderr, flush=True)
    return found


def serve(constants: list[str]) -> None:
    """Be the process: a line in, what is measured; a line out, the figures. What benches print goes to stderr."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    for constant in constants:
        name, _, value = constant.partition("=")
        module, _, key = name.rpartition(".")
        of = find(module)
        getattr(of, key)
        setattr(of, key, json.loads(value))
    for line in sys.stdin:
        figures = [(row, column, value) for (row, column), value in measure(line.strip()).items()]
        print(json.dumps(figures), file=answers, flush=True)


def find(name: str) -> ModuleType:
    """The module of that name in `framelane`, wherever it is."""
    import framelane

    for module in walk(framelane.__path__, "framelane."):
        if module.endswith(f".{name}"):
            return importlib.import_module(module)
    raise LookupError(f"framelane has no module {name}")


def walk(path: Any, prefix: str) -> Iterator[str]:
    """All modules, none of them imported."""
    for each in pkgutil.iter_modules(path, prefix):
        yield each.name
        if each.ispkg:
            spec = importlib.util.find_spec(each.name)
            yield from walk(spec.submodule_search_locations if spec else [], f"{each.name}.")


def measure(what: str) -> Values:
    """Once."""
    if " " not in what:
        name, _, function = what.partition(":")
        return values(getattr(find(name), function)())
    main = importlib.import_module("framelane.cli").main
    sys.argv = ["framelane", *shlex.split(what)]
    begin, begin_cpu = time.perf_counter(), time.process_time()
    try:
        main()
    except SystemExit as end:
        if end.code:
            raise RuntimeError(f"framelane {what}: exit status {end.code}") from None
    return values({"s": time.perf_counter() - begin, "CPU s": time.process_time() - begin_cpu})


def main() -> int:
    """Measure, and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("before", type=Path)
    parser.add_argument("after", type=Path)
    parser.add_argument("what", nargs="+")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--uncounted", type=int, default=1, help="runs of each before these")
    parser.add_argument("--set", action="append", default=[], metavar="MODULE.CONSTANT=VALUE")
    parser.add_argument("--json", type=Path, help="all figures, too")
    arguments = parser.parse_args()
    document, status = {}, 0
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as stack:
        trees = [
            Checkout(root, Path(folder, str(n)), arguments.set)
            for n, root in enumerate((arguments.before, arguments.after))
        ]
        for tree in trees:
            stack.callback(tree.close)
        for what in arguments.what:
            runs = []
            for turn in range(1 - arguments.uncounted, arguments.rounds + 1):
                first = turn % 2
                run = {n: timed(trees[n], what, ("before", "after")[n], turn) for n in (first, 1 - first)}
                if turn > 0:
                    runs.append((run[0], run[1]))
            document[what] = [[[(*key, value) for key, value in each.items()] for each in pair] for pair in runs]
            try:
                print(table(what, compared(runs)), flush=True)
            except ValueError as error:
                print(f"{what}: {error}", flush=True)
                status = 1
            if arguments.json:
                arguments.json.parent.mkdir(parents=True, exist_ok=True)
                arguments.json.write_text(json.dumps(document))
    return status


if __name__ == "__main__":
    if sys.argv[1:2] == ["--serve"]:
        serve(sys.argv[2:])
    else:
        sys.exit(main())
