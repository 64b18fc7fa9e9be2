"""Leaves most of the longest tests to other commits, as `in_turn.toml` says; `make nightly` runs all of them.

With FRAMELANE_WIDTHS=commit (`make test`), where there is a commit and nobody asks for certain tests. All commits have
about as much of them, in seconds of processor time. What the commit changes itself is not left (`changed.py`), nor what
a turn has where the commit changes what that is `of`. The summary says how many were left.
"""

import os
import tomllib
import zlib
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import changed
import widths

LIST = Path(__file__).with_name("in_turn.toml")
TURN = "in turn"
"""What the workers of pytest-xdist are told: the number of the commit."""


class Choice(NamedTuple):
    """Tests that are run together, in one of `every` commits."""

    name: str
    nodeids: list[str]
    seconds: float
    every: int


def choices(nodeids: Sequence[str], turns: Iterable[dict[str, Any]]) -> list[Choice]:
    """What runs in some commits: the tests of each line of a turn together, or with `each` every one of them alone."""
    found = []
    for turn in turns:
        for start, seconds in turn["tests"].items():
            line = [nodeid for nodeid in nodeids if nodeid.startswith(start)]
            parts = {nodeid: [nodeid] for nodeid in line} if turn.get("each") else {start: line} if line else {}
            found += [Choice(name, part, seconds / len(parts), turn["every"]) for name, part in parts.items()]
    return found


def commits(of: Iterable[Choice]) -> list[list[Choice]]:
    """What runs in each of as many commits as are needed for all: those that take longest are given to one first.

    Each is given to those commits, one of `every`, that have least together so far.
    """
    ordered = sorted(of, key=lambda choice: (-choice.seconds, choice.every, zlib.crc32(choice.name.encode())))
    rounds: list[list[Choice]] = [[] for _ in range(max((choice.every for choice in ordered), default=1))]
    seconds = [0.0] * len(rounds)
    for choice in ordered:
        first = min(range(choice.every), key=lambda k: (sum(seconds[k :: choice.every]), len(rounds[k])))
        for k in range(first, len(rounds), choice.every):
            rounds[k].append(choice)
            seconds[k] += choice.seconds
    return rounds


def left(nodeids: Sequence[str], turns: Iterable[dict[str, Any]], number: int) -> set[str]:
    """The tests that are for other commits than this `number`."""
    rounds = commits(choices(nodeids, turns))
    stay = {nodeid for choice in rounds[number % len(rounds)] for nodeid in choice.nodeids}
    return {nodeid for each in rounds for choice in each for nodeid in choice.nodeids} - stay


def of_files(nodeids: Iterable[str], turns: Iterable[dict[str, Any]], files: Iterable[str]) -> set[str]:
    """The tests of all turns that are `of` something that the changed `files` are in."""
    asked = [turn for turn in turns if any(path.startswith(tuple(turn.get("of", ()))) for path in files)]
    starts = tuple(start for turn in asked for start in turn["tests"])
    return {nodeid for nodeid in nodeids if nodeid.startswith(starts)}


def read(path: Path = LIST) -> list[dict[str, Any]]:
    """The turns."""
    turns: list[dict[str, Any]] = tomllib.loads(path.read_text())["turn"]
    return turns


class InTurn:
    """The plugin of one run."""

    def __init__(self, number: int) -> None:
        self._number = number

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        """Tell a worker which commit it is."""
        node.workerinput[TURN] = self._number

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        """Take out what is not to run."""
        nodeids = [item.nodeid for item in items]
        turns, files = read(), changed.files(widths.commit_of_checkout())
        of_commit = changed.tests(nodeids, files) | of_files(nodeids, turns, files)
        others = left(nodeids, turns, self._number) - of_commit
        if others:
            config.hook.pytest_deselected(items=[item for item in items if item.nodeid in others])
            items[:] = [item for item in items if item.nodeid not in others]


def turn_of_run(config: pytest.Config) -> int | None:
    """The number of the commit, in a run of all tests of one commit; else None, and all that is asked for runs."""
    if hasattr(config, "workerinput"):
        told: int | None = config.workerinput.get(TURN)
        return told
    some = config.args_source is not pytest.Config.ArgsSource.TESTPATHS or config.option.keyword
    return widths.turn_of_checkout() if os.environ.get("FRAMELANE_WIDTHS") == "commit" and not some else None


def pytest_configure(config: pytest.Config) -> None:
    """Only in a run of one commit."""
    number = turn_of_run(config)
    if number is not None:
        config.pluginmanager.register(InTurn(number), "in turn")
