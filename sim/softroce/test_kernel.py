"""The guest's kernel: what of it is loaded in which order, and what is said where it cannot be had."""

import lzma
import os
import subprocess
import sys
from pathlib import Path

import pytest

import debian
import kernel
from errors_of_runs import CannotStart
from framelane.base.errors import ConfigError
from kernel_modules import in_load_order

VM = Path(__file__).with_name("machine") / "vm.py"


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A kernel's modules: a needs b-1 and c; b-1, which is compressed, c and d; e one that is not there; d is in it."""
    for name, depends in {"a": b"b_1,c", "b-1": b"c,d", "c": b"", "e": b"f"}.items():
        data = b"\x7fELF...\0license=GPL\0depends=" + depends + b"\0name=x\0"
        folder = tmp_path / "kernel" / name
        folder.mkdir(parents=True)
        if name == "b-1":
            (folder / f"{name}.ko.xz").write_bytes(lzma.compress(data))
        else:
            (folder / f"{name}.ko").write_bytes(data)
    (tmp_path / "modules.builtin").write_text("kernel/x/d.ko\nkernel/y/z-z.ko\n")
    return tmp_path


def test_a_module_is_loaded_once_and_after_all_that_it_needs(tree: Path) -> None:
    modules = in_load_order(tree, ["a", "c", "z_z", "b-1"])
    assert list(modules) == ["c", "b_1", "a"]
    assert modules["b_1"].startswith(b"\x7fELF")


def test_a_kernel_without_a_module_says_which(tree: Path) -> None:
    with pytest.raises(ConfigError, match="has no module f: take a Debian kernel that is not a cloud flavour"):
        in_load_order(tree, ["a", "e"])


@pytest.fixture
def nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    """The user who may not `apt-get update`."""
    if not debian.has_apt():
        pytest.skip("there is no apt-get here")
    monkeypatch.setattr(os, "geteuid", lambda: 1000)


def test_a_kernel_that_cannot_be_had_leaves_nothing_behind(
    nobody: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kernel, "_KERNELS", ("linux-image-of-no-kind",))
    with pytest.raises(CannotStart, match="apt knows none of linux-image-of-no-kind"):
        kernel.prepare(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["kernel.lock"]


def test_a_package_that_cannot_be_downloaded_is_named_with_apts_reason(nobody: None, tmp_path: Path) -> None:
    with pytest.raises(CannotStart, match=r"package busybox-of-no-kind cannot be downloaded \(E: Unable to locate"):
        debian.unpack("busybox-of-no-kind", tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_program_that_is_missing_is_named_with_its_package() -> None:
    tool = [sys.executable, str(VM), "--where", "machine", "--", "true"]
    result = subprocess.run(tool, env={"PATH": "/nowhere"}, capture_output=True, text=True, check=False)
    said = "softroce: qemu-system-x86_64 is missing: apt-get install qemu-system-x86"
    assert (result.returncode, result.stdout, result.stderr.count("\n")) == (2, "", 1)
    assert result.stderr.startswith(said)
