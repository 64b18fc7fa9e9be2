"""Leaves out benches that are recorded to have passed on exactly the inputs that they have now, but for a sample.

With FRAMELANE_WIDTHS=commit (`make test`), where there is a commit, nobody asks for certain tests, and no variable
changes benches. The sample is another one with each commit, as with proofs and areas (`scripts/records.py`).
`make sim RECORD=1` runs benches and writes the record. What a bench read must be among its inputs by `bench_inputs.py`
there: otherwise it fails, and is not recorded.
"""

import os
import tempfile
from collections.abc import Generator, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

import bench_inputs
import changed
import files_read
import records
import whole_run
from records import Made

RECORD = records.FOLDER / "benches.json"
BENCHES = "sim/cocotb/"
SAMPLE_S = 30.0
SAMPLE_RUNS = 6
INPUTS = "inputs"
"""The property of a report that has the digest."""
FITTING = "recorded benches"
"""What the workers of pytest-xdist are told, so that all have the same tests: seconds by test, and changed files."""
NO_MATTER = {
    *("FRAMELANE_DATA", "FRAMELANE_NETLISTS", "FRAMELANE_RECORD", "FRAMELANE_SOFTROCE", "FRAMELANE_WIDTHS"),
    *("COCOTB_TEST_MODULES", "COCOTB_TRUST_INERTIAL_WRITES"),
}
"""Variables that change nothing of what a bench tests. With any other a bench may be another, or a part of one."""


def digest(nodeid: str) -> str:
    """The digest of all inputs of a bench's test."""
    return bench_inputs.digest(records.ROOT / nodeid.partition("::")[0], nodeid)


def fitting() -> dict[str, int]:
    """The recorded tests whose inputs are as they were, with their seconds."""
    record = records.read(RECORD)
    return {name: made.seconds for name, made in record.items() if _is_there(name) and made.inputs == digest(name)}


def left(nodeids: list[str], fits: Mapping[str, int], files: Sequence[str]) -> set[str]:
    """The tests that need not run: recorded, not in the sample, and not of the `files` that the commit changes."""
    same = {name: Made("", fits[name]) for name in nodeids if name.startswith(BENCHES) and name in fits}
    return same.keys() - set(records.sample(same, same, SAMPLE_S, SAMPLE_RUNS)) - changed.tests(nodeids, files)


def others_set() -> list[str]:
    """The variables that are set and may change a bench."""
    return sorted(name for name in os.environ if name.startswith(("COCOTB_", "FRAMELANE_")) and name not in NO_MATTER)


class Leaving:
    """The plugin of a run that leaves them out."""

    def __init__(self, fits: Mapping[str, int], files: Sequence[str]) -> None:
        self._fits = fits
        self._files = list(files)

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        """Tell a worker which they are."""
        node.workerinput[FITTING] = dict(self._fits), self._files

    @pytest.hookimpl(wrapper=True)
    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> Iterator[None]:
        """Take out what is not to run, when all others have taken out theirs."""
        yield
        others = left([item.nodeid for item in items], self._fits, self._files)
        if others:
            config.hook.pytest_deselected(items=[item for item in items if item.nodeid in others])
            items[:] = [item for item in items if item.nodeid not in others]


class Looking:
    """The plugin of a process that runs tests: which inputs each had."""

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Generator[None, object, object]:
        """Note the inputs of a bench that passes, unless they have changed by then."""
        if not item.nodeid.startswith(BENCHES):
            return (yield)
        before = digest(item.nodeid)
        with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
            path = Path(folder, "read")
            patch.setenv(files_read.VARIABLE, str(path))
            result = yield
            read = files_read.read(path)
        others = read - bench_inputs.files(item.path) - bench_inputs.of_the_run() - bench_inputs.packages()
        if others:
            names = ", ".join(sorted(str(path.relative_to(records.ROOT)) for path in others))
            pytest.fail(f"{item.nodeid} read {names}, not among its inputs: mend bench_inputs.py")
        if read and digest(item.nodeid) == before:  # nothing: there was no simulation
            item.user_properties.append((INPUTS, before))
        return result


class Recording:
    """The plugin of a run that writes the record."""

    def __init__(self) -> None:
        self._made: dict[str, Made] = {}
        self._failed: set[str] = set()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        inputs = dict(report.user_properties).get(INPUTS)
        if report.failed:
            self._failed.add(report.nodeid)
        elif report.when == "call" and report.passed and inputs:
            self._made[report.nodeid] = Made(str(inputs), round(report.duration))

    def pytest_sessionfinish(self) -> None:
        fits = fitting()
        old = records.read(RECORD)
        new = {name: made for name, made in old.items() if name in fits} | self._made
        records.write(RECORD, old, {name: made for name, made in new.items() if name not in self._failed})


def _is_there(nodeid: str) -> bool:
    return (records.ROOT / nodeid.partition("::")[0]).is_file()


def pytest_configure(config: pytest.Config) -> None:
    """Leave out in a run of one commit, record where that is asked for."""
    worker = getattr(config, "workerinput", None)
    if os.environ.get("FRAMELANE_RECORD"):
        if others := others_set():
            raise pytest.UsageError(f"a bench may be another with {', '.join(others)}: unset them to record benches")
        config.pluginmanager.register(Looking(), "inputs of benches")
        if worker is None:
            config.pluginmanager.register(Recording(), "record of benches")
    elif worker is not None:
        if FITTING in worker:
            config.pluginmanager.register(Leaving(*worker[FITTING]), FITTING)
    elif whole_run.of_one_commit(config) and not others_set():
        config.pluginmanager.register(Leaving(fitting(), changed.files()), FITTING)
