"""Leaves most of the longest tests to other commits, as `in_turn.toml` says; `make nightly` runs all of them.

With FRAMELANE_WIDTHS=commit (`make test`), where there is a commit and nobody asks for certain tests. Not left to
others are the tests of what this commit changes (`changed.py`), and those of a group that is `of` something it changes.
"""

import tomllib
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import pytest

import changed
import whole_run
import widths

LIST = Path(__file__).with_name("in_turn.toml")
COMMIT = "in turn"
"""What the workers of pytest-xdist are told, so that all have the same tests: the commit's number and its files."""


def read(path: Path = LIST) -> list[dict[str, Any]]:
    """The groups."""
    groups: list[dict[str, Any]] = tomllib.loads(path.read_text())["group"]
    return groups


def left(nodeids: Sequence[str], groups: Iterable[dict[str, Any]], number: int) -> set[str]:
    """The tests that are for other commits than this `number`: a line runs in the commits `at`, `at` + `every`, ...

    With `each`, the first test of a line does, and each other one a commit later than the one before it.
    """
    others = set()
    for group in groups:
        for start, line in group["tests"].items():
            found = [nodeid for nodeid in nodeids if nodeid.startswith(start)]
            for k, nodeid in enumerate(found):
                if (number - line["at"] - (k if group.get("each") else 0)) % group["every"]:
                    others.add(nodeid)
    return others


def of_files(nodeids: Iterable[str], groups: Iterable[dict[str, Any]], files: Iterable[str]) -> set[str]:
    """The tests of all groups that are `of` something that the changed `files` are in."""
    asked = [group for group in groups if any(path.startswith(tuple(group.get("of", ()))) for path in files)]
    starts = tuple(start for group in asked for start in group["tests"])
    return {nodeid for nodeid in nodeids if nodeid.startswith(starts)}


class InTurn:
    """The plugin of one run."""

    def __init__(self, number: int, files: Sequence[str]) -> None:
        self._number = number
        self._files = list(files)

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        """Tell a worker which commit it is."""
        node.workerinput[COMMIT] = self._number, self._files

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        """Take out what is not to run."""
        nodeids = [item.nodeid for item in items]
        groups = read()
        of_commit = changed.tests(nodeids, self._files) | of_files(nodeids, groups, self._files)
        others = left(nodeids, groups, self._number) - of_commit
        if others:
            config.hook.pytest_deselected(items=[item for item in items if item.nodeid in others])
            items[:] = [item for item in items if item.nodeid not in others]


def pytest_configure(config: pytest.Config) -> None:
    """Only in a run of one commit."""
    worker = getattr(config, "workerinput", None)
    if worker is not None:
        if COMMIT in worker:
            config.pluginmanager.register(InTurn(*worker[COMMIT]), COMMIT)
    elif whole_run.of_one_commit(config):
        number = widths.turn_of_checkout()
        assert number is not None, "there is a commit"
        config.pluginmanager.register(InTurn(number, changed.files()), COMMIT)
