"""Runs tests on Python with a fault in one module, each in a process of its own that has all libraries loaded.

The module on disk stays as it is: what imports it gets the changed source, also in processes that a test starts. So
nothing else is compiled anew, and a fault costs little more than the tests that are run on it.
"""

import contextlib
import importlib
import multiprocessing
import os
import resource
import signal
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Self

import planted_module
from fault_targets import ROOT, Target
from mutations import Mutation

LIBRARIES = ("h5py", "hdf5plugin", "hypothesis", "matplotlib", "numba", "numpy", "pydantic", "pytest", "rich", "typer")
PATIENCE, LEAST_S = 10, 20.0
"""Tests that take so many times as long as without a fault, and at least so long, do not end: that is noticed."""
MEMORY = 8 << 30
"""Bytes of data that a process may have: a fault may ask for all."""
CAUGHT, MISSED = (1, 2), 0
"""pytest's exit status: a test failed, or the tests cannot even be imported; all passed."""

_FORK = multiprocessing.get_context("fork")


def module_of(path: Path) -> str:
    """The name under which a source below `sw` or `models` is imported."""
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(("framelane", *parts[parts[0] == "sw" :]))


def _run(suite: Path, path: Path | None, source: str, log: Path) -> None:
    """In its own process: the tests of `suite`, with another source for the module in `path`, if one is given."""
    os.setsid()
    with log.open("w") as out:
        os.dup2(out.fileno(), 1)
        os.dup2(out.fileno(), 2)
    resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))
    os.chdir(ROOT)
    if path is not None:
        name = module_of(path)
        assert name not in sys.modules, f"{name} was imported before a fault could be planted"
        planted_module.plant(name, path, source, log.parent)
        if path.stem.startswith("_"):  # of compiled loops: numba's cache knows the file on disk only
            os.environ["NUMBA_CACHE_DIR"] = tempfile.mkdtemp(dir=log.parent)
            importlib.import_module("numba.core.config").reload_config()
    hypothesis = importlib.import_module("hypothesis")
    phases = (hypothesis.Phase.explicit, hypothesis.Phase.generate)
    hypothesis.settings.register_profile("faults", database=None, derandomize=True, phases=phases)
    hypothesis.settings.load_profile("faults")
    pytest = importlib.import_module("pytest")
    loaded = "ignore::pytest.PytestAssertRewriteWarning"  # hypothesis is, before pytest begins
    status = pytest.main(["-x", "-q", "-o", f"cache_dir={log.parent}", "--tb=line", "-W", loaded, str(suite)])
    sys.stdout.flush()
    os._exit(int(status))


class Planter:
    """Plants faults in Python, `jobs` at a time; `folder` is for what its processes write.

    To be used in a `with` block; threads may share it.
    """

    def __init__(self, folder: Path, jobs: int) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._folder = folder
        for name in LIBRARIES:
            importlib.import_module(name)
        self._pool = ProcessPoolExecutor(jobs, _FORK)
        list(self._pool.map(int, range(jobs)))  # it forks here, not beside the threads that share it

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._pool.shutdown(cancel_futures=True)

    def attempt(self, target: Target, mutations: Sequence[Mutation]) -> Iterator[tuple[Mutation, str]]:
        """Each fault with the tests that caught it, or "". SystemExit where tests fail without a fault."""
        verdicts = self._pool.map(_caught, [target] * len(mutations), mutations, [self._folder] * len(mutations))
        yield from zip(mutations, verdicts, strict=True)


_clean_s: dict[Path, float] = {}
"""How long tests take without a fault, in seconds."""


def _caught(target: Target, mutation: Mutation, folder: Path) -> str:
    source = mutation.apply(target.source)
    return next((suite.stem for suite in target.suites if _red(suite, target.path, source, folder)), "")


def _red(suite: Path, path: Path, source: str, folder: Path) -> bool:
    if suite not in _clean_s:
        begun = time.monotonic()
        status, log = _status(suite, None, "", 600.0, folder)
        if status != MISSED:
            raise SystemExit(f"{suite.name} fails without a fault:\n{log}")
        _clean_s[suite] = time.monotonic() - begun
    status, log = _status(suite, path, source, PATIENCE * _clean_s[suite] + LEAST_S, folder)
    if status not in (None, MISSED, *CAUGHT) and status >= 0:
        raise SystemExit(f"pytest could not run {suite.name}:\n{log}")
    return status != MISSED


def _status(suite: Path, path: Path | None, source: str, timeout_s: float, folder: Path) -> tuple[int | None, str]:
    """pytest's exit status, negative where a signal ended it, None where it did not end; and what it printed."""
    with tempfile.TemporaryDirectory(dir=folder, ignore_cleanup_errors=True) as own:
        log = Path(own) / "log"
        process = _FORK.Process(target=_run, args=(suite, path, source, log))
        process.start()
        process.join(timeout_s)
        status = process.exitcode
        assert process.pid is not None
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)  # and what the tests have started
        process.join()
        return status, log.read_text(errors="replace") if log.is_file() else ""
