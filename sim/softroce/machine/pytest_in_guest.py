"""Test files that run in a guest, and what was wrong there."""

import sys
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterable
from pathlib import Path

from errors_of_runs import GuestEnded
from rdma_testbed import RdmaTestbed
from run import Run

HERE = Path(__file__).resolve().parents[1] / "guest"
LIMIT_S = 300.0


def in_guest(testbed: RdmaTestbed, share: Path, files: Iterable[str]) -> dict[str, dict[str, str]]:
    """By file, what was wrong with each of its tests: nothing where it has passed. Skipped is wrong too."""
    files = tuple(files)
    report = share / "contract.xml"
    options = ["-q", "--noconftest", "-p", "no:xdist", "-o", "cache_dir=/run/pytest", f"--junitxml={report}"]
    command = [sys.executable, "-m", "pytest", *options, *(str(HERE / f"{name}.py") for name in files)]
    with Run(testbed, command, share, timeout_s=LIMIT_S) as run:
        outcome = run.wait()
    if not report.is_file():
        raise GuestEnded(f"pytest did not run in {testbed.name}: {(outcome.stdout + outcome.stderr).decode()}")
    found: dict[str, dict[str, str]] = {name: {} for name in files}
    for case in ElementTree.parse(report).iter("testcase"):
        wrong = [f"{each.tag}: {each.text or each.get('message')}" for each in case if each.tag != "properties"]
        found[case.get("classname", "").rpartition(".")[2]][case.get("name", "")] = "\n".join(wrong)
    return found
