"""The contract of all transports on SoftRoCE, and what only verbs have: one guest, one boot, and so one test.

The tests themselves are in `contract_guest.py` and `verbs*_guest.py`; their names and failures are told here.
"""

import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

from rdma_testbed import RdmaTestbed
from run import Run

HERE = Path(__file__).with_name("guest")
AT_LEAST = {"contract_guest": 60, "verbs_guest": 12, "verbs_host_guest": 13}
"""How many tests of each file must have run."""
LIMIT_S = 300.0


def test_everything_holds_on_the_linux_driver(testbed: RdmaTestbed, tmp_path: Path) -> None:
    results = in_guest(testbed, tmp_path)
    wrong = [f"{file}: {name}: {text}" for file, tests in results.items() for name, text in tests.items() if text]
    assert not wrong, "\n\n".join(wrong)
    assert {file: len(results[file]) >= least for file, least in AT_LEAST.items()} == dict.fromkeys(AT_LEAST, True)


def in_guest(testbed: RdmaTestbed, share: Path) -> dict[str, dict[str, str]]:
    """By file, what was wrong with each of its tests: nothing where it has passed. Skipped is wrong too."""
    report = share / "contract.xml"
    options = ["-q", "--noconftest", "-p", "no:xdist", "-o", "cache_dir=/run/pytest", f"--junitxml={report}"]
    command = [sys.executable, "-m", "pytest", *options, *(str(HERE / f"{name}.py") for name in AT_LEAST)]
    with Run(testbed, command, share, timeout_s=LIMIT_S) as run:
        outcome = run.wait()
    if not report.is_file():
        pytest.fail(f"pytest did not run in {testbed.name}: {(outcome.stdout + outcome.stderr).decode()}")
    found: dict[str, dict[str, str]] = {name: {} for name in AT_LEAST}
    for case in ElementTree.parse(report).iter("testcase"):
        wrong = [f"{each.tag}: {each.text or each.get('message')}" for each in case if each.tag != "properties"]
        found[case.get("classname", "").rpartition(".")[2]][case.get("name", "")] = "\n".join(wrong)
    return found
