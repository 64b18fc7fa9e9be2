"""The command line: what it prints about itself, and how it fails."""

import contextlib
import errno
import os
import pty
import re
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from unittest.mock import Mock

import pytest

import framelane
from framelane.base.claim import Kind
from framelane.base.errors import InputError
from framelane.base.output import OutputFolder
from live_recv import heard

RunCli = Callable[..., tuple[int, str, str]]
FRAMELANE = [sys.executable, "-c", "from framelane.cli import main; main()"]


def test_the_version_is_printed_quickly_without_the_heavy_libraries() -> None:
    code = (
        "import sys; sys.argv = ['framelane', '--version']\n"
        "from framelane.cli import main\n"
        "try:\n    main()\nfinally:\n    print(*{'numba', 'matplotlib', 'h5py'} & set(sys.modules))"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout == f"framelane {framelane.__version__}\n\n"


@pytest.mark.parametrize("command", ["demo", "recv", "correct", "jungfrau", "calibration", "bench"])
def test_every_command_has_help(run_cli: RunCli, command: str) -> None:
    assert run_cli("--help")[0] == 0
    status, out, _ = run_cli(command, "--help")
    assert status == 0
    assert f"framelane {command} [OPTIONS]" in out


@pytest.mark.parametrize("arguments", [("nosuch",), ("demo", "--nosuch"), ("demo", "--frames", "many"), ("recv",)])
def test_what_is_no_command_or_option_ends_with_status_2(run_cli: RunCli, arguments: tuple[str, ...]) -> None:
    status, out, err = run_cli(*arguments)
    assert (status, out) == (2, "")
    assert "Traceback" not in err


@pytest.mark.parametrize(
    ("error", "sentence"),
    [
        (OSError(errno.ENOSPC, "No space left on device"), "No space left on device"),
        (OSError(errno.EACCES, "Permission denied", "/some/file"), "/some/file: Permission denied"),
    ],
)
def test_an_error_of_the_system_is_one_sentence(
    run_cli: RunCli, monkeypatch: pytest.MonkeyPatch, error: OSError, sentence: str
) -> None:
    monkeypatch.setattr("framelane.bench.runner.run", Mock(side_effect=error))
    assert run_cli("bench") == (2, "", f"framelane: {sentence}\n")


OLD = Kind("an old result", lambda path: path.read_text() == "old")


def test_results_appear_together_over_the_old_ones(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("old")
    with OutputFolder(tmp_path, "ab", older=("a", OLD)) as work:
        (work / "a").write_text("new")
        (work / "b").write_text("new")
        assert (tmp_path / "a").read_text() == "old"
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == {"a": "new", "b": "new"}


def test_what_is_no_older_result_is_replaced_only_where_it_is_said(tmp_path: Path) -> None:
    (tmp_path / "b").write_text("mine")
    for text in ("notes", ""):
        (tmp_path / "a").write_text(text)
        with (
            pytest.raises(InputError, match="there is a file of this name, of no older run: give another"),
            OutputFolder(tmp_path, "ab", older=("a", OLD)),
        ):
            pytest.fail("the work has begun")
        assert (tmp_path / "b").read_text() == "mine"
    with OutputFolder(tmp_path, "ab", older=("a", OLD), force=True) as work:
        (work / "a").write_text("new")
        (work / "b").write_text("new")
    assert (tmp_path / "b").read_text() == "new"


@pytest.mark.parametrize("existed", [True, False])
def test_an_error_leaves_the_folder_as_it_was(tmp_path: Path, existed: bool) -> None:
    folder = tmp_path / "my" / "results"
    if existed:
        folder.mkdir(parents=True)
        (folder / "a").write_text("old")

    def fail() -> None:
        with OutputFolder(folder, "a", older=("a", OLD)) as work:
            (work / "a").write_text("new")
            raise KeyError

    with pytest.raises(KeyError):
        fail()
    assert folder.parent.exists() == folder.exists() == existed
    assert [path.read_text() for path in tmp_path.rglob("*") if path.is_file()] == ["old"] * existed


def test_results_that_cannot_all_appear_leave_the_old_ones(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("old")

    def fail() -> None:
        with OutputFolder(tmp_path, "ab", older=("a", OLD)) as work:
            for name in "ab":
                (work / name).write_text("new")
            (tmp_path / "b").mkdir()

    with pytest.raises(InputError, match=f"cannot write {tmp_path}/b: it is a folder"):
        fail()
    assert (tmp_path / "a").read_text() == "old"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "b"]


@pytest.mark.parametrize("kind", ["link", "pipe"])
def test_a_result_never_replaces_what_is_no_file(tmp_path: Path, kind: str) -> None:
    target = tmp_path / "a"
    if kind == "link":
        (tmp_path / "elsewhere").write_text("old")
        target.symlink_to("elsewhere")
    else:
        os.mkfifo(target)
    before = target.lstat()
    with pytest.raises(InputError, match="it is a folder, a link or a device"), OutputFolder(tmp_path, "a"):
        pytest.fail("the work has begun")
    assert target.lstat() == before


def test_a_folder_that_another_run_uses_too_does_not_hide_the_error(tmp_path: Path) -> None:
    def fail() -> None:
        with OutputFolder(tmp_path / "results", "a"):
            (tmp_path / "results/of-another").touch()
            raise KeyError

    with pytest.raises(KeyError):
        fail()
    assert [path.name for path in (tmp_path / "results").iterdir()] == ["of-another"]


def test_a_disk_that_takes_no_more_is_one_sentence_with_advice(tmp_path: Path) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)

    def fail() -> None:
        with OutputFolder(tmp_path / "results", "a") as work:
            (work / "a").write_bytes(bytes(5000))

    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, hard))
    try:
        with pytest.raises(InputError, match=r"folder .*/results: File too large: .*give another output"):
            fail()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert list(tmp_path.iterdir()) == []


