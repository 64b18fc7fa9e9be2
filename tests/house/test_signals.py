"""No test can hang for ever, whatever started the run."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from fresh_signals import DEFAULTS

ROOT = Path(__file__).resolve().parents[2]
SHOW = "import signal; print([int(n) for n in (1, 2, 15) if signal.getsignal(n) is signal.SIG_IGN])"


def test_signals_are_those_that_python_begins_with() -> None:
    assert {number: signal.getsignal(number) for number in DEFAULTS} == DEFAULTS
    assert subprocess.run([sys.executable, "-c", SHOW], capture_output=True, text=True).stdout == "[]\n"


def pytest_run(*arguments: object, shell: str = "") -> subprocess.CompletedProcess[str]:
    """A run of pytest as the shell's words `shell` start it, by this repository's settings."""
    command = [sys.executable, "-m", "pytest", "-q", "-c", str(ROOT / "pyproject.toml")]
    words = ["sh", "-c", f'{shell} exec "$@"', "sh", *command, *map(str, arguments)]
    return subprocess.run(words, cwd=ROOT, capture_output=True, text=True, timeout=120)


@pytest.mark.parametrize("workers", [0, 1])
def test_a_run_that_was_started_under_nohup_has_them_too(workers: int) -> None:
    one = f"{__file__}::{test_signals_are_those_that_python_begins_with.__name__}"
    done = pytest_run("-n", workers, one, shell="trap '' HUP INT TERM;")
    assert done.returncode == 0, done.stdout


def test_a_test_that_waits_for_ever_fails(tmp_path: Path, pytestconfig: pytest.Config) -> None:
    (tmp_path / "test_waits.py").write_text("import time\n\ndef test_waits():\n    time.sleep(100)\n")
    done = pytest_run("-o", "timeout=1", tmp_path)
    assert done.returncode == 1
    assert "Timeout (>1.0s) from pytest-timeout" in done.stdout
    assert 0 < float(pytestconfig.getini("timeout")) < float(pytestconfig.getini("faulthandler_timeout"))
    assert pytestconfig.getini("faulthandler_exit_on_timeout") is True
