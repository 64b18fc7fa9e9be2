"""Leaves out benches that are recorded to have passed on exactly the inputs that they have now, but for a sample.

With FRAMELANE_WIDTHS=commit (`make test`), and where there is a commit. The sample is another one with each commit, as
with proofs and areas (`scripts/records.py`). `make sim RECORD=1` runs benches and writes the record. What a bench read
must be among its inputs by `bench_inputs.py` there: otherwise it fails, and is not recorded.
"""

import os
import tempfile
from collections.abc import Generator, Iterator
from pathlib import Path

import pytest

import bench_inputs
import files_read
import records
import widths
from records import Made

RECORD = records.FOLDER / "benches.json"
BENCHES = "sim/cocotb/"
SAMPLE_S = 240.0
SAMPLE_RUNS = 8
INPUTS = "inputs"
"""The property of a report that has the digest."""


def digest(nodeid: str) -> str:
    """The digest of all inputs of a bench's test."""
    return bench_inputs.digest(records.ROOT / nodeid.partition("::")[0], nodeid)


def left(nodeids: list[str]) -> set[str]:
    """The tests that need not run."""
    record = records.read(RECORD)
    there = [name for name in nodeids if name.startswith(BENCHES) and name in record]
    same = {name for name in there if record[name].inputs == digest(name)}
    return same - set(records.sample(same, record, SAMPLE_S, SAMPLE_RUNS))


class Leaving:
    """The plugin of a run that leaves them out."""

    @pytest.hookimpl(wrapper=True)
    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> Iterator[None]:
        """Take out what is not to run, when all others have taken out theirs."""
        yield
        others = left([item.nodeid for item in items])
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
        others = read - bench_inputs.files(item.path) - bench_inputs.of_the_run()
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

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        inputs = dict(report.user_properties).get(INPUTS)
        if report.when == "call" and report.passed and inputs:
            self._made[report.nodeid] = Made(str(inputs), round(report.duration))

    def pytest_sessionfinish(self) -> None:
        old = records.read(RECORD)
        kept = {name: made for name, made in old.items() if _is_there(name) and made.inputs == digest(name)}
        records.write(RECORD, old, kept | self._made)


def _is_there(nodeid: str) -> bool:
    return (records.ROOT / nodeid.partition("::")[0]).is_file()


def pytest_configure(config: pytest.Config) -> None:
    """Leave out in a run of one commit, record where that is asked for."""
    if os.environ.get("FRAMELANE_RECORD"):
        config.pluginmanager.register(Looking(), "inputs of benches")
        if not hasattr(config, "workerinput"):
            config.pluginmanager.register(Recording(), "record of benches")
    elif os.environ.get("FRAMELANE_WIDTHS") == "commit" and widths.commit_of_checkout():
        config.pluginmanager.register(Leaving(), "recorded benches")
