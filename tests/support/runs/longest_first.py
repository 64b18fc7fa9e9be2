"""The longest first, so that no core waits at the end for one that began last: how pytest-xdist hands tests out.

A module's tests stay together, as they share fixtures; benches do not. How long each took is kept in
`build/cache/`; what has not run there yet goes by `GUESSED`. Without pytest-xdist nothing is changed.
"""

import contextlib
import json
import re
from pathlib import Path
from typing import Any

import pytest
from xdist.scheduler import LoadScopeScheduling

DURATIONS = Path(__file__).resolve().parents[3] / "build" / "cache" / "durations.json"
APART = ("sim/cocotb/", "tests/bench/test_bench.py")
"""Modules whose tests share nothing that takes time."""
BY_PARAMETER = ("tests/gateware/test_roce_oracles.py",)
"""Modules whose tests share something for each value of their first parameter."""
GUESSED = {
    **dict.fromkeys(("sim/cocotb/test_tx", "sim/cocotb/test_framelane_top"), 120.0),
    **dict.fromkeys(("sim/softroce/test_", "tests/bench/test_bench_", "tests/driver/simulated/"), 60.0),
    **dict.fromkeys(("sim/boards/test_", "tests/demo/test_demo_", "tests/cli/test_cli_board"), 60.0),
    **dict.fromkeys(("sim/cocotb/", "tests/bench/test_bench.py", "tests/receiver/gpu/test_gpu_kernels_on_host"), 20.0),
    "": 1.0,
}
"""Seconds of a test whose name begins so, where none have been measured; the first that fits."""


def scope_of(nodeid: str) -> str:
    """What a test is handed out with: its module, those of its module with the same parameter, or nothing else."""
    module, _, name = nodeid.partition("::")
    if module in BY_PARAMETER:
        parameter = re.match(r"[^-\]]*", name.partition("[")[2])
        return f"{module}[{parameter[0] if parameter else ''}]"
    return nodeid if nodeid.startswith(APART) else module


class LongestFirst(LoadScopeScheduling):  # type: ignore[misc]
    """Hands out the scope that takes longest of those that are left."""

    def __init__(self, config: pytest.Config, log: Any = None) -> None:
        super().__init__(config, log)
        self._seconds = read()
        self._of_scope: dict[str, float] = {}

    def _split_scope(self, nodeid: str) -> str:
        return scope_of(nodeid)

    def seconds(self, tests: dict[str, bool]) -> float:
        """How long these tests take."""
        return sum(self._seconds[nodeid] if nodeid in self._seconds else guess(nodeid) for nodeid in tests)

    def _assign_work_unit(self, node: Any) -> None:
        for scope in self.workqueue.keys() - self._of_scope.keys():
            self._of_scope[scope] = self.seconds(self.workqueue[scope])
        longest = max(self.workqueue, key=self._of_scope.__getitem__)
        self.workqueue.move_to_end(longest, last=False)
        super()._assign_work_unit(node)


def guess(nodeid: str) -> float:
    """Seconds of a test that has not run here yet."""
    return next(seconds for start, seconds in GUESSED.items() if nodeid.startswith(start))


def read(path: Path = DURATIONS) -> dict[str, float]:
    """Seconds by test; empty where nothing has been written, or something else."""
    try:
        return {str(nodeid): float(seconds) for nodeid, seconds in json.loads(path.read_text()).items()}
    except (OSError, ValueError, AttributeError, TypeError):
        return {}


class Durations:
    """How long the tests of this run took, with what they needed made."""

    def __init__(self) -> None:
        self._seconds: dict[str, float] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self._seconds[report.nodeid] = self._seconds.get(report.nodeid, 0.0) + report.duration

    def pytest_sessionfinish(self) -> None:
        part = DURATIONS.with_suffix(".part")
        with contextlib.suppress(OSError):  # in a virtual machine the tree may only be read
            DURATIONS.parent.mkdir(parents=True, exist_ok=True)
            part.write_text(json.dumps(read() | {nodeid: round(took, 2) for nodeid, took in self._seconds.items()}))
            part.replace(DURATIONS)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> LongestFirst | None:
    """For `--dist loadscope`."""
    return LongestFirst(config, log) if config.getvalue("dist") == "loadscope" else None


def pytest_configure(config: pytest.Config) -> None:
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(Durations(), "framelane-durations")
