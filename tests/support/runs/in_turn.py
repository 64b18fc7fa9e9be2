"""Leaves a part of the longest tests to other commits, as `in_turn.toml` says; `make nightly` runs all of them.

With FRAMELANE_WIDTHS=commit (`make test`), and where there is a commit. The summary says how many were left.
"""

import os
import tomllib
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

import widths

LIST = Path(__file__).with_name("in_turn.toml")


def choices(nodeids: Sequence[str], turn: dict[str, Any]) -> list[dict[str, list[str]]]:
    """Among what a turn chooses: its lines, or with `each` the tests of every line; by name the tests of each."""
    lines = {start: [nodeid for nodeid in nodeids if nodeid.startswith(start)] for start in turn["tests"]}
    if turn.get("each"):
        return [{nodeid: [nodeid] for nodeid in line} for line in lines.values()]
    return [{start: line for start, line in lines.items() if line}]


def left(nodeids: Sequence[str], turns: Sequence[dict[str, Any]], commit: str) -> set[str]:
    """The tests that are for other commits: of each choice at least one stays, of those that are there."""
    others = set()
    for turn in turns:
        for choice in choices(nodeids, turn):
            shuffled = sorted(choice, key=lambda name: zlib.crc32(f"{commit} {name}".encode()))
            for name in shuffled[-(-len(shuffled) // turn["one_in"]) :]:
                others.update(choice[name])
    return others


def read(path: Path = LIST) -> list[dict[str, Any]]:
    """The turns."""
    turns: list[dict[str, Any]] = tomllib.loads(path.read_text())["turn"]
    return turns


class InTurn:
    """Of one run."""

    def __init__(self, commit: str) -> None:
        self._commit = commit
        self._left = 0

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        """Take out what is not to run."""
        others = left([item.nodeid for item in items], read(), self._commit)
        if others:
            config.hook.pytest_deselected(items=[item for item in items if item.nodeid in others])
            items[:] = [item for item in items if item.nodeid not in others]


def pytest_configure(config: pytest.Config) -> None:
    """Only in a run of one commit."""
    if os.environ.get("FRAMELANE_WIDTHS") == "commit" and (commit := widths.commit_of_checkout()):
        config.pluginmanager.register(InTurn(commit), "in turn")
