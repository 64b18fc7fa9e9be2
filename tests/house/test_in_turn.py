"""Each commit runs a part of the longest tests, all commits about as much, and all tests have their turn."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import changed
import in_turn
import widths

ROOT = Path(__file__).resolve().parents[2]
TURNS: list[dict[str, Any]] = [
    {"tests": {"a.py::": 20, "b.py::": 10, "g.py::": 22}, "every": 4, "of": ["hw/", "boards/"]},
    {"tests": {"c.py::test_seeds[": 30, "e.py::": 4}, "each": True, "every": 4},
    {"tests": {"f.py::": 7}, "every": 2},
]
SEEDS = [f"c.py::test_seeds[{n}]" for n in range(10)]
LONG = ["a.py::x", "a.py::y", "b.py::x", *SEEDS, "e.py::x", "e.py::y", "f.py::x", "g.py::x"]
TESTS = [*LONG, "c.py::other", "d.py::x"]


def test_each_commit_has_its_part_and_all_have_their_turn() -> None:
    runs = [set(TESTS) - in_turn.left(TESTS, TURNS, number) for number in range(20)]
    for run in runs:
        assert {"c.py::other", "d.py::x"} < run
        assert ("a.py::x" in run) == ("a.py::y" in run)
    for first in range(16):
        for turn in TURNS:
            every = turn["every"]
            for name in (name for name in LONG if name.startswith(tuple(turn["tests"]))):
                assert sum(name in run for run in runs[first : first + every]) == 1


def test_all_commits_have_about_as_much() -> None:
    rounds = in_turn.commits(in_turn.choices(TESTS, TURNS))
    seconds = [sum(choice.seconds for choice in each) for each in rounds]
    assert sum(seconds) == 20 + 10 + 22 + 10 * 3 + 2 * 2 + 2 * 7
    assert max(seconds) - min(seconds) <= 3, "no more than the shortest that could be elsewhere"


def test_a_change_of_what_a_turn_is_of_runs_all_of_it() -> None:
    for files in (["hw/rtl/tx.sv"], ["README.md", "boards/ecpix_5/board.toml"]):
        assert in_turn.of_files(TESTS, TURNS, files) == {"a.py::x", "a.py::y", "b.py::x", "g.py::x"}
    for files in ([], ["README.md", "sw/hw/x.py"]):
        assert in_turn.of_files(TESTS, TURNS, files) == set()


class Hook:
    """What pytest is told of."""

    def __init__(self) -> None:
        self.deselected: list[Any] = []

    def pytest_deselected(self, items: list[Any]) -> None:
        """Note them."""
        self.deselected += items


class Named:
    """A test, or a configuration."""

    def __init__(self, **values: Any) -> None:
        self.__dict__ |= values


@pytest.mark.parametrize(
    ("files", "run"),
    [
        ([], {"c.py::other", "d.py::x"}),
        (["hw/rtl/tx.sv"], {"a.py::x", "a.py::y", "b.py::x", "g.py::x"}),
        (["test_c.py", "test_f.py"], {*SEEDS, "f.py::x"}),
    ],
)
def test_a_run_leaves_nothing_of_what_the_commit_changes(
    monkeypatch: pytest.MonkeyPatch, files: list[str], run: set[str]
) -> None:
    monkeypatch.setattr(in_turn, "read", lambda: TURNS)
    monkeypatch.setattr(changed, "files", lambda commit: files)
    monkeypatch.setattr(changed, "tests", lambda nodeids, files: {n for n in nodeids if f"test_{n[0]}.py" in files})
    for number in range(4):
        items: list[Any] = [Named(nodeid=nodeid) for nodeid in TESTS]
        hook = Hook()
        config: Any = Named(hook=hook)
        in_turn.InTurn(number).pytest_collection_modifyitems(config, items)
        ran = {item.nodeid for item in items}
        assert ran >= run
        assert ran | {item.nodeid for item in hook.deselected} == set(TESTS)
        assert len(items) + len(hook.deselected) == len(TESTS)
        assert hook.deselected


def test_no_test_is_in_two_turns() -> None:
    starts = [start for turn in in_turn.read() for start in turn["tests"]]
    assert not [(a, b) for a in starts for b in starts if a is not b and a.startswith(b)]


@pytest.mark.parametrize("turn", in_turn.read(), ids=lambda turn: str(next(iter(turn["tests"]))))
def test_the_list_is_of_tests_that_there_are(turn: dict[str, Any]) -> None:
    assert set(turn) - {"each", "of"} == {"every", "tests", "why"}
    assert turn["every"] in (2, 4, 8, 16, 32), "a power of two: then all commits have about as much"
    assert [path for path in turn.get("of", []) if not (ROOT / path).exists()] == []
    for start, seconds in turn["tests"].items():
        path, _, name = start.partition("::")
        assert f"def {name.partition('[')[0]}" in (ROOT / path).read_text(), start
        assert seconds > 0


def test_a_commit_has_no_more_of_them_than_fit_into_ten_minutes() -> None:
    """Make a test cheaper, or run it more rarely: each second here is one of every run."""
    assert sum(seconds / turn["every"] for turn in in_turn.read() for seconds in turn["tests"].values()) < 160


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """Tests with the names of some that are in the list, run with its plugin."""
    (tmp_path / "pyproject.toml").write_text(
        f"[tool.pytest.ini_options]\ntestpaths = ['tests']\npythonpath = {[*map(str, (RUNS, SUPPORT))]}\n"
    )
    (tmp_path / "conftest.py").write_text("pytest_plugins = ('in_turn',)\n")
    (tmp_path / "tests/demo").mkdir(parents=True)
    (tmp_path / "tests/demo/test_report.py").write_text(
        "import pytest\n\n@pytest.mark.parametrize('place', range(9))\n"
        "def test_a_hole_shows(place):\n    pass\n\ndef test_other():\n    pass\n"
    )
    return tmp_path


RUNS = Path(in_turn.__file__).parent
SUPPORT = Path(widths.__file__).parent


@pytest.mark.parametrize(
    ("of_widths", "asked_for", "all_run"),
    [
        ("commit", [], False),
        ("commit", ["-n", "2"], False),
        ("commit", ["tests/demo/test_report.py"], True),
        ("commit", ["-k", "shows or other"], True),
        ("all", [], True),
        (None, [], True),
    ],
)
def test_only_a_run_of_all_tests_of_one_commit_leaves_any(
    project: Path, of_widths: str | None, asked_for: list[str], all_run: bool
) -> None:
    clean = {name: value for name, value in os.environ.items() if name != "FRAMELANE_WIDTHS"}
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *asked_for],
        cwd=project,
        env=clean | ({"FRAMELANE_WIDTHS": of_widths} if of_widths else {}),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    passed = int(done.stdout.partition(" passed")[0].rpartition("\n")[2])
    assert (passed == 10) == all_run, done.stdout + done.stderr
    assert passed >= 1
