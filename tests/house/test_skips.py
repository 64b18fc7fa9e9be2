"""Nothing is left out unseen: a skip is told with its reason, and one that is not allowed makes the run red."""

import functools
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import skips
from skips import Allowed

ROOT = Path(__file__).resolve().parents[2]
Run = Callable[..., tuple[int, str]]
TESTS = {
    "allowed": 'pytest.skip("there are no real frames at /nowhere")',
    "other": 'pytest.skip("no time today")',
    "neither": "assert True",
    "expected": 'pytest.xfail("known")',
    "wrong": "assert False",
}


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Run tests that skip, by this repository's settings: exit status and what is printed."""

    def run(*names: str, options: tuple[str, ...] = (), module: str = "", **variables: str) -> tuple[int, str]:
        (tmp_path / "conftest.py").write_text('pytest_plugins = ("skips",)\n')
        bodies = [f"def test_{name}():\n    {TESTS[name]}\n" for name in names]
        (tmp_path / "test_it.py").write_text("\n\n".join(("import pytest\n", module, *bodies)))
        command: list[str | Path] = [sys.executable, "-m", "pytest", "-c", ROOT / "pyproject.toml", *options, tmp_path]
        own = {name: value for name, value in os.environ.items() if name not in ("CI", "FRAMELANE_DATA")}
        done = subprocess.run(command, cwd=ROOT, env=own | variables, capture_output=True, text=True, timeout=120)
        return done.returncode, done.stdout

    return run


@pytest.mark.parametrize("workers", ["0", "2"])
def test_a_skip_that_nobody_allowed_makes_the_run_red(run: Run, workers: str) -> None:
    status, out = run("allowed", "other", "neither", options=("-n", workers, "--judge-skips"))
    assert status == skips.NOT_ALLOWED
    assert "\n    1  no time today\n       NOT allowed by tests/support/runs/skips.toml on this machine: " in out
    assert "test_it.py::test_other" in out
    assert "\n    1  there are no real frames at /nowhere\n       allowed with no real frames named: " in out
    assert "1 passed, 2 skipped" in out


def test_what_is_allowed_or_expected_to_fail_is_let_through_and_told(run: Run) -> None:
    status, out = run("allowed", "neither", "expected", options=("--judge-skips",))
    assert status == 0
    assert "= skipped =" in out
    assert "NOT allowed" not in out
    assert "known" not in out


def test_a_module_that_skips_itself_is_judged_as_well(run: Run) -> None:
    status, out = run("neither", module='pytest.importorskip("no_such_module")\n', options=("-n", "2", "--judge-skips"))
    assert status == skips.NOT_ALLOWED
    assert "1  could not import 'no_such_module'" in out


@pytest.mark.parametrize(("variables", "status"), [({"CI": "true"}, skips.NOT_ALLOWED), ({"CI": "false"}, 0), ({}, 0)])
def test_who_runs_a_few_tests_is_told_and_ci_is_red(run: Run, variables: dict[str, str], status: int) -> None:
    ended, out = run("other", "neither", **variables)
    assert (ended, out.count("NOT allowed")) == (status, 1)


def test_a_run_that_fails_stays_one_that_fails(run: Run) -> None:
    assert run("wrong", "allowed", options=("--judge-skips",))[0] == 1
    assert run("wrong", "other", options=("--judge-skips",))[0] == skips.NOT_ALLOWED


def test_a_reason_is_believed_only_where_its_condition_holds(monkeypatch: pytest.MonkeyPatch) -> None:
    line = Allowed("needs a GPU", "no GPU", "", tests="tests/receiver/gpu/test_gpu")
    for there in (True, False):
        monkeypatch.setitem(skips.WHERE, "no GPU", functools.partial(bool, not there))
        skips._holds.cache_clear()
        assert line.covers("tests/receiver/gpu/test_gpu_words.py::test_a", "needs a GPU: none") is not there
    assert not line.covers("tests/receiver/live/test_recv.py::test_a", "needs a GPU: none")
    assert not line.covers("tests/receiver/gpu/test_gpu_words.py::test_a", "it needs a GPU")
    monkeypatch.undo()
    skips._holds.cache_clear()


def test_real_frames_that_are_named_must_be_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FRAMELANE_DATA", "/nowhere")
    assert not skips.WHERE["no real frames named"]()


def test_a_line_with_a_condition_that_there_is_none_is_refused(tmp_path: Path) -> None:
    (tmp_path / "skips.toml").write_text('[[skip]]\nreason = "a"\nwhere = "no mood"\nwhy = "b"\n')
    with pytest.raises(ValueError, match=r"no condition no mood: write one of anywhere, "):
        skips.read(tmp_path / "skips.toml")


def test_every_line_says_why_and_none_allows_all() -> None:
    for line in skips.read():
        assert line.why
        assert line.reason or line.tests, "every skip of all tests"
        assert line.tests or line.where != "anywhere", f"whatever test, on whatever machine: {line.reason}"
