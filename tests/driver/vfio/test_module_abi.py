"""What framelane's kernel module takes is as its own header has it: a program in C says so."""

import ctypes
import shutil
import subprocess
from pathlib import Path

import pytest

from framelane.base.errors import BoardError
from framelane.driver.pcie import module_device
from framelane.driver.pcie.module_device import ModuleDevice

KERNEL = Path(__file__).resolve().parents[3] / "kernel"
STRUCTURES = {"framelane_pcie_info": module_device._Info, "framelane_pcie_map": module_device._Map}
WITHIN = {"start": "memory.start", "bytes": "memory.bytes"}
"""Ours that are fields of a structure there."""


def test_requests_and_structures_are_those_of_the_header(tmp_path: Path) -> None:
    if not shutil.which("cc"):
        pytest.skip("there is no C compiler: apt-get install gcc")
    lines, ours = [], {}
    for name in ("INFO", "MAP", "UNMAP", "INTERRUPT"):
        lines.append(f'printf("{name} %lu\\n", (unsigned long)FRAMELANE_PCIE_{name});')
        ours[name] = getattr(module_device, name)
    for theirs, kind in STRUCTURES.items():
        lines.append(f'printf("{theirs} %zu\\n", sizeof(struct {theirs}));')
        ours[theirs] = ctypes.sizeof(kind)
        for field, *_ in kind._fields_:
            lines.append(f'printf("{theirs}.{field} %zu\\n", offsetof(struct {theirs}, {WITHIN.get(field, field)}));')
            ours[f"{theirs}.{field}"] = getattr(kind, field).offset
    lines.append('printf("shift %d\\n", FRAMELANE_PCIE_BAR_SHIFT);')
    ours["shift"] = module_device._BAR_SHIFT
    source = f'#include "{KERNEL / "framelane_pcie.h"}"\n#include <stddef.h>\n#include <stdio.h>\nint main(void) {{\n'
    (tmp_path / "abi.c").write_text(source + "\n".join(lines) + "\nreturn 0; }\n")
    subprocess.run(["cc", "-o", tmp_path / "abi", tmp_path / "abi.c"], check=True)
    said = subprocess.run([tmp_path / "abi"], check=True, capture_output=True, text=True).stdout
    assert {name: int(value) for name, value in (line.split() for line in said.splitlines())} == ours


def test_without_the_module_it_is_said_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(BoardError, match=r"No such file or directory: load the module, and bind the card to it"):
        ModuleDevice("0000:03:00.0", tmp_path)
    (tmp_path / "dev").mkdir()
    (tmp_path / "dev/framelane_pcie-0000:03:00.0").touch()
    with pytest.raises(BoardError, match="is not a file of framelane's module: Inappropriate ioctl for device"):
        ModuleDevice("0000:03:00.0", tmp_path)
