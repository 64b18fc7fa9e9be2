"""Runs benches on copies of the gateware with a fault in one block."""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import Queue
from threading import Lock
from typing import Self

from fault_targets import ROOT, Target
from mutations import Mutation
from same_netlist import same_netlist

WIDTHS = "not (test_roce_tx and (128 or 256))"
"""To save time: of this bench's five widths three run. Numbers in the names of others are no widths."""
FIRST, THEN = "64", "all"
"""Widths (FRAMELANE_WIDTHS) that benches run with a fault: one, and all where that one does not see it."""
SAME = "="
"""The verdict of a fault that no bench sees, and that leaves the netlist as it is: it is none."""
CLEAN_S = 1800.0
"""A bench may take so long without a fault."""
PATIENCE, LEAST_S = 5, 90.0
"""One that takes so many times as long with a fault, and so many seconds more, does not end: that is noticed."""


class NoDesignError(Exception):
    """The simulator does not build the sources."""


class Checkout:
    """A copy of what the benches need, with its own build folder."""

    def __init__(self, folder: Path) -> None:
        self.root = folder
        for tree in ("hw", "sim", "models", "scripts", "sw", "tests"):
            shutil.copytree(ROOT / tree, folder / tree, ignore=shutil.ignore_patterns("__pycache__"))
        shutil.copy(ROOT / "pyproject.toml", folder)
        package = folder / "import" / "framelane"
        package.mkdir(parents=True)
        for entry in (folder / "sw").iterdir():
            (package / entry.name).symlink_to(entry)
        (package / "models").symlink_to(folder / "models")

    def caught(self, path: Path, mutation: Mutation, suite: Path, widths: str, timeout_s: float) -> bool:
        """Whether a bench fails with the fault in its sources. Raises NoDesignError where they are none any more."""
        changed = self.root / path.relative_to(ROOT)
        original = changed.read_text()
        changed.write_text(mutation.apply(original))
        try:
            return self.red(suite, widths, timeout_s)
        finally:
            changed.write_text(original)

    def red(self, suite: Path, widths: str, timeout_s: float) -> bool:
        """Whether a bench fails, or does not end. Raises NoDesignError where the simulator does not build it."""
        command = [sys.executable, "-m", "pytest", "-x", "-q", "-k", WIDTHS, str(suite.relative_to(ROOT))]
        with subprocess.Popen(
            command,
            cwd=self.root,
            env=os.environ | {"PYTHONPATH": str(self.root / "import"), "FRAMELANE_WIDTHS": widths},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        ) as process:
            try:
                told, _ = process.communicate(timeout=timeout_s)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)  # the simulation, too
                return True
        if process.returncode not in (0, 1):
            raise SystemExit(f"pytest could not run {suite.name}:\n{told}")
        if process.returncode and "the simulation of" not in told:
            raise NoDesignError(told)
        return process.returncode == 1


class Planter:
    """Plants faults in the gateware, in as many copies below `folder` as run at a time; to be used in a `with` block.

    Threads may share it.
    """

    def __init__(self, folder: Path, jobs: int) -> None:
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        self._pool = ThreadPoolExecutor(jobs)
        self._free: Queue[Checkout] = Queue()
        for _ in range(jobs):
            self._free.put(Checkout(Path(tempfile.mkdtemp(dir=folder))))
        self._clean_s: dict[tuple[Path, str], float] = {}
        self._looking: defaultdict[tuple[Path, str], Lock] = defaultdict(Lock)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._pool.shutdown(cancel_futures=True)

    def attempt(self, target: Target, mutations: Sequence[Mutation]) -> Iterator[tuple[Mutation, str | None]]:
        """Each fault with the bench that caught it, or "", SAME, or None where the simulator does not build it.

        SystemExit where a bench fails without a fault.
        """
        yield from zip(mutations, self._pool.map(lambda each: self._caught(target, each), mutations), strict=True)

    def _check(self, checkout: Checkout, suite: Path, widths: str) -> None:
        """Without a fault a bench must pass, or it would catch all."""
        with self._looking[suite, widths]:
            if (suite, widths) in self._clean_s:
                return
            begun = time.monotonic()
            try:
                if checkout.red(suite, widths, CLEAN_S):
                    raise SystemExit(f"{suite.name} fails without a fault")
            except NoDesignError as error:
                raise SystemExit(f"{suite.name} does not build without a fault:\n{error}") from None
            self._clean_s[suite, widths] = time.monotonic() - begun

    def _caught(self, target: Target, mutation: Mutation) -> str | None:
        checkout = self._free.get()
        try:
            for widths in (FIRST, THEN):
                for suite in target.suites:
                    self._check(checkout, suite, widths)
                    patience_s = PATIENCE * self._clean_s[suite, widths] + LEAST_S
                    if checkout.caught(target.path, mutation, suite, widths, patience_s):
                        return suite.stem
            return SAME if same_netlist(target.name, mutation.apply(target.source)) else ""
        except NoDesignError:
            return None
        finally:
            self._free.put(checkout)
