"""What other build systems read of the gateware: that it is current, in order, and that FuseSoC runs it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from cocotb_tools.config import pygpi_entry_point
from find_libpython import find_libpython

import package
from framelane.driver.simulated.toolchain import verilator_environment
from sources import ROOT, in_order

RUNS = {"lint": "", "sim": "every_qp_keeps_its_own_psn_across_the_wrap"}
"""Targets of FuseSoC, and the cocotb test that each runs."""
if os.environ.get("FRAMELANE_WIDTHS", "all") == "all":
    RUNS["yosys_roce_tx"] = ""


def test_all_generated_files_are_current() -> None:
    assert package.outdated(ROOT, package.generated()) == [], "run make package"


def test_a_file_that_is_not_current_or_not_there_is_named(tmp_path: Path) -> None:
    (tmp_path / "a.f").write_text("old")
    files = {Path("a.f"): "new", Path("b.f"): "new"}
    assert package.outdated(tmp_path, files) == ["a.f", "b.f"]
    (tmp_path / "a.f").write_text("new")
    assert package.outdated(tmp_path, files) == ["b.f"]


def small(root: Path, **files: str) -> Path:
    (root / "hw" / "cells").mkdir(parents=True)
    for name, text in files.items():
        (root / "hw" / "cells" / f"{name}.sv").write_text(text)
    return root


def test_each_file_is_behind_what_it_uses_and_no_other_is_there(tmp_path: Path) -> None:
    root = small(
        tmp_path,
        top="module top import a_pkg::*; ();\n  low #(\n  ) u_low ();\n  // other u_other (\n  for (;;) begin\n"
        "    mid u_mid (.x(b_pkg::X));\n  end\nendmodule",
        **{"a_pkg": "package a_pkg; import b_pkg::*; endpackage", "b_pkg": "package b_pkg; endpackage"},
        **{"low": "module low; endmodule", "mid": "module mid;\n  low u_low ();\nendmodule", "other": "module other;"},
    )
    assert [path.stem for path in in_order(["top"], root)] == ["b_pkg", "a_pkg", "low", "mid", "top"]
    with pytest.raises(SystemExit, match=r"^there is no top absent: no file absent\.sv in hw/$"):
        in_order(["absent"], root)


def test_files_in_a_ring_are_named(tmp_path: Path) -> None:
    root = small(tmp_path, a="module a;\n  b u_b ();\n", b="module b;\n  a u_a ();\n")
    with pytest.raises(SystemExit, match=r"^a -> b -> a: these files use each other in a ring"):
        in_order(["a"], root)


def fusesoc(folder: Path, *words: str, testcase: str = "") -> str:
    """What a run of FuseSoC prints; the tools are those of this environment. Fails with it."""
    benches = (ROOT / "sim" / "cocotb" / name for name in ("support", "support/watching", "roce_tx"))
    environment = verilator_environment() | {
        "GPI_USERS": f"{find_libpython()};{pygpi_entry_point()}",  # which cocotb asks for, and edalize does not set
        "PYTHONPATH": os.pathsep.join(map(str, benches)),
        "COCOTB_TESTCASE": testcase,
    }
    environment["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{environment['PATH']}"
    command = ["fusesoc", "--cores-root", str(ROOT), "run", "--build-root", str(folder), *words, "framelane"]
    done = subprocess.run(
        command, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
    )
    assert done.returncode == 0, done.stdout
    return done.stdout


@pytest.mark.parametrize("target", list(RUNS))
def test_fusesoc_runs_a_target(tmp_path: Path, target: str) -> None:
    said = fusesoc(tmp_path, "--target", target, testcase=RUNS[target])
    assert "%Warning" not in said
    if target == "sim":
        assert "TESTS=1 PASS=1 FAIL=0 SKIP=0" in said
    if target.startswith("yosys"):
        (report,) = tmp_path.rglob("area.txt")
        assert "FDRE" in report.read_text()


def test_fusesoc_gives_vivado_all_files_in_their_order(tmp_path: Path) -> None:
    """Vivado is not here: its project's script alone is made."""
    fusesoc(tmp_path, "--setup", "--target", "synth")
    lines = [line for script in tmp_path.rglob("*.tcl") for line in script.read_text().splitlines()]
    read = [Path(line.split()[-1].strip("{}")).name for line in lines if line.startswith("read_verilog")]
    assert read == [*(path.name for path in in_order([package.WHOLE])), f"{package.WHOLE}_ip.v"]
