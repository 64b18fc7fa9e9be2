"""The contract of all transports on SoftRoCE, and what only verbs have: one guest, one boot, and so one test.

The tests themselves are in `contract_guest.py` and `verbs*_guest.py`; their names and failures are told here.
"""

from pathlib import Path

from pytest_in_guest import in_guest
from rdma_testbed import RdmaTestbed

AT_LEAST = {"contract_guest": 60, "verbs_guest": 12, "verbs_host_guest": 13}
"""How many tests of each file must have run."""


def test_everything_holds_on_the_linux_driver(testbed: RdmaTestbed, tmp_path: Path) -> None:
    results = in_guest(testbed, tmp_path, AT_LEAST)
    wrong = [f"{file}: {name}: {text}" for file, tests in results.items() for name, text in tests.items() if text]
    assert not wrong, "\n\n".join(wrong)
    assert {file: len(results[file]) >= least for file, least in AT_LEAST.items()} == dict.fromkeys(AT_LEAST, True)
