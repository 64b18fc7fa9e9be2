"""Judges what is skipped: the summary says what and why, and what `skips.toml` does not allow makes the run red.

Red with `--judge-skips`, and where the environment says CI=true.
"""

import importlib.util
import os
import re
import shutil
import subprocess
import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

from framelane.bench.serve import browser
from kernel_icmp import refuses_on

LIST = Path(__file__).with_name("skips.toml")
SYSTEM_PACKAGES = Path(__file__).resolve().parents[3] / "scripts" / "system-packages.sh"


def _fails(*command: str) -> bool:
    """Whether a command is not there or fails."""
    return not shutil.which(command[0]) or subprocess.run(command, capture_output=True, timeout=60).returncode != 0


def _fails_in_a_network(commands: str) -> bool:
    """Whether the shell's commands fail in a network of their own, which ends with them."""
    return _fails("unshare", "--net", "sh", "-c", commands)


def _refuses() -> bool:
    """Whether the kernel says on any processor that nobody listens at a port."""
    usual = os.sched_getaffinity(0)
    try:
        return any(refuses_on(processor) for processor in usual)
    finally:
        os.sched_setaffinity(0, usual)


WHERE: dict[str, Callable[[], bool]] = {
    "anywhere": lambda: True,
    "no GPU": lambda: not Path("/dev/nvidiactl").exists(),
    "CuPy installed": lambda: importlib.util.find_spec("cupy") is not None,
    "no Chromium": lambda: browser.CHROMIUM is None,
    "no real frames named": lambda: "FRAMELANE_DATA" not in os.environ,
    "no networks of one's own": lambda: os.geteuid() != 0 or _fails("unshare", "--net", "true"),
    "no token bucket filter": lambda: _fails_in_a_network("tc qdisc add dev lo root tbf rate 8bit burst 10k limit 1m"),
    "no ICMP": lambda: not _refuses(),
    "no VLANs": lambda: _fails_in_a_network("ip link add v0 type veth && ip link add link v0 name v0.5 type vlan id 5"),
    "arp_accept fixed": lambda: not os.access("/proc/sys/net/ipv4/conf/default/arp_accept", os.W_OK),
    "no huge pages": lambda: int(Path("/proc/sys/vm/nr_hugepages").read_text()) == 0,
    "RDMA device": lambda: Path("/sys/class/infiniband").exists(),
    "no SoftRoCE": lambda: _fails(str(SYSTEM_PACKAGES), "can-run-softroce"),
    "no apt": lambda: shutil.which("apt-get") is None,
}
"""Conditions of a machine that a skip may need: looked at here again, so that no skip is allowed by its words alone."""


@dataclass(frozen=True)
class Allowed:
    """A line of the list: skips whose reason begins like `reason`, in tests below `tests`, where `where` holds."""

    reason: str
    where: str
    why: str
    tests: str = ""

    def covers(self, nodeid: str, reason: str) -> bool:
        """Whether it lets this skip through, on this machine."""
        return nodeid.startswith(self.tests) and re.match(self.reason, reason) is not None and _holds(self.where)


@cache
def _holds(where: str) -> bool:
    return WHERE[where]()


def read(path: Path = LIST) -> list[Allowed]:
    """The list. ValueError where it names a condition that there is none."""
    allowed = [Allowed(**entry) for entry in tomllib.loads(path.read_text())["skip"]]
    if unknown := sorted({each.where for each in allowed} - WHERE.keys()):
        raise ValueError(f"{path.name}: no condition {', '.join(unknown)}: write one of {', '.join(WHERE)}")
    return allowed


NOT_ALLOWED = 8
"""pytest's exit status where a skip is not allowed, whatever else failed: none of its own."""


class Skips:
    """What one run skipped, told by all of its workers."""

    def __init__(self, *, judged: bool) -> None:
        self.judged, self.found = judged, dict[str, str]()
        self._allowed = read()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.skipped and not hasattr(report, "wasxfail"):
            self._note(report)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.skipped:
            self._note(report)

    def _note(self, report: pytest.TestReport | pytest.CollectReport) -> None:
        said = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
        self.found[report.nodeid] = said.removeprefix("Skipped: ")

    def by_line(self) -> dict[Allowed | None, dict[str, str]]:
        """Reasons by test, by the line that allows them; None allows nothing."""
        grouped: dict[Allowed | None, dict[str, str]] = {}
        for nodeid, reason in sorted(self.found.items()):
            line = next((each for each in self._allowed if each.covers(nodeid, reason)), None)
            grouped.setdefault(line, {})[nodeid] = reason
        return grouped

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        ended = (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED, pytest.ExitCode.NO_TESTS_COLLECTED)
        if self.judged and None in self.by_line() and session.exitstatus in ended:
            session.exitstatus = NOT_ALLOWED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        if not self.found:
            return
        say = terminalreporter.write_line
        terminalreporter.section("skipped")
        grouped = self.by_line()
        refused = grouped.pop(None, {})
        for line, tests in sorted(grouped.items(), key=lambda item: -len(item[1])):
            assert line
            say(f"{len(tests):5}  {next(iter(tests.values()))}")
            say(f"       allowed {'' if line.where == 'anywhere' else 'with '}{line.where}: {line.why}")
        for reason in sorted(set(refused.values())):
            names = [nodeid for nodeid, said in refused.items() if said == reason]
            say(f"{len(names):5}  {reason}", red=self.judged)
            say(
                f"       NOT allowed by tests/support/runs/{LIST.name} on this machine: {', '.join(names[:5])}",
                red=self.judged,
            )


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--judge-skips", action="store_true", help="fail where a skip is not allowed by tests/support/runs/skips.toml"
    )


def pytest_configure(config: pytest.Config) -> None:
    if not hasattr(config, "workerinput"):
        judged = bool(config.getoption("judge_skips")) or os.environ.get("CI", "").lower() in ("1", "true")
        config.pluginmanager.register(Skips(judged=judged), "framelane-skips")
