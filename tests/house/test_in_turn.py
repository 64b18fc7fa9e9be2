"""Each commit runs a part of the longest tests, and all of them have their turn."""

import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import in_turn

ROOT = Path(__file__).resolve().parents[2]
TURNS = [
    {"tests": ["a.py::", "b.py::"], "one_in": 2},
    {"tests": ["c.py::test_seeds[", "e.py::"], "each": True, "one_in": 4},
    {"tests": ["f.py::", "g.py::"], "one_in": 4, "none": 2},
]
TESTS = [
    "a.py::x",
    "a.py::y",
    "b.py::x",
    *(f"c.py::test_seeds[{n}]" for n in range(9)),
    "c.py::other",
    "d.py::x",
    "e.py::x",
    "e.py::y",
    "f.py::x",
    "g.py::x",
]


def test_each_commit_has_its_part_and_all_have_their_turn() -> None:
    runs = [set(TESTS) - in_turn.left(TESTS, TURNS, number) for number in range(100)]
    for run in runs:
        assert {"c.py::other", "d.py::x"} < run
        assert ("a.py::x" in run) == ("a.py::y" in run) != ("b.py::x" in run)
        assert sum(name.startswith("c.py::test_seeds") for name in run) == 3, "one in four of nine, and no fewer"
        assert ("e.py::x" in run) != ("e.py::y" in run), "of each line its own part"
    assert [len({"f.py::x", "g.py::x"} & run) for run in runs].count(0) == 50, "two of four commits have none"
    assert not [run for run in runs if {"f.py::x", "g.py::x"} <= run]
    for first in range(97):
        assert set().union(*runs[first : first + 4]) == set(TESTS), "as many commits as one_in says run all"


def test_a_change_of_what_a_turn_is_of_runs_all_of_it() -> None:
    turns = [{"tests": ["a.py::", "b.py::"], "one_in": 2, "of": ["hw/", "boards/"]}, TURNS[2]]
    for changed in (["hw/rtl/tx.sv"], ["README.md", "boards/ecpix_5/board.toml"]):
        assert in_turn.waiting(turns, changed) == TURNS[2:]
    for changed in ([], ["README.md", "sw/hw/x.py"]):
        assert in_turn.waiting(turns, changed) == turns


@pytest.mark.parametrize(("changed", "left"), [("sw/base/lanes.py", 1), ("hw/rtl/tx.sv", 0)])
def test_a_run_leaves_nothing_of_such_a_turn(monkeypatch: pytest.MonkeyPatch, changed: str, left: int) -> None:
    turns = [{"tests": ["a.py::", "b.py::"], "one_in": 2, "of": ["hw/"]}]
    monkeypatch.setattr(in_turn, "read", lambda: turns)
    monkeypatch.setattr(in_turn, "changes", lambda commit: [changed])
    items: list[Any] = [SimpleNamespace(nodeid=nodeid) for nodeid in ("a.py::x", "b.py::x", "c.py::x")]
    deselected: list[Any] = []
    hook = SimpleNamespace(pytest_deselected=lambda items: deselected.extend(items))
    config: Any = SimpleNamespace(hook=hook)
    in_turn.InTurn("a commit", 0).pytest_collection_modifyitems(config, items)
    assert (len(items), len(deselected)) == (3 - left, left)


def test_what_a_commit_changes_is_not_left() -> None:
    nodeids = ["sim/test_arp.py::x", "tests/test_demo.py::x", "tests/test_demo.py::y", "tests/test_other.py::x"]
    assert in_turn.of_changes(nodeids, []) == set()
    benches = ["sim/test_rc.py::x", "sim/test_rc_careless.py::x", "sim/test_rcx.py::x", "tests/test_rc_live.py::x"]
    assert in_turn.of_changes(benches, ["hw/rtl/rc/rc.sv"]) == set(benches[:2])
    assert in_turn.of_changes(benches, ["models/rc.py"]) == set(benches[:1])
    assert in_turn.of_changes(nodeids, ["hw/rtl/arp.sv"]) == {"sim/test_arp.py::x"}
    assert in_turn.of_changes(nodeids, ["docs/demo.md", "tests/test_other.py"]) == set(nodeids[1:])
    tool, other = "tests/gateware/test_mutations.py::x", "tests/gateware/test_mirror.py::x"
    assert in_turn.of_changes([tool, other], ["scripts/faults/same_netlist.py"]) == {tool}
    assert in_turn.of_changes([tool, other], ["sw/base/same_netlist.py"]) == set()


