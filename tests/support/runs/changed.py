"""Which tests are of what a commit changes: they are left to no other commit (docs/explanation/testing.md)."""

import ast
import subprocess
from collections.abc import Iterable
from functools import cache
from pathlib import PurePath

from framelane.driver.simulated.toolchain import gateware_root


def tests(nodeids: Iterable[str], changed: Iterable[str]) -> set[str]:
    """The tests of what is in the files `changed`, relative to the tree:

    - those files themselves, and `test_<name>.py` for a file `<name>` of any kind;
    - for RTL `test_<name>_<what>.py` too: some blocks have several benches;
    - for what is in `sw/`, all in the folder of `tests/` that has the same name, or the name of one around it, and in
      that of `ELSEWHERE`;
    - for Python, the files of tests that import it themselves, or by a name that a package exports.
    """
    paths = [PurePath(path) for path in changed]
    modules = {f"test_{path.stem}" for path in paths} | {p.stem for p in paths if p.stem.startswith("test_")}
    several = tuple(f"test_{path.stem}_" for path in paths if path.suffix == ".sv")
    names = {_module(path) for path in paths if path.suffix == ".py"}
    folders = {folder for path in paths if path.parts[0] == "sw" for folder in _tests_of(path)}

    def is_of_them(nodeid: str) -> bool:
        file = PurePath(nodeid.partition("::")[0])
        of_block = file.parts[0] == "sim" and file.name.startswith(several)
        imports = bool(names) and not names.isdisjoint(imported(str(file)))
        return file.stem in modules or of_block or file.parent in folders or imports

    return {nodeid for nodeid in nodeids if is_of_them(nodeid)}


ELSEWHERE = {
    PurePath("sw/cli/recv"): PurePath("tests/receiver/live"),
    PurePath("sw/receiver/ranks"): PurePath("tests/receiver/live"),
}
"""Folders that have tests in one of another name, too."""


def _module(path: PurePath) -> str:
    """By which name tests import a file of Python: with the folders of `sw/` and `models/`, else by its own alone."""
    parts = [part for part in path.with_suffix("").parts if part != "__init__"]
    if path.parts[0] in ("sw", "models"):
        return ".".join(("framelane", *parts[path.parts[0] == "sw" :]))
    return path.stem


def _tests_of(path: PurePath) -> set[PurePath]:
    """The folders of the tests of what is in `sw/`."""
    folder = PurePath("tests", *path.parent.parts[1:])
    while len(folder.parts) > 2 and not (gateware_root() / folder).is_dir():
        folder = folder.parent
    return {folder, *(tests for of, tests in ELSEWHERE.items() if path.is_relative_to(of))}


@cache
def imported(file: str) -> frozenset[str]:
    """The modules, and names of modules, that a file of the tree imports itself; none if it is not there."""
    path = gateware_root() / file
    if not path.is_file():
        return frozenset()
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names |= {each.name for each in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names |= {node.module, *(f"{node.module}.{each.name}" for each in node.names)}
            exported = exports(node.module)
            names |= {exported[each.name] for each in node.names if each.name in exported}
    return frozenset(names)


@cache
def exports(package: str) -> dict[str, str]:
    """In which module each name is defined that a package of `sw/` exports; nothing of what is no such package."""
    first, *folders = package.split(".")
    path = gateware_root().joinpath("sw", *folders, "__init__.py")
    if first != "framelane" or not path.is_file():
        return {}
    imports = [node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.ImportFrom)]
    return {each.asname or each.name: node.module for node in imports if node.module for each in node.names}


def files() -> list[str]:
    """The files that the commit of this checkout changes, of a merge against its first parent, and those not committed.

    Where that parent is not there, only those that git does not know yet.
    """
    listed = _git("diff", "--name-only", "HEAD^1") + _git("ls-files", "--others", "--exclude-standard")
    return [path for path in listed.split("\0") if path]


def _git(*arguments: str) -> str:
    """Names that git gives of this checkout, each with a zero behind it; nothing where it fails.

    A copy of a checkout may have other permissions: they are no change.
    """
    command = ["git", "-c", "core.fileMode=false", "-C", str(gateware_root()), *arguments, "-z"]
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout
