"""`make test`: checks run beside the tests, each that fails makes all red and is shown, and none is left running."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
MAKEFILE = """
pytest: ; @echo tests begin; sleep 1; echo tests end
slow: ; @echo $$$$ >slow.pid; sleep 1000
good: ; @for n in 1 2 3 4 5; do echo good $$n; done
bad: ; @echo the first line; for n in 1 2 3 4 5; do echo bad $$n; done; exit 1
nicest: ; @nice
"""
Beside = Callable[..., subprocess.Popen[str]]


@pytest.fixture
def beside(tmp_path: Path) -> Beside:
    """Start it in a folder with targets of its own."""
    (tmp_path / "Makefile").write_text(MAKEFILE)
    (tmp_path / "scripts").mkdir()
    (tmp_path / "scripts/beside.py").write_text((ROOT / "scripts/beside.py").read_text())
    environment = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}

    def start(*arguments: str) -> subprocess.Popen[str]:
        command = [sys.executable, "scripts/beside.py", *arguments]
        return subprocess.Popen(command, cwd=tmp_path, env=environment, stdout=subprocess.PIPE, text=True)

    return start


def is_alive(folder: Path) -> bool:
    return Path("/proc", (folder / "slow.pid").read_text().strip()).exists()


def test_all_run_and_the_summary_names_each(beside: Beside) -> None:
    run = beside("pytest", "good", "nicest")
    out, _ = run.communicate(timeout=60)
    assert run.returncode == 0, out
    assert out.startswith("tests begin\ntests end\n")
    assert "good 1" not in out
    assert "good 5" in out
    assert [line.split()[0] for line in out.splitlines()[-3:]] == ["pytest", "good", "nicest"]
    assert int(out.partition("== nicest")[2].splitlines()[1]) == os.nice(0) + 5


@pytest.mark.parametrize("targets", [("pytest", "bad", "good"), ("bad", "good"), ("pytest", "good", "no-such-target")])
def test_one_that_fails_makes_the_whole_red_and_is_shown_in_full(beside: Beside, targets: tuple[str, ...]) -> None:
    run = beside(*targets)
    out, _ = run.communicate(timeout=60)
    assert run.returncode == 1
    assert "FAILED" in out
    if "bad" in targets:
        assert "the first line\nbad 1\n" in out
    assert "good 5" in out, "the others are run all the same"


@pytest.mark.parametrize("targets", [("pytest", "slow"), ("slow", "good")])
def test_one_that_does_not_end_is_ended(beside: Beside, tmp_path: Path, targets: tuple[str, ...]) -> None:
    run = beside("--deadline", "3", *targets)
    out, _ = run.communicate(timeout=60)
    assert run.returncode == 1
    assert "slow " in out
    assert "took too long" in out
    assert not is_alive(tmp_path)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_whoever_ends_it_ends_all(beside: Beside, tmp_path: Path, number: signal.Signals) -> None:
    run = beside("pytest", "slow", "good")
    deadline = time.monotonic() + 30
    while not (tmp_path / "slow.pid").exists() or not (tmp_path / "slow.pid").read_text():
        assert time.monotonic() < deadline
        time.sleep(0.05)
    run.send_signal(number)
    run.communicate(timeout=60)
    assert run.returncode == 128 + number
    assert not is_alive(tmp_path)


def test_make_test_runs_every_check_and_nightly_what_is_sampled() -> None:
    def recipe(target: str) -> str:
        done = subprocess.run(["make", "-n", target], cwd=ROOT, capture_output=True, text=True, check=True)
        return done.stdout

    (line,) = [line for line in recipe("test").splitlines() if "beside.py" in line]
    assert line.split("beside.py ")[1].split() == [
        *("pytest", "yosys", "formal-check", "synth-check", "lint-python", "lint-rtl", "lint-cpp"),
    ]
    assert "FRAMELANE_WIDTHS=${FRAMELANE_WIDTHS:-commit}" in (tests := recipe("pytest"))
    assert "--judge-skips" in tests
    assert "can-run-softroce .venv/bin/python && echo required" in tests
    (line,) = [line for line in recipe("nightly").splitlines() if "beside.py" in line]
    assert {"pytest-all", "formal-all", "synth-all", "fmax-all", "oracles", "faults", "wheel"} < set(line.split())
    assert "FRAMELANE_WIDTHS=all" in recipe("pytest-all")
    assert "--check --all" in recipe("formal-all")
    assert "--check --all" in recipe("synth-all")
    assert "--check --all" in recipe("fmax-all")
    assert "-o faulthandler_timeout=11400" in recipe("bitstream-check"), "a netlist's test may take three hours"
