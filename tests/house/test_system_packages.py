"""What `make` asks of the system: packages that are missing are installed, also while another apt is at work."""

import fcntl
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from live_recv import heard

SCRIPT = Path(__file__).resolve().parents[2] / "scripts" / "system-packages.sh"
HELD = "E: Could not get lock /var/lib/apt/lists/lock. It is held by process 7 (apt-get)"


@pytest.fixture
def python(tmp_path: Path) -> Path:
    """A Python without venv: of the set `python`, its package is missing."""
    path = tmp_path / "python"
    path.write_text(f'#!/bin/sh\ncase "$*" in *ensurepip*) exit 1 ;; esac\nexec {sys.executable} "$@"\n')
    path.chmod(0o755)
    return path


def install(python: Path, patience_s: int, **environment: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "APT_PATIENCE_S": str(patience_s), **environment}
    return subprocess.run([SCRIPT, "python", python], env=environment, capture_output=True, text=True, timeout=60)


def fake(folder: Path, name: str, text: str) -> None:
    (folder / name).write_text(f"#!/bin/sh\n{text}\n")
    (folder / name).chmod(0o755)


@pytest.fixture
def path(tmp_path: Path) -> str:
    """A PATH where we are root, no time passes while we sleep, and apt is busy `busy` times; it notes its calls."""
    folder = tmp_path / "bin"
    folder.mkdir()
    fake(folder, "id", "echo 0")
    fake(folder, "sleep", "exit 0")
    calls, busy = tmp_path / "calls", tmp_path / "busy"
    fake(
        folder,
        "apt-get",
        f'echo "$*" >>{calls}; n=$(cat {busy}); [ "$n" -gt 0 ] || exit 0\n'
        f"echo $((n - 1)) >{busy}; cat {tmp_path}/words >&2; exit 100",
    )
    (tmp_path / "words").write_text(f"{HELD}\n")
    (tmp_path / "busy").write_text("0")
    return f"{folder}:{os.environ['PATH']}"


def test_while_another_apt_holds_the_lock_it_is_waited_for(tmp_path: Path, python: Path, path: str) -> None:
    (tmp_path / "busy").write_text("3")
    done = install(python, 60, PATH=path)
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("waiting for another apt or dpkg to end") == 3
    *updates, last = (tmp_path / "calls").read_text().splitlines()
    assert [call.split(" ", 2)[2] for call in updates] == ["--quiet --quiet update"] * 4
    assert last.startswith("-o DPkg::Lock::Timeout=60 install --yes --no-install-recommends python3.")


def test_an_apt_that_never_ends_is_not_waited_for_any_longer(tmp_path: Path, python: Path, path: str) -> None:
    (tmp_path / "busy").write_text("1000000")
    done = install(python, 1, PATH=path)
    assert done.returncode == 100
    assert done.stderr.endswith("has held its lock for 1 s: let it end, then run make again.\n")


def test_another_error_of_apt_is_not_tried_again(tmp_path: Path, python: Path, path: str) -> None:
    (tmp_path / "busy").write_text("1")
    (tmp_path / "words").write_text("E: Failed to fetch http://deb.example.org/\n")
    done = install(python, 60, PATH=path)
    assert (done.returncode, (tmp_path / "calls").read_text().count("\n")) == (100, 1)
    assert "Failed to fetch" in done.stderr


def test_the_lock_of_the_lists_is_waited_for_with_the_real_apt(tmp_path: Path, python: Path) -> None:
    if shutil.which("apt-get") is None:
        pytest.skip("there is no apt-get here")
    lists = tmp_path / "lists"
    (lists / "partial").mkdir(parents=True)
    (tmp_path / "bin").mkdir()
    fake(tmp_path / "bin", "id", "echo 0")
    settings = {"Dir::State::Lists": lists, "Dir::Etc::SourceList": "/dev/null", "Dir::Etc::SourceParts": "/dev/null"}
    (tmp_path / "status").touch()
    settings |= {"Dir::Cache": tmp_path, "Dir::State::Status": tmp_path / "status"}  # nothing of this system is touched
    settings |= {"Debug::pkgDPkgPM": "true", "APT::Get::Download-Only": "true"}
    (tmp_path / "apt.conf").write_text("".join(f'{name} "{value}";\n' for name, value in settings.items()))
    with (lists / "lock").open("w") as lock:
        fcntl.lockf(lock, fcntl.LOCK_EX)
        environment = os.environ | {
            "APT_CONFIG": str(tmp_path / "apt.conf"),
            "APT_PATIENCE_S": "60",
            "PATH": f"{tmp_path / 'bin'}:{os.environ['PATH']}",
        }
        command: list[str | Path] = [SCRIPT, "python", python]
        with subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True) as run:
            try:
                said = heard(run, run.stderr, "waiting for another apt")
                time.sleep(1)
                assert run.poll() is None
                fcntl.lockf(lock, fcntl.LOCK_UN)
                said += run.communicate(timeout=30)[1]
            finally:
                run.kill()
    assert "Could not get lock" in said
    assert said.count("Could not get lock") == said.count("waiting for another apt")
    assert "Unable to locate package python3." in said, "it has gone on, to lists that are empty"
