"""What a commit changes is found, its tests too, and no others."""

import subprocess
from pathlib import Path

import pytest

import changed


def test_what_a_commit_changes_is_not_left() -> None:
    nodeids = ["sim/test_arp.py::x", "tests/test_demo.py::x", "tests/test_demo.py::y", "tests/test_other.py::x"]
    assert changed.tests(nodeids, []) == set()
    benches = ["sim/test_rc.py::x", "sim/test_rc_careless.py::x", "sim/test_rcx.py::x", "tests/test_rc_live.py::x"]
    assert changed.tests(benches, ["hw/rtl/rc/rc.sv"]) == set(benches[:2])
    assert changed.tests(benches, ["models/rc.py"]) == set(benches[:1])
    assert changed.tests(nodeids, ["hw/rtl/arp.sv"]) == {"sim/test_arp.py::x"}
    assert changed.tests(nodeids, ["docs/demo.md", "tests/test_other.py"]) == set(nodeids[1:])
    tool, other = "tests/gateware/test_mutations.py::x", "tests/gateware/test_mirror.py::x"
    assert changed.tests([tool, other], ["scripts/faults/same_netlist.py"]) == {tool}
    assert changed.tests([tool, other], ["sw/base/same_netlist.py"]) == set()


def test_a_change_in_sw_runs_the_tests_of_its_folder_and_what_imports_it() -> None:
    live, ring = "tests/receiver/live/test_ranks.py::x", "tests/receiver/ring/test_receiver_strays.py::x"
    replay, kernels = "tests/source/test_replay.py::x", "tests/receiver/gpu/test_gpu_compile.py::x"
    nodeids = [live, ring, replay, kernels]
    assert changed.tests(nodeids, ["sw/receiver/live/live_loop.py"]) == {live}
    assert changed.tests(nodeids, ["sw/receiver/live/a/b/new.py"]) == {live}, "no folder of tests has its name"
    assert changed.tests(nodeids, ["sw/receiver/ring/ring.py"]) == {ring, replay}, "the last imports it"
    assert changed.tests(nodeids, ["models/roce_tx/wire.py"]) == {ring}
    assert changed.tests(nodeids, ["sw/receiver/gpu/kernels/new.cu"]) == {kernels}
    assert changed.tests(nodeids, ["sw/cli/recv/recv.py", "sw/receiver/ranks/ranks.py"]) == {live}
    assert changed.tests(nodeids, ["tests/support/mpi_run.py"]) == {live}
    assert changed.tests(nodeids, ["sw/base/lanes.py", "docs/index.md"]) == set()


def test_a_package_and_a_module_by_its_full_name_are_found(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(changed, "gateware_root", lambda: tmp_path)
    texts = {"test_a.py": "import framelane.x.y as y\n", "test_b.py": "from framelane.models.x import z\n"}
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
    first, second = "test_a.py::x", "test_b.py::x"
    assert changed.tests([first, second], ["sw/x/y.py"]) == {first}
    assert changed.tests([first, second], ["models/x/z/__init__.py"]) == {second}
    assert changed.tests([first, second], ["models/x/__init__.py"]) == {second}
    assert changed.tests([first, second], ["sw/x/__init__.py", "scripts/y.py"]) == set()


def test_a_name_that_a_package_exports_is_found(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for cached in (changed.imported, changed.exports):
        cached.cache_clear()
    monkeypatch.setattr(changed, "gateware_root", lambda: tmp_path)
    (tmp_path / "sw/x").mkdir(parents=True)
    (tmp_path / "sw/x/__init__.py").write_text(
        "if TYPE_CHECKING:\n    from framelane.x.y import z\n    from framelane.x.v import load as read\n"
    )
    (tmp_path / "test_c.py").write_text("from framelane.x import read\n")
    (tmp_path / "test_d.py").write_text("def f():\n    from framelane.x import other, z\n")
    third, fourth = "test_c.py::x", "test_d.py::x"
    assert changed.tests([third, fourth], ["sw/x/v.py"]) == {third}
    assert changed.tests([third, fourth], ["sw/x/y.py"]) == {fourth}
    assert changed.tests([third, fourth], ["sw/x/w.py", "sw/x/load.py"]) == set()


def test_public_names_are_those_of_their_modules() -> None:
    exported = changed.exports("framelane.receiver")
    assert exported["receive"] == "framelane.receiver.live.reception"
    assert exported["read_geometry"] == "framelane.receiver.geometry.geometry_file"
    assert changed.exports("framelane.receiver.live.reception") == changed.exports("numpy") == {}


def test_files_of_a_commit_of_a_merge_and_of_work_that_is_not_committed(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def git(*arguments: str) -> None:
        named = ("-c", "user.name=a", "-c", "user.email=a@b", "-c", "init.defaultBranch=main")
        subprocess.run(["git", *named, "-C", str(tmp_path), *arguments], check=True, capture_output=True, timeout=60)

    def commit(name: str) -> None:
        (tmp_path / name).write_text("a")
        git("add", ".")
        git("commit", "-q", "-m", "a")

    monkeypatch.setattr(changed, "gateware_root", lambda: tmp_path)
    assert changed.files() == []
    git("init", "-q")
    commit(".gitignore")
    assert changed.files() == [], "the first has no parent"
    commit("first")
    assert changed.files() == ["first"]
    git("checkout", "-q", "-b", "side")
    commit("a name \u00e4")
    commit("other")
    assert changed.files() == ["other"]
    git("checkout", "-q", "main")
    commit("second")
    git("merge", "-q", "-m", "a", "side")
    assert changed.files() == ["a name \u00e4", "other"], "all that comes with it"
    (tmp_path / "second").chmod(0o755)
    assert changed.files() == ["a name \u00e4", "other"], "permissions are no change"
    (tmp_path / ".gitignore").write_text("ignored")
    for name in ("ignored", "new", "first"):
        (tmp_path / name).write_text("b")
    assert sorted(changed.files()) == [".gitignore", "a name \u00e4", "first", "new", "other"]
