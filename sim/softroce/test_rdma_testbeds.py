"""Where commands run that are not in a machine: tested where the kernel has rdma_rxe, in the guest."""

import sys
from pathlib import Path

from rdma_testbed import RdmaTestbed
from run import Run

TESTS = Path(__file__).with_name("guest") / "in_guest.py"


def test_on_a_kernel_with_rxe_no_machine_is_needed(testbed: RdmaTestbed, tmp_path: Path) -> None:
    options = ["-q", "-p", "no:xdist", "-o", "cache_dir=/run/pytest"]
    with Run(testbed, [sys.executable, "-m", "pytest", *options, str(TESTS)], tmp_path) as run:
        outcome = run.wait()
    report = outcome.stdout.decode() + outcome.stderr.decode()
    assert outcome.status == 0, report
    assert "5 passed" in report, report
