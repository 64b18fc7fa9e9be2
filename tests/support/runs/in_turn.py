"""Leaves a part of the longest tests to other commits, as `in_turn.toml` says; `make nightly` runs all of them.

With FRAMELANE_WIDTHS=commit (`make test`), and where there is a commit. What the commit changes itself is not left: the
tests of a file that it changes, of the folder of a module that it changes, and those that import such a module; nor
what a turn has where it changes what that is `of`. The summary says how many were left.
"""

import ast
import os
import subprocess
import tomllib
import zlib
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path, PurePath
from typing import Any

import pytest

import widths
from framelane.driver.simulated.toolchain import gateware_root

LIST = Path(__file__).with_name("in_turn.toml")


def choices(nodeids: Sequence[str], turn: dict[str, Any]) -> list[dict[str, list[str]]]:
    """Among what a turn chooses: its lines, or with `each` the tests of every line; by name the tests of each."""
    lines = {start: [nodeid for nodeid in nodeids if nodeid.startswith(start)] for start in turn["tests"]}
    if turn.get("each"):
        return [{nodeid: [nodeid] for nodeid in line} for line in lines.values()]
    return [{start: line for start, line in lines.items() if line}]


def left(nodeids: Sequence[str], turns: Sequence[dict[str, Any]], number: int) -> set[str]:
    """The tests that are for other commits than this `number`: of each choice at least one stays, of those there.

    Those that stay are the ones behind the commit's before, so that as many commits as `one_in` says run all. With
    `none`, so many of these commits have none of several.
    """
    others = set()
    for turn in turns:
        for choice in choices(nodeids, turn):
            shuffled = sorted(choice, key=lambda name: zlib.crc32(name.encode()))
            if len(shuffled) > 1:
                shuffled += [""] * turn.get("none", 0)
            count = -(-len(shuffled) // turn["one_in"])
            stay = {shuffled[(number * count + k) % len(shuffled)] for k in range(count)} if shuffled else set()
            for name in set(shuffled) - stay - {""}:
                others.update(choice[name])
    return others


def waiting(turns: Iterable[dict[str, Any]], changed: Sequence[str]) -> list[dict[str, Any]]:
    """The turns without those that are `of` something that the files `changed` are in: all of such a turn is run."""
    return [turn for turn in turns if not any(path.startswith(tuple(turn.get("of", ()))) for path in changed)]


def of_changes(nodeids: Iterable[str], changed: Iterable[str]) -> set[str]:
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


def changes(commit: str) -> list[str]:
    """The files that a commit changes; none where its parent is not there."""
    command = ["git", "-C", str(gateware_root()), "diff-tree", "-r", "--no-commit-id", "--name-only", commit]
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout.splitlines()


def read(path: Path = LIST) -> list[dict[str, Any]]:
    """The turns."""
    turns: list[dict[str, Any]] = tomllib.loads(path.read_text())["turn"]
    return turns


class InTurn:
    """The plugin of one run."""

    def __init__(self, commit: str, number: int) -> None:
        self._commit = commit
        self._number = number

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        """Take out what is not to run."""
        nodeids = [item.nodeid for item in items]
        changed = changes(self._commit)
        others = left(nodeids, waiting(read(), changed), self._number) - of_changes(nodeids, changed)
        if others:
            config.hook.pytest_deselected(items=[item for item in items if item.nodeid in others])
            items[:] = [item for item in items if item.nodeid not in others]


def pytest_configure(config: pytest.Config) -> None:
    """Only in a run of one commit."""
    number = widths.turn_of_checkout() if os.environ.get("FRAMELANE_WIDTHS") == "commit" else None
    if number is not None:
        config.pluginmanager.register(InTurn(widths.commit_of_checkout(), number), "in turn")
