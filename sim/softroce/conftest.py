"""Where the tests find SoftRoCE, and what they do where there is none."""

import os
from typing import NoReturn

import pytest

from errors_of_runs import CannotStart
from machine import Machine
from rdma_testbed import RdmaTestbed, choose


@pytest.fixture(scope="session")
def testbed() -> RdmaTestbed:
    """Where commands find an RDMA device; where there is none the test is skipped.

    With the variable FRAMELANE_SOFTROCE=required it fails instead (`make softroce`).
    """
    try:
        return choose("auto", Machine())
    except CannotStart as reason:
        _give_up(reason)


@pytest.fixture(scope="session")
def machine() -> Machine:
    """A virtual machine, also where it would not be needed; see `testbed`."""
    machine = Machine()
    try:
        machine.prepare()
    except CannotStart as reason:
        _give_up(reason)
    return machine


def _give_up(reason: CannotStart) -> NoReturn:
    if os.environ.get("FRAMELANE_SOFTROCE") == "required":
        pytest.fail(str(reason))
    pytest.skip(str(reason))
