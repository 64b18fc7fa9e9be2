"""VFIO on a real kernel: a guest with an emulated IOMMU and a device that writes memory. One boot, one test."""

import os
from pathlib import Path

import pytest

from errors_of_runs import CannotStart
from machine import Machine
from pytest_in_guest import in_guest


def test_a_device_writes_where_it_may_and_nowhere_else(tmp_path: Path) -> None:
    machine = Machine(vfio=True)
    try:
        machine.prepare()
    except CannotStart as reason:
        if os.environ.get("FRAMELANE_SOFTROCE") == "required":
            raise
        pytest.skip(str(reason))
    results = in_guest(machine, tmp_path, ("vfio_guest",))["vfio_guest"]
    wrong = [f"{name}: {text}" for name, text in results.items() if text]
    assert not wrong, "\n\n".join(wrong)
    assert len(results) == 6
