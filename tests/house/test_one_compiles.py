"""Where no test has run yet, one worker imports them, and the others after it."""

import os
import subprocess
import sys
import time
from pathlib import Path

import one_compiles

RUNS = Path(__file__).resolve().parents[1] / "support" / "runs"
MODULE = """
import os, time
from pathlib import Path
def say(what):
    with Path("said").open("a") as file:
        file.write(f"{os.environ['PYTEST_XDIST_WORKER']} {what}\\n")
say("begins")
time.sleep(0.5)
say("ends")
def test_it():
    pass
"""


def test_the_second_worker_begins_when_the_first_has_its_tests(tmp_path: Path) -> None:
    folder = tmp_path / "tests" / "support" / "runs"
    folder.mkdir(parents=True)
    for name in ("longest_first.py", "one_compiles.py"):
        (folder / name).write_text((RUNS / name).read_text())
    (tmp_path / "conftest.py").write_text('pytest_plugins = ("one_compiles",)\n')
    (tmp_path / "pytest.ini").write_text("[pytest]\npythonpath = tests/support/runs\n")
    (tmp_path / "test_some.py").write_text(MODULE)
    keeping = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    command = [sys.executable, "-m", "pytest", "-q", "-n", "2", "-p", "no:cacheprovider", "test_some.py"]
    done = subprocess.run(command, cwd=tmp_path, env=keeping, capture_output=True, text=True, timeout=60)
    assert "1 passed" in done.stdout, done.stdout
    assert (tmp_path / "said").read_text().split("\n")[:-1] == ["gw0 begins", "gw0 ends", "gw1 begins", "gw1 ends"]


def test_a_first_worker_that_never_comes_is_not_waited_for(tmp_path: Path) -> None:
    start = time.monotonic()
    one_compiles.wait(tmp_path / "nothing", 0.2)
    assert 0.2 <= time.monotonic() - start < 5
