"""A bench is left out only if it passed on exactly the inputs that it has now, and read nothing else."""

import ast
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import bench_inputs
import cdc
import files_read
import lint_rtl
import recorded_benches
import records
from recorded_benches import BENCHES, INPUTS, SAMPLE_RUNS, Looking, Recording
from records import Made

ROOT = records.ROOT
JOIN = ROOT / "sim" / "cocotb" / "roce_tx" / "test_roce_join.py"
NO_GAP = ROOT / "sim" / "cocotb" / "mac" / "test_mac_port_outside.py"
DET_END = ROOT / "sim" / "cocotb" / "detector" / "test_det_end.py"
RING = ROOT / "sim" / "cocotb" / "rc" / "test_rc_ring.py"


def named(paths: frozenset[Path]) -> set[str]:
    return {str(path.relative_to(ROOT)) for path in paths}


def test_a_bench_depends_on_its_block_what_is_in_it_its_model_and_its_helpers() -> None:
    join, ring = named(bench_inputs.files(JOIN)), named(bench_inputs.files(RING))
    both = {"sim/cocotb/support/bench.py", "sim/cocotb/support/watching/axi_rules.py", "hw/rtl/axi_pkg.sv"}
    assert both <= join & ring
    assert {
        "hw/roce_tx/roce_join.sv",
        "hw/roce_tx/roce_pkg.sv",
        "models/roce_tx/roce_join.py",
        "models/cells/axis.py",
    } <= join
    assert "hw/rtl/rc/rc_ring.sv" in ring
    assert "hw/rtl/rc/rc_pkg.sv" in ring - join, "a package matters where it is named"
    assert "hw/roce_tx/roce_join.sv" not in ring
    assert "sim/cocotb/support/watching/files_read.py" not in join
    assert not {name for name in join if name.startswith(("hw/rtl/rc/rc_r", "sw/receiver/", "sim/softroce/"))}


def test_the_top_of_a_harness_and_data_of_a_model_are_found() -> None:
    tx = named(bench_inputs.files(ROOT / "sim" / "cocotb" / "test_tx.py"))
    assert "docs/integrating/no_gap.json" in named(bench_inputs.files(NO_GAP))
    assert "sw/packets/detectors/jungfrau.toml" in named(bench_inputs.files(DET_END))
    assert {"sim/dpi/tx_board.sv", "hw/rtl/tx.sv", "hw/roce_tx/roce_join.sv"} <= tx


def test_cpp_belongs_to_benches_that_name_some_or_have_a_module_that_calls_it() -> None:
    library, hls = "sim/dpi/mac/mac_port_library.cpp", "hw/hls/jf_correct.cpp"
    for bench in ("test_tx.py", "test_tx_with_rc.py", "test_tx_with_rc_many.py", "jungfrau/test_jf_correct.py"):
        assert {library, hls, "sim/dpi/board.hpp"} <= named(bench_inputs.files(ROOT / "sim" / "cocotb" / bench)), bench
    others = bench_inputs.files(JOIN) | bench_inputs.files(NO_GAP)
    assert not {path.suffix for path in others} & {".cpp", ".hpp", ".h"}


def test_any_change_of_an_input_is_another_digest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bench_inputs, "ROOT", tmp_path)
    gateware, python = tmp_path / "block.sv", tmp_path / "test_block.py"
    monkeypatch.setattr(bench_inputs, "files", lambda module: frozenset({gateware, python}))

    def digest(sv: str, py: str, nodeid: str = "test") -> str:
        bench_inputs._contents.cache_clear()
        gateware.write_text(sv)
        python.write_text(py)
        return bench_inputs.digest(python, nodeid)

    before = digest("assign a = b;", "x = 7 // 2")
    assert digest("assign  a = b;  // why", "x = 7 // 2") == before, "comments and spaces of gateware do not count"
    others = {
        digest("assign a = c;", "x = 7 // 2"),
        digest("assign a = b;", "x = 7 // 3"),
        digest("assign a = b;", "x = 7 // 2", "test[64]"),
    }
    assert len(others | {before}) == 4


def test_a_file_of_the_type_checker_alone_is_not_imported() -> None:
    source = "if TYPE_CHECKING:\n    from a import b\nelse:\n    import c\ndef f():\n    from d.e import g\n"
    assert list(bench_inputs._names([ast.parse(source)])) == ["c", "d.e.g"]