@contextlib.contextmanager
def started(folder: Path, *before: str) -> Iterator[subprocess.Popen[bytes]]:
    """Start a demo with more frames than the test has patience for: it is at work when the block begins."""
    command = [*before, *FRAMELANE, "demo", "--output", str(folder), "--modules", "1", "--frames", "1000"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as run:
        try:
            heard(run, run.stdout, "frame 0")
            yield run
        finally:
            run.kill()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_run_that_is_told_to_end_leaves_nothing(tmp_path: Path, number: signal.Signals) -> None:
    with started(tmp_path / "demo") as run:
        assert list(tmp_path.glob("demo/.part-*"))
        run.send_signal(number)
        _, err = run.communicate(timeout=20)
    assert (run.returncode, err) == (128 + number, b"")
    assert list(tmp_path.iterdir()) == []


def test_nohup_outlives_its_terminal(tmp_path: Path) -> None:
    with started(tmp_path / "demo", "nohup") as run:
        run.send_signal(signal.SIGHUP)
        assert run.stdout
        assert b"frame 1" in run.stdout.readline()
        run.terminate()
        run.communicate(timeout=20)
    assert run.returncode == 128 + signal.SIGTERM


def test_a_reader_that_goes_away_costs_no_result(tmp_path: Path, small_file: Path) -> None:
    arguments = ["demo", "--output", str(tmp_path), "--input", str(small_file)]
    with subprocess.Popen([*FRAMELANE, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as run:
        assert run.stdout
        assert run.stderr
        run.stdout.close()
        assert run.stderr.read() == b""
    assert run.returncode == 0
    assert (tmp_path / "summary.json").is_file()


@pytest.mark.parametrize(("encoding", "mark"), [("ascii", " ok "), ("utf-8", "✓")])
def test_a_terminal_of_any_encoding_shows_the_progress(
    tmp_path: Path, small_file: Path, encoding: str, mark: str
) -> None:
    named = tmp_path / "épreuve.h5"
    named.write_bytes(small_file.read_bytes())
    ours, theirs = pty.openpty()
    environment = os.environ | {"PYTHONIOENCODING": encoding, "TERM": "xterm", "COLUMNS": "120"}
    command = [*FRAMELANE, "demo", "--output", str(tmp_path / "demo"), "--input", str(named)]
    with subprocess.Popen(command, stdout=theirs, stderr=subprocess.PIPE, env=environment) as run:
        os.close(theirs)
        shown = drained(ours)
        assert run.stderr
        assert run.stderr.read() == b""
    assert run.returncode == 0
    assert mark in re.sub("\x1b\\[[0-9;]*m", " ", shown.decode(encoding))


def drained(terminal: int) -> bytes:
    """What the terminal is shown until nobody has it open any more."""
    shown, deadline = b"", time.monotonic() + 30
    while time.monotonic() < deadline:
        try:
            shown += os.read(terminal, 1 << 16)
        except OSError:  # EIO: that is how its end shows
            break
    os.close(terminal)
    return shown


@pytest.mark.usefixtures("network")
def test_a_loopback_that_is_down_is_one_sentence_with_advice(tmp_path: Path) -> None:
    command = ["unshare", "--net", *FRAMELANE, "demo", "--output", str(tmp_path / "demo"), "--modules", "1"]
    run = subprocess.run(command, capture_output=True, text=True)
    assert (run.returncode, run.stdout) == (2, "")
    sentence = "cannot use the loopback address 127.0.0.2: Network is unreachable: `ip link set lo up`"
    assert run.stderr == f"framelane: {sentence}\n"
    assert list(tmp_path.iterdir()) == []
