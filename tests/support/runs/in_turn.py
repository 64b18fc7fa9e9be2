"""Leaves a part of the longest tests to other commits, as `in_turn.toml` says; `make nightly` runs all of them.

With FRAMELANE_WIDTHS=commit (`make test`), and where there is a commit. What the commit changes itself is not left: the
tests of a module that it changes, or of a file of that name, and those that import a changed tool of `scripts/`. The
summary says how many were left.
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

    Those that stay are the ones behind the commit's before, so that as many commits as `one_in` says run all.
    """
    others = set()
    for turn in turns:
        for choice in choices(nodeids, turn):
            shuffled = sorted(choice, key=lambda name: zlib.crc32(name.encode()))
            count = -(-len(shuffled) // turn["one_in"])
            stay = {shuffled[(number * count + k) % len(shuffled)] for k in range(count)} if shuffled else set()
            for name in set(shuffled) - stay:
                others.update(choice[name])
    return others


def of_changes(nodeids: Iterable[str], changed: Iterable[str]) -> set[str]:
    """The tests in the files `changed`; where a file `<name>` of any kind is among them, in `test_<name>.py` too.

    And in `test_<name>_<what>.py` for RTL: some blocks have several benches; and in what imports a tool of `scripts/`.
    """
    paths = [PurePath(path) for path in changed]
    modules = {f"test_{path.stem}" for path in paths} | {p.stem for p in paths if p.stem.startswith("test_")}
    several = tuple(f"test_{path.stem}_" for path in paths if path.suffix == ".sv")
    tools = {path.stem for path in paths if path.suffix == ".py" and path.parts[0] == "scripts"}

    def is_of_them(nodeid: str) -> bool:
        file = nodeid.partition("::")[0]
        name = PurePath(file).stem
        of_block = nodeid.startswith("sim/") and name.startswith(several)
        return name in modules or of_block or bool(tools and tools & imported(file))

    return {nodeid for nodeid in nodeids if is_of_them(nodeid)}


@cache
def imported(file: str) -> frozenset[str]:
    """The modules that a file of the tree imports itself, by the last parts of their names; none if it is not there."""
    path = gateware_root() / file
    if not path.is_file():
        return frozenset()
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names |= {each.name.rpartition(".")[2] for each in node.names}
        elif isinstance(node, ast.ImportFrom):
            names |= {(node.module or "").rpartition(".")[2], *(each.name for each in node.names)}
    return frozenset(names)


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
        others = left(nodeids, read(), self._number) - of_changes(nodeids, changes(self._commit))
        if others:
            config.hook.pytest_deselected(items=[item for item in items if item.nodeid in others])
            items[:] = [item for item in items if item.nodeid not in others]


def pytest_configure(config: pytest.Config) -> None:
    """Only in a run of one commit."""
    number = widths.turn_of_checkout() if os.environ.get("FRAMELANE_WIDTHS") == "commit" else None
    if number is not None:
        config.pluginmanager.register(InTurn(widths.commit_of_checkout(), number), "in turn")
