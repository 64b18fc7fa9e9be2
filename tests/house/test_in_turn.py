"""Each commit runs some of the longest tests, all commits about as much, and all tests have their turn."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import changed
import in_turn
import whole_run
import widths

ROOT = Path(__file__).resolve().parents[2]
SEEDS = [f"c.py::test_seeds[{n}]" for n in range(10)]
LONG = ["a.py::x", "a.py::y", "b.py::x", *SEEDS, "f.py::x", "f.py::y", "g.py::x"]
TESTS = [*LONG, "c.py::other", "d.py::x"]


def line(seconds: float, at: int) -> dict[str, float]:
    return {"seconds": seconds, "at": at}


GROUPS: list[dict[str, Any]] = [
    {
        "tests": {"a.py::": line(20, 1), "b.py::": line(9, 7), "g.py::": line(30, 0)},
        "every": 8,
        "of": ["hw/", "boards/"],
    },
    {"tests": {"c.py::test_seeds[": line(30, 3)}, "each": True, "every": 4},
    {"tests": {"f.py::": line(7, 1)}, "each": True, "every": 2},
]


def test_each_commit_has_its_part_and_all_have_their_turn() -> None:
    runs = [set(TESTS) - in_turn.left(TESTS, GROUPS, number) for number in range(32)]
    for run in runs:
        assert {"c.py::other", "d.py::x"} < run
        assert ("a.py::x" in run) == ("a.py::y" in run)
        assert ("f.py::x" in run) != ("f.py::y" in run)
    assert [number for number, run in enumerate(runs) if "a.py::x" in run] == [1, 9, 17, 25]
    assert [number for number, run in enumerate(runs) if SEEDS[0] in run] == [3, 7, 11, 15, 19, 23, 27, 31]
    for first in range(24):
        for group in GROUPS:
            for name in (name for name in LONG if name.startswith(tuple(group["tests"]))):
                assert sum(name in run for run in runs[first : first + group["every"]]) == 1


def test_a_change_of_what_a_group_is_of_runs_all_of_it() -> None:
    for files in (["hw/rtl/tx.sv"], ["README.md", "boards/ecpix_5/board.toml"]):
        assert in_turn.of_files(TESTS, GROUPS, files) == {"a.py::x", "a.py::y", "b.py::x", "g.py::x"}
    for files in ([], ["README.md", "sw/hw/x.py"]):
        assert in_turn.of_files(TESTS, GROUPS, files) == set()


class Named:
    """A test, a configuration or its hooks."""

    def __init__(self, **values: Any) -> None:
        self.__dict__ |= values


@pytest.mark.parametrize(
    ("files", "run"),
    [
        ([], {"c.py::other", "d.py::x"}),
        (["hw/rtl/tx.sv"], {"a.py::x", "a.py::y", "b.py::x", "g.py::x"}),
        (["sim/test_f.py", "sim/c.py"], {*SEEDS, "c.py::other", "f.py::x", "f.py::y"}),
    ],
)
def test_a_run_leaves_nothing_of_what_the_commit_changes(
    monkeypatch: pytest.MonkeyPatch, files: list[str], run: set[str]
) -> None:
    monkeypatch.setattr(in_turn, "read", lambda: GROUPS)
    monkeypatch.setattr(changed, "tests", lambda ids, files: {n for n in ids if n[:4] in " ".join(files)})
    for number in range(8):
        items: list[Any] = [Named(nodeid=nodeid) for nodeid in TESTS]
        told: list[Any] = []
        config: Any = Named(hook=Named(pytest_deselected=lambda items, told=told: told.extend(items)))
        in_turn.InTurn(number, files).pytest_collection_modifyitems(config, items)
        ran = {item.nodeid for item in items}
        assert ran >= run
        assert ran | {item.nodeid for item in told} == set(TESTS)
        assert (len(items) + len(told), bool(told)) == (len(TESTS), True)


def test_no_test_is_in_two_groups() -> None:
    starts = [start for group in in_turn.read() for start in group["tests"]]
    assert not [(a, b) for a in starts for b in starts if a is not b and a.startswith(b)]


@pytest.mark.parametrize("group", in_turn.read(), ids=lambda group: str(next(iter(group["tests"]))))
def test_the_list_is_of_tests_that_there_are(group: dict[str, Any]) -> None:
    assert set(group) - {"each", "of"} == {"every", "tests", "why"}
    assert group["every"] in (2, 4, 8, 16, 32, 64)
    of = group.get("of", [])
    assert [path for path in of if not [*ROOT.joinpath(path).parent.glob(f"{Path(path).name}*")]] == []
    for start, line in group["tests"].items():
        path, _, name = start.partition("::")
        assert f"def {name.partition('[')[0]}" in (ROOT / path).read_text(), start
        assert line.keys() == {"seconds", "at"}
        assert line["seconds"] > 0
        assert 0 <= line["at"] < group["every"]


def test_all_commits_have_about_as_much_and_no_more_than_fits_into_ten_minutes() -> None:
    """Where it fails: make a test cheaper, run it more rarely, or `at` the commits that have least."""
    seconds = [0.0] * 64
    for group in in_turn.read():
        for line in group["tests"].values():
            at = range(64) if group.get("each") else range(line["at"], 64, group["every"])
            for k in at:
                seconds[k] += line["seconds"] / (group["every"] if group.get("each") else 1)
    said = ", ".join(f"{k}: {each:.0f} s" for k, each in enumerate(seconds))
    assert sum(seconds) / 64 < 160, said
    assert max(seconds) < 300, said


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """Tests with the names of some that are in the list, run with its plugin as in a commit that changes nothing."""
    (tmp_path / "pyproject.toml").write_text(
        f"[tool.pytest.ini_options]\ntestpaths = ['tests']\npythonpath = {[*map(str, (RUNS, SUPPORT))]}\n"
    )
    (tmp_path / "conftest.py").write_text(
        "import os\nimport changed, widths\n\npytest_plugins = ('in_turn', 'left_out')\n\n"
        "changed.files = lambda: []\nwidths.commit_of_checkout = lambda: os.environ['COMMIT']\n"
        "widths.turn_of_checkout = lambda: int(os.environ['COMMIT'])\n"
    )
    (tmp_path / "tests/demo").mkdir(parents=True)
    (tmp_path / "tests/demo/test_report.py").write_text(
        "import pytest\n\n@pytest.mark.parametrize('place', range(9))\n"
        "def test_a_hole_shows(place):\n    pass\n\n@pytest.mark.xfail\ndef test_other():\n    pass\n"
    )
    return tmp_path


RUNS = Path(in_turn.__file__).parent
SUPPORT = Path(widths.__file__).parent


def run(project: Path, of_widths: str | None, *asked_for: str, commit: str = "5") -> tuple[set[str], str]:
    """Which tests ran, and what pytest said."""
    clean = {name: value for name, value in os.environ.items() if name != "FRAMELANE_WIDTHS"}
    set_ = {"COMMIT": commit, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-v", *asked_for],
        cwd=project,
        env=clean | set_ | ({"FRAMELANE_WIDTHS": of_widths} if of_widths else {}),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    said = done.stdout + done.stderr
    return {word for word in said.split() if word.startswith("tests/demo/test_report.py::")}, said


def test_all_workers_run_the_tests_of_the_commit_and_the_summary_says_how_many_are_left(project: Path) -> None:
    alone, _ = run(project, "commit")
    together, said = run(project, "commit", "-p", "xdist", "-n", "2")
    assert together == alone
    assert f"{10 - len(alone)} tests are left out, for other commits or because they are recorded" in said
    assert run(project, "commit", commit="6")[0] & alone == {"tests/demo/test_report.py::test_other"}


@pytest.mark.parametrize(
    ("of_widths", "asked_for"),
    [
        ("commit", ["tests/demo/test_report.py"]),
        ("commit", ["-k", "shows or other"]),
        ("commit", ["-m", "xfail or not xfail"]),
        ("commit", ["--ignore", "other"]),
        ("all", []),
        (None, []),
    ],
)
def test_who_asks_for_certain_tests_or_has_no_commit_runs_all(
    project: Path, of_widths: str | None, asked_for: list[str]
) -> None:
    ran, said = run(project, of_widths, *asked_for)
    assert len(ran) == 10, said
    assert "left out" not in said


def test_without_a_commit_nothing_is_left(project: Path) -> None:
    assert len(run(project, "commit", commit="")[0]) == 10


def test_what_failed_is_run_again_whichever_commit_it_is_for(project: Path) -> None:
    file = project / "tests/demo/test_report.py"
    file.write_text(file.read_text().replace("pass", "assert place", 1))
    run(project, "all")
    ran, said = run(project, "commit", "--lf")
    assert ran == {"tests/demo/test_report.py::test_a_hole_shows[0]"}, said


def test_options_that_ask_for_tests_are_pytests(pytestconfig: pytest.Config) -> None:
    assert [name for name in whole_run.ASKING if not hasattr(pytestconfig.option, name)] == []
