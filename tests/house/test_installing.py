"""What others install framelane by: the unit of systemd, the container file, the conda recipe, man pages, the wheel."""

import re
import shutil
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml
from packaging.requirements import Requirement

import man_pages
from command_line import command_line
from framelane.base.errors import SimulationError
from framelane.driver.simulated import toolchain

ROOT = Path(__file__).resolve().parents[2]
PACKAGING = ROOT / "packaging"
UNIT = PACKAGING / "framelane.service"
ANALYZE = shutil.which("systemd-analyze")
OTHER_NAMES = {"isal": "python-isal", "matplotlib": "matplotlib-base"}
"""Packages that have another name on conda-forge."""


def options(command: str) -> set[str]:
    """The long options of a command."""
    (found,) = [each for each in command_line().all() if each.name == command]
    return {option for each in found.parameters for option in re.findall(r"--[\w-]+", each.spelling)}


@pytest.mark.skipif(ANALYZE is None, reason="there is no systemd-analyze: the unit is checked where one is")
def test_systemd_takes_the_unit_and_its_sandbox_is_tight(tmp_path: Path) -> None:
    assert ANALYZE is not None
    unit = tmp_path / UNIT.name
    text = UNIT.read_text().replace("/opt/framelane/bin/framelane", "/bin/true").replace("man:framelane-serve(1)", "")
    unit.write_text(re.sub(r"^Documentation=\n", "", text, flags=re.MULTILINE))
    checked = subprocess.run([ANALYZE, "verify", unit], capture_output=True, text=True)
    assert (checked.returncode, [line for line in checked.stderr.splitlines() if UNIT.name in line]) == (0, [])
    judged = subprocess.run(
        [ANALYZE, "security", "--offline=true", "--threshold=20", "--no-pager", unit], capture_output=True, text=True
    )
    assert judged.returncode == 0, judged.stdout[-300:]


@pytest.mark.parametrize("name", ["framelane.service", "Containerfile"])
def test_they_run_a_command_that_there_is(name: str) -> None:
    text = (PACKAGING / name).read_text()
    (line,) = re.findall(r"^(?:ExecStart=\S+|CMD) (\[?\"?serve.*)$", text, re.MULTILINE)
    given = re.findall(r"--[\w-]+", line)
    assert given
    assert set(given) <= options("framelane serve")


def test_the_recipe_has_the_requirements_of_the_package() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    wanted = [Requirement(line) for line in project["dependencies"]]
    recipe: dict[str, Any] = yaml.safe_load((PACKAGING / "conda" / "recipe.yaml").read_text())
    run = {line.replace(" ", "") for line in recipe["requirements"]["run"]}
    assert run == {f"{OTHER_NAMES.get(each.name, each.name)}{each.specifier}" for each in wanted} | {
        f"python{project['requires-python']}"
    }
    assert recipe["context"]["version"] == project["version"]


def test_every_command_has_a_man_page_that_man_takes(tmp_path: Path) -> None:
    pages = man_pages.pages()
    assert {f"{each.name.replace(' ', '-')}.1" for each in command_line().all()} == set(pages)
    assert "\\-\\-minimum\\-peaks" in pages["framelane-recv.1"]
    groff = shutil.which("groff")
    if groff is None:
        return
    joined = "".join(pages.values())
    read = subprocess.run([groff, "-man", "-Tutf8", "-ww", "-Wbreak"], input=joined, capture_output=True, text=True)
    assert (read.returncode, read.stderr) == (0, "")


def test_an_installed_package_compiles_its_own_gateware_in_the_users_cache(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    installed = tmp_path / "gateware"
    monkeypatch.setattr(toolchain, "_CHECKOUT", tmp_path / "site-packages")
    monkeypatch.setattr(toolchain, "_INSTALLED", installed)
    with pytest.raises(SimulationError, match="there are no gateware sources in"):
        toolchain.gateware_root()
    (installed / "hw" / "rtl").mkdir(parents=True)
    (installed / "hw" / "rtl" / "tx.sv").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    assert toolchain.gateware_root() == installed
    assert toolchain.verilated_folder() == tmp_path / "cache" / "framelane" / "verilated"
