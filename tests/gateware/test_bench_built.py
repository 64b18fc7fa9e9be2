"""A bench's design is built once, and again when anything that it is built of has changed."""

import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import bench
from flat_ports import write_wrapper

DESIGN = """module thing (
    input logic clk,
    output logic [7:0] number_o
);
  import thing_pkg::*;
  assign number_o = 8'd1 + OFFSET;
endmodule
"""
PACKAGE = """package thing_pkg;
  parameter logic [7:0] OFFSET = 8'd4;
endpackage
"""
AXI = """typedef struct packed {
  logic [7:0] len;
} axi_read_request_t;
"""
COCOTB = """import os
import cocotb
from cocotb.triggers import Timer

@cocotb.test()
async def the_number_is_right(dut):
    await Timer(1, "ns")
    assert int(dut.number_o.value) == int(os.environ["NUMBER"])
"""


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A repository with one block and its testbench."""
    for folder in ("hw/rtl", "hw/roce_tx", "sim/dpi"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "hw/rtl/thing.sv").write_text(DESIGN)
    (tmp_path / "hw/rtl/thing_pkg.sv").write_text(PACKAGE)
    (tmp_path / "test_thing.py").write_text(COCOTB)
    monkeypatch.setattr(bench, "ROOT", tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(os, "environ", os.environ.copy())
    bench._tools.cache_clear()
    yield tmp_path
    sys.path_importer_cache.pop(str(tmp_path), None)
    bench._tools.cache_clear()


@pytest.fixture
def built(root: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[int], bool]:
    """Run the testbench, which wants this number; whether the design was built for it."""

    def run(number: int) -> bool:
        monkeypatch.setenv("NUMBER", str(number))
        bench.run("thing")
        return (root / "build/sim/thing.build.log").stat().st_size > 0

    return run


def changed_unseen(path: Path, old: str, new: str) -> None:
    """Change a file that has the same size and the same time afterwards."""
    before = path.stat()
    path.write_text(path.read_text().replace(old, new))
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


def test_what_has_not_changed_is_not_built_again(root: Path, built: Callable[[int], bool]) -> None:
    assert built(5)
    assert not built(5)
    for path in (root / "hw").rglob("*.sv"):
        path.touch()
    assert not built(5), "as in a checkout that is new"


def test_every_change_is_built(root: Path, built: Callable[[int], bool], monkeypatch: pytest.MonkeyPatch) -> None:
    (root / "sim/dpi/other.hpp").write_text("// a header")
    assert built(5)
    changed_unseen(root / "hw/rtl/thing_pkg.sv", "8'd4", "8'd6")
    assert built(7)
    assert not built(7)
    changed_unseen(root / "hw/rtl/thing.sv", "8'd1", "8'd2")
    assert built(8)
    changed_unseen(root / "sim/dpi/other.hpp", "a", "b")
    assert built(8), "what a harness may include"
    monkeypatch.setattr(bench, "version", lambda tool: "0.1")
    bench._tools.cache_clear()
    assert built(8), "another simulator"


def test_a_wrapper_that_is_right_stays_as_it_is(tmp_path: Path) -> None:
    """Another bench of the same design may be reading it."""
    (source := tmp_path / "thing.sv").write_text(f"\n{DESIGN}")
    (package := tmp_path / "axi_pkg.sv").write_text(AXI)
    path = write_wrapper(source, package, tmp_path)
    before = path.stat()
    assert write_wrapper(source, package, tmp_path).stat() == before
    changed_unseen(source, "number_o", "wanted_o")
    assert "wanted_o" in write_wrapper(source, package, tmp_path).read_text()
    assert {each.name for each in tmp_path.iterdir()} == {"thing.sv", "axi_pkg.sv", "thing_flat.sv"}


def test_a_build_that_fails_is_not_taken_for_the_one_before(root: Path, built: Callable[[int], bool]) -> None:
    assert built(5)
    (root / "hw/rtl/thing.sv").write_text(DESIGN.replace("assign", "asign"))
    for _ in range(2):
        with pytest.raises((RuntimeError, SystemExit)):
            built(5)
