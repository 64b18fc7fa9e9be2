"""`make test`: a failed test is run again alone; what passes then is named, what fails again stays red."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
UNLUCKY = """
from pathlib import Path
import pytest

def once(name):
    passed = Path(name).exists()
    Path(name).touch()
    assert passed, "unlucky"

@pytest.mark.parametrize("name", {unlucky})
def test_unlucky(name):
    once(name)

def test_good():
    pass

{more}
"""
Run = Callable[..., tuple[int, str]]


@pytest.fixture
def run(tmp_path: Path) -> Run:
    (tmp_path / "pyproject.toml").write_text((ROOT / "pyproject.toml").read_text())

    def start(unlucky: int, more: str = "") -> tuple[int, str]:
        (tmp_path / "test_x.py").write_text(UNLUCKY.format(unlucky=[f"n{n}" for n in range(unlucky)], more=more))
        command = [sys.executable, str(ROOT / "scripts" / "again.py"), "-n", "2", "-q", "test_x.py"]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=120)
        return done.returncode, done.stdout

    return start


def test_one_that_passes_when_it_runs_alone_is_named_with_how_it_failed(run: Run, tmp_path: Path) -> None:
    (tmp_path / "build").mkdir()
    (tmp_path / "build" / "unsteady.log").write_text("earlier\n")
    status, out = run(1)
    assert status == 0
    _, begin, end = out.partition("failed at first, passed alone:\n  test_x.py::test_unlucky[n0]\n")
    assert begin
    assert "AssertionError: unlucky" in end
    kept = (tmp_path / "build" / "unsteady.log").read_text()
    assert kept.startswith("earlier\nUNSTEADY, 2")
    assert "test_x.py::test_unlucky[n0]\n" in kept
    assert "AssertionError: unlucky" in kept
    status, out = run(1)
    assert status == 0
    assert "UNSTEADY" not in out, "of an earlier run"


@pytest.mark.parametrize(
    ("unlucky", "more"),
    [(0, "def test_bad(): assert False"), (2, ""), (0, "import no_such_module")],
    ids=["one fails again", "too many", "no tests"],
)
def test_all_else_is_red(run: Run, unlucky: int, more: str) -> None:
    status, out = run(unlucky, more)
    assert status == 1
    assert "UNSTEADY" not in out


def test_a_skip_that_is_not_allowed_is_red_beside_a_test_that_passes_in_the_end(run: Run, tmp_path: Path) -> None:
    for name in ("skips.py", "skips.toml"):
        (tmp_path / name).write_bytes((ROOT / "tests" / "support" / "runs" / name).read_bytes())
    (tmp_path / "conftest.py").write_text('pytest_plugins = ("skips",)\n')
    (tmp_path / "pyproject.toml").write_text(
        '[tool.pytest.ini_options]\ncache_dir = "build/cache/pytest"\naddopts = "--judge-skips"\npythonpath = "."\n'
    )
    status, _ = run(1, 'def test_left_out(): pytest.skip("because")')
    assert status not in (0, 1)
