"""The repository as a package: what is locked, what is installed and what is in the wheel."""

import tomllib
from importlib import metadata
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import framelane

ROOT = Path(__file__).resolve().parents[1]


def wanted() -> list[Requirement]:
    """Return every requirement in pyproject.toml, those of the extras as well."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"].values()
    return [Requirement(line) for lines in (project["dependencies"], *extras) for line in lines]


def locked() -> list[Requirement]:
    """Return the lines of constraints.txt; anything but `name==version ; marker` raises InvalidRequirement."""
    lines = (line.split("#")[0].strip() for line in (ROOT / "constraints.txt").read_text().splitlines())
    return [Requirement(line) for line in lines if line]


def test_every_requirement_is_locked_to_a_version_it_accepts() -> None:
    pins = {canonicalize_name(pin.name): str(pin.specifier).removeprefix("==") for pin in locked()}
    names = [(canonicalize_name(want.name), want.specifier) for want in wanted()]
    assert [name for name, accepted in names if name not in pins or pins[name] not in accepted] == [], "run make lock"


def test_the_lock_holds_only_exact_versions_from_no_particular_index() -> None:
    loose = [str(pin) for pin in locked() if pin.url or not str(pin.specifier).startswith("==")]
    assert loose == []


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


def test_the_version_is_the_one_in_pyproject() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert framelane.__version__ == project["version"], "run make setup"
