"""The start: `python -m framelane`, shell completion, and that nothing slow is imported before it is needed."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import framelane.source

SLOW = ("h5py", "hdf5plugin", "importlib.metadata", "llvmlite", "matplotlib", "numba", "numpy", "pydantic", "rich")
OF_TYPER = {"importlib.metadata", "pydantic", "rich"}
"""What typer imports itself, to print help."""
PACKAGES = ("receiver", "calibration", "source", "driver")


def run(*arguments: str, **environment: str) -> str:
    command = [sys.executable, *arguments]
    env = {**os.environ, "COLUMNS": "100", **environment}
    return subprocess.run(command, capture_output=True, text=True, check=True, env=env).stdout


def imported(program: str) -> list[str]:
    """Which of the slow modules a program has imported at its end."""
    said = run("-c", f"import sys\n{program}\nprint('imported', *(m for m in {SLOW} if m in sys.modules))")
    return said.rpartition("imported")[2].split()


@pytest.mark.parametrize("package", ["framelane", *(f"framelane.{name}" for name in PACKAGES)])
def test_importing_a_package_imports_nothing_slow(package: str) -> None:
    assert imported(f"import {package}") == []


@pytest.mark.parametrize("arguments", [["--help"], ["recv", "--help"], ["board", "--help"], ["emulate", "--help"]])
def test_help_imports_nothing_but_what_prints_it(arguments: list[str]) -> None:
    program = f"""from framelane.cli import main
sys.argv = ["framelane", *{arguments}]
try:
    main()
except SystemExit as ended:
    assert not ended.code"""
    assert set(imported(program)) <= OF_TYPER


def test_the_package_runs_as_a_module_and_calls_itself_framelane() -> None:
    version = run("-m", "framelane", "--version")
    assert version == run("-c", "from framelane.cli import main; main()", "--version")
    assert version.startswith("framelane ")
    assert "Usage: framelane emulate [OPTIONS]" in run("-m", "framelane", "emulate", "--help")


def test_a_name_that_is_not_public_is_said() -> None:
    with pytest.raises(AttributeError, match=r"^module 'framelane.source' has no attribute 'emulat'$"):
        framelane.source.emulat  # type: ignore[attr-defined]  # noqa: B018


def test_a_shell_completes_commands_and_options() -> None:
    def completed(words: str) -> list[str]:
        count = str(len(words.split(" ")) - 1)
        asked = {"_FRAMELANE_COMPLETE": "complete_bash", "COMP_WORDS": words, "COMP_CWORD": count}
        return run("-m", "framelane", **asked).split()

    assert completed("framelane ca") == ["calibration"]
    assert completed("framelane emulate --impair-") == ["--impair-seed"]
    told = {"_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION": "1"}  # which shell this is run from is not known
    script = run("-m", "framelane", "--show-completion", "bash", **told)
    assert "complete -o default -F _framelane_completion framelane" in script


@pytest.mark.parametrize(
    "module", ["framelane.cli._main", "typer.main", "framelane.cli.option_names", "framelane.demo.demo", "numba"]
)
def test_ctrl_c_in_the_imports_of_any_command_ends_it_without_a_traceback(module: str, tmp_path: Path) -> None:
    """The signal comes as the module is looked for."""
    program = f"""import os, signal, sys
class Finder:
    def find_spec(self, name, path=None, target=None):
        if name == {module!r}:
            os.kill(os.getpid(), signal.SIGINT)
sys.meta_path.insert(0, Finder())
sys.argv = ["framelane", "demo", "--output", "out"]
from framelane.cli import main
main()"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, cwd=tmp_path)
    assert (done.returncode, done.stderr) in ((130, ""), (-signal.SIGINT, ""))
    assert list(tmp_path.iterdir()) == []
