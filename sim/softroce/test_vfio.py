"""VFIO, and framelane's kernel module, on a real kernel with an emulated IOMMU and a device that writes memory."""

import os
import shutil
from pathlib import Path

import pytest

import module_build
from errors_of_runs import CannotStart
from machine import Machine
from pytest_in_guest import in_guest


def test_a_device_writes_where_it_may_and_nowhere_else(tmp_path: Path) -> None:
    machine = Machine(vfio=True)
    try:
        machine.prepare()
        shutil.copy(module_build.module(), tmp_path / "framelane_pcie.ko")
    except CannotStart as reason:
        if os.environ.get("FRAMELANE_SOFTROCE") == "required":
            raise
        pytest.skip(str(reason))
    results = in_guest(machine, tmp_path, ("vfio_guest", "module_guest"))
    wrong = [f"{name}: {text}" for tests in results.values() for name, text in tests.items() if text]
    assert not wrong, "\n\n".join(wrong)
    assert {file: len(tests) for file, tests in results.items()} == {"vfio_guest": 6, "module_guest": 6}
