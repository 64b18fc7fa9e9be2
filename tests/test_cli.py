"""The command line: what it prints about itself, and how it fails."""

import errno
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from unittest.mock import Mock

import pytest

import framelane
from framelane.cli.output import OutputFolder

RunCli = Callable[..., tuple[int, str, str]]


def test_the_version_is_printed_quickly_without_the_heavy_libraries() -> None:
    code = (
        "import sys; sys.argv = ['framelane', '--version']\n"
        "from framelane.cli import main\n"
        "try:\n    main()\nfinally:\n    print(*{'numba', 'matplotlib', 'h5py'} & set(sys.modules))"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout == f"framelane {framelane.__version__}\n\n"


@pytest.mark.parametrize("command", ["demo", "recv", "bench"])
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
    monkeypatch.setattr("framelane.cli.bench.run", Mock(side_effect=error))
    assert run_cli("bench") == (2, "", f"framelane: {sentence}\n")


def test_results_appear_together_over_the_old_ones(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("old")
    with OutputFolder(tmp_path) as work:
        (work / "a").write_text("new")
        (work / "b").write_text("new")
        assert (tmp_path / "a").read_text() == "old"
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == {"a": "new", "b": "new"}


@pytest.mark.parametrize("existed", [True, False])
def test_an_error_leaves_the_folder_as_it_was(tmp_path: Path, existed: bool) -> None:
    folder = tmp_path / "results"
    if existed:
        folder.mkdir()
        (folder / "a").write_text("old")

    def fail() -> None:
        with OutputFolder(folder) as work:
            (work / "a").write_text("new")
            raise KeyError

    with pytest.raises(KeyError):
        fail()
    assert folder.exists() == existed
    assert [path.read_text() for path in tmp_path.rglob("*") if path.is_file()] == ["old"] * existed