def test_a_change_in_sw_runs_the_tests_of_its_folder_and_what_imports_it() -> None:
    live, ring = "tests/receiver/live/test_ranks.py::x", "tests/receiver/ring/test_receiver_strays.py::x"
    replay, kernels = "tests/source/test_replay.py::x", "tests/receiver/gpu/test_gpu_compile.py::x"
    nodeids = [live, ring, replay, kernels]
    assert in_turn.of_changes(nodeids, ["sw/receiver/live/live_loop.py"]) == {live}
    assert in_turn.of_changes(nodeids, ["sw/receiver/live/a/b/new.py"]) == {live}, "no folder of tests has its name"
    assert in_turn.of_changes(nodeids, ["sw/receiver/ring/ring.py"]) == {ring, replay}, "the last imports it"
    assert in_turn.of_changes(nodeids, ["models/roce_tx/wire.py"]) == {ring}
    assert in_turn.of_changes(nodeids, ["sw/receiver/gpu/kernels/new.cu"]) == {kernels}
    assert in_turn.of_changes(nodeids, ["sw/cli/recv/recv.py", "sw/receiver/ranks/ranks.py"]) == {live}
    assert in_turn.of_changes(nodeids, ["tests/support/mpi_run.py"]) == {live}
    assert in_turn.of_changes(nodeids, ["sw/base/lanes.py", "docs/index.md"]) == set()


def test_a_package_and_a_module_by_its_full_name_are_found(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(in_turn, "gateware_root", lambda: tmp_path)
    texts = {"test_a.py": "import framelane.x.y as y\n", "test_b.py": "from framelane.models.x import z\n"}
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
    first, second = "test_a.py::x", "test_b.py::x"
    assert in_turn.of_changes([first, second], ["sw/x/y.py"]) == {first}
    assert in_turn.of_changes([first, second], ["models/x/z/__init__.py"]) == {second}
    assert in_turn.of_changes([first, second], ["models/x/__init__.py"]) == {second}
    assert in_turn.of_changes([first, second], ["sw/x/__init__.py", "scripts/y.py"]) == set()


def test_a_name_that_a_package_exports_is_found(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for cached in (in_turn.imported, in_turn.exports):
        cached.cache_clear()
    monkeypatch.setattr(in_turn, "gateware_root", lambda: tmp_path)
    (tmp_path / "sw/x").mkdir(parents=True)
    (tmp_path / "sw/x/__init__.py").write_text(
        "if TYPE_CHECKING:\n    from framelane.x.y import z\n    from framelane.x.v import load as read\n"
    )
    (tmp_path / "test_c.py").write_text("from framelane.x import read\n")
    (tmp_path / "test_d.py").write_text("def f():\n    from framelane.x import other, z\n")
    third, fourth = "test_c.py::x", "test_d.py::x"
    assert in_turn.of_changes([third, fourth], ["sw/x/v.py"]) == {third}
    assert in_turn.of_changes([third, fourth], ["sw/x/y.py"]) == {fourth}
    assert in_turn.of_changes([third, fourth], ["sw/x/w.py", "sw/x/load.py"]) == set()


def test_public_names_are_those_of_their_modules() -> None:
    exported = in_turn.exports("framelane.receiver")
    assert exported["receive"] == "framelane.receiver.live.reception"
    assert exported["read_geometry"] == "framelane.receiver.geometry.geometry_file"
    assert in_turn.exports("framelane.receiver.live.reception") == in_turn.exports("numpy") == {}


def test_what_is_asked_for_alone_runs() -> None:
    for name in TESTS:
        assert in_turn.left([name], TURNS, 17) == set()


def test_no_test_is_in_two_turns() -> None:
    starts = [start for turn in in_turn.read() for start in turn["tests"]]
    assert not [(a, b) for a in starts for b in starts if a is not b and a.startswith(b)]


@pytest.mark.parametrize("turn", in_turn.read(), ids=lambda turn: str(turn["tests"][0]))
def test_the_list_is_of_tests_that_there_are(turn: dict[str, object]) -> None:
    assert set(turn) - {"each", "none", "of"} == {"tests", "one_in", "why"}
    of = turn.get("of", [])
    assert isinstance(of, list)
    assert [path for path in of if not (ROOT / path).exists()] == []
    starts = turn["tests"]
    assert isinstance(starts, list)
    for start in starts:
        path, _, name = start.partition("::")
        assert f"def {name.partition('[')[0]}" in (ROOT / path).read_text(), start


def test_only_a_run_of_one_commit_leaves_any() -> None:
    def collected(**environment: str) -> str:
        command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "tests/house/test_in_turn.py", *files]
        clean = {name: value for name, value in os.environ.items() if name != "FRAMELANE_WIDTHS"}
        return subprocess.run(
            command, cwd=ROOT, env=clean | environment, capture_output=True, text=True, timeout=120
        ).stdout

    files = ["tests/demo/test_report.py"]
    assert "deselected" not in collected()
    assert "deselected" not in collected(FRAMELANE_WIDTHS="all")
    assert "deselected" in collected(FRAMELANE_WIDTHS="commit")