NAMES = [f"{BENCHES}test_{k}.py::test" for k in range(20)]


@pytest.fixture
def record(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Twenty recorded tests, with the digests of their names; the file of the record."""
    path = tmp_path / "benches.json"
    monkeypatch.setattr(recorded_benches, "RECORD", path)
    monkeypatch.setattr(recorded_benches, "digest", lambda nodeid: f"of {nodeid}")
    monkeypatch.setattr(recorded_benches, "_is_there", lambda nodeid: True)
    records.write(path, {}, {name: Made(f"of {name}", 1000) for name in NAMES})
    return path


def test_what_is_recorded_is_left_out_but_for_a_sample(record: Path) -> None:
    fits = recorded_benches.fitting()
    left = recorded_benches.left([*NAMES, f"{BENCHES}test_new.py::test", "tests/test_other.py::test"], fits, [])
    assert left < set(NAMES)
    assert len(left) == len(NAMES) - SAMPLE_RUNS


def test_a_bench_of_changed_inputs_runs(record: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recorded_benches, "digest", lambda nodeid: "" if nodeid in NAMES[:15] else f"of {nodeid}")
    fits = recorded_benches.fitting()
    assert fits.keys() == set(NAMES[15:])
    assert recorded_benches.left(NAMES, fits, []) == set()


def test_a_bench_of_a_file_that_the_commit_changes_runs(record: Path) -> None:
    fits = recorded_benches.fitting()
    for k in range(20):
        assert NAMES[k] not in recorded_benches.left(NAMES, fits, [f"hw/rtl/{k}.sv"])


def test_a_bench_that_fails_leaves_the_record(record: Path) -> None:
    recording = Recording()
    for name, when, outcome in (
        (NAMES[0], "call", "failed"),
        (NAMES[1], "call", "passed"),
        (NAMES[1], "teardown", "failed"),
        (NAMES[2], "call", "skipped"),
        ("sim/cocotb/test_new.py::test", "call", "passed"),
    ):
        report = pytest.TestReport(name, ("", 0, ""), {}, outcome, None, when, user_properties=[(INPUTS, "new")])  # type: ignore[arg-type]
        recording.pytest_runtest_logreport(report)
    recording.pytest_sessionfinish()
    assert records.read(record).keys() == {*NAMES[2:], "sim/cocotb/test_new.py::test"}


@pytest.mark.parametrize("name", ["COCOTB_TEST_FILTER", "FRAMELANE_SEED", "FRAMELANE_EVENTS"])
def test_a_variable_that_changes_benches_is_seen(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for each in recorded_benches.others_set():
        monkeypatch.delenv(each)
    monkeypatch.setenv("FRAMELANE_WIDTHS", "commit")
    assert recorded_benches.others_set() == []
    monkeypatch.setenv(name, "1")
    assert recorded_benches.others_set() == [name]


class Item:
    """As much of a test as is looked at."""

    def __init__(self, module: Path) -> None:
        self.path = module
        self.nodeid = f"{module.relative_to(ROOT)}::test"
        self.user_properties: list[tuple[str, str]] = []


def run(item: Any, *read: Path) -> list[tuple[str, str]]:
    """Run a bench that reads these files; the properties that the plugin gives it."""
    call = Looking().pytest_runtest_call(item)
    next(call)
    files_read.note(map(str, read))
    with pytest.raises(StopIteration):
        call.send(None)
    assert files_read.VARIABLE not in os.environ
    return list(item.user_properties)


def test_a_bench_that_reads_its_inputs_is_recorded() -> None:
    item = Item(JOIN)
    ours = (JOIN, ROOT / "hw" / "roce_tx" / "roce_join.sv", ROOT / "build" / "x", Path("/proc/self/status"))
    assert run(item, *ours) == [(INPUTS, recorded_benches.digest(item.nodeid))]


@pytest.mark.parametrize("other", ["hw/rtl/rc/rc_ring.sv", "sw/receiver/__init__.py"])
def test_a_bench_that_reads_anything_else_fails(other: str) -> None:
    with pytest.raises(pytest.fail.Exception, match=rf"read {other}, not among its inputs"):
        run(Item(JOIN), JOIN, ROOT / other)


def test_a_test_without_a_simulation_is_not_recorded() -> None:
    assert run(Item(JOIN)) == []


def test_inputs_that_change_in_the_run_are_not_recorded(monkeypatch: pytest.MonkeyPatch) -> None:
    digests = iter(["before", "after"])
    monkeypatch.setattr(recorded_benches, "digest", lambda nodeid: next(digests))
    assert run(Item(JOIN), JOIN) == []


def test_bytecode_is_its_source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(files_read.VARIABLE, str(tmp_path / "read"))
    cached = JOIN.parent / "__pycache__"
    files_read.note(
        [str(cached / f"{JOIN.stem}.cpython-311.pyc"), str(cached / f"{JOIN.stem}.cpython-311-pytest-9.pyc")]
    )
    assert files_read.read(tmp_path / "read") == {JOIN}


def test_lint_looks_at_what_has_changed_and_a_sample(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lint_rtl, "CLEAN", tmp_path / "none.json")
    made = {f"hw/{k}.sv": str(k) for k in range(50)}
    record = {name: Made(number, 1) for name, number in made.items()} | {"hw/0.sv": Made("old", 1)}
    done = lint_rtl.known(made, record)
    assert len(done) == 49 - lint_rtl.SAMPLE_RUNS
    assert "hw/0.sv" not in done
    (tmp_path / "none.json").write_text('{"hw/0.sv": "0", "hw/1.sv": "old"}')
    assert {"hw/0.sv"} <= lint_rtl.known(made, {}) == {"hw/0.sv"}


def test_lint_calls_clean_only_what_it_has_looked_at(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    looked_at: list[Path] = []

    def elaborate(top: Path, sources: list[Path]) -> subprocess.CompletedProcess[str]:
        looked_at.append(top)
        return subprocess.CompletedProcess([], int(top.stem == "roce_join"), "", "")

    def run(*arguments: str) -> set[Path]:
        looked_at.clear()
        monkeypatch.setattr(sys, "argv", ["lint_rtl.py", *arguments])
        assert lint_rtl.main() == int("roce_join" in {top.stem for top in looked_at})
        return set(looked_at)

    monkeypatch.setattr(lint_rtl, "elaborate", elaborate)
    monkeypatch.setattr(lint_rtl, "verible", lambda sources: subprocess.CompletedProcess([], 0, "", ""))
    monkeypatch.setattr(lint_rtl, "CLEAN", tmp_path / "clean.json")
    monkeypatch.setattr(lint_rtl, "RECORD", tmp_path / "lint.json")
    (broken,) = {top for top in run("--record") if top.stem == "roce_join"}
    assert run() == {broken}, "all others are clean here"
    (tmp_path / "clean.json").unlink()
    sample = run()
    assert len(sample) == lint_rtl.SAMPLE_RUNS + 1
    everything = run("--all")
    (tmp_path / "clean.json").unlink()
    assert run() == sample
    (tmp_path / "lint.json").unlink()
    assert run() == everything - sample | {broken}


def test_crossings_are_looked_at_where_anything_has_changed_and_of_a_sample() -> None:
    wanted = [("cdc_axis", {"DataW": width}) for width in (8, 16, 32, 64)]
    record = {cdc.named(block, built): Made(cdc.inputs(block, built), 1) for block, built in wanted}
    assert len(cdc.recorded(wanted, record)) == len(wanted) - cdc.SAMPLE_RUNS
    assert cdc.recorded(wanted, {name: Made("old", 1) for name in record}) == {}
    assert len({made.inputs for made in record.values()}) == 4


def test_what_a_simulation_imports_and_opens_is_noted_and_not_what_is_read_for_a_stamp(tmp_path: Path) -> None:
    opened = ROOT / "sw" / "packets" / "detectors" / "jungfrau.toml"
    program = (
        "import framelane.models.cells.axis, files_read; files_read.note_python()\n"
        f"import framelane.packets.pcap; open({str(opened)!r}).close()"
    )
    variables = {files_read.VARIABLE: str(tmp_path / "read"), "COCOTB_TEST_MODULES": "test_any"}
    path = {"PYTHONPATH": str(Path(files_read.__file__).parent)}
    subprocess.run([sys.executable, "-c", program], check=True, env=os.environ | variables | path)
    read = named(frozenset(files_read.read(tmp_path / "read")))
    assert {"models/cells/axis.py", "sw/packets/pcap.py", "sw/packets/_pcap_records.py"} < read
    assert str(opened.relative_to(ROOT)) in read
    assert not {name for name in read if name.startswith("sw/control/")}, "all sources, for numba's cache"
