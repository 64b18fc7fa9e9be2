"""Bus widths of benches: which of them a run has."""

import os
import subprocess
import zlib
from collections.abc import Sequence
from functools import cache
from typing import TypeVar

from framelane.driver.simulated.library import WIDTHS as ALL_WIDTHS
from framelane.driver.simulated.toolchain import gateware_root

T = TypeVar("T")

WIDTHS = (64, 512)
"""Those that testbenches run; the sources take any of `ALL_WIDTHS`."""


def some_widths(block: str, widths: Sequence[int] = WIDTHS) -> list[int]:
    """The widths that the bench of a block runs: all of `widths`, but what the variable FRAMELANE_WIDTHS says.

    A number is that width alone, where it is one of them. `commit` is one of them, by the commit: so `make test`, while
    `make nightly` runs all. Where there is no commit, all are run.
    """
    wanted = os.environ.get("FRAMELANE_WIDTHS", "all")
    if wanted == "commit":
        return some_of(block, widths)
    if wanted != "all" and wanted not in map(str, ALL_WIDTHS):
        raise ValueError(f"FRAMELANE_WIDTHS={wanted}: give all, commit, or one of {', '.join(map(str, ALL_WIDTHS))}")
    return [width for width in widths if wanted == str(width)] or list(widths)


def some_of(block: str, cases: Sequence[T]) -> list[T]:
    """The same of other cases, as pairs of widths: with `commit` one of them, else all.

    A commit has the case behind its parent's, and blocks begin at different ones.
    """
    turn = turn_of_checkout() if os.environ.get("FRAMELANE_WIDTHS") == "commit" else None
    return list(cases) if turn is None else [cases[(turn + zlib.crc32(block.encode())) % len(cases)]]


def turn_of_checkout() -> int | None:
    """The number of this commit in its history, or one by its digest where that is cut; None without a commit."""
    commit = commit_of_checkout()
    if not commit:
        return None
    if _git("rev-parse", "--is-shallow-repository") == "false":
        return int(_git("rev-list", "--count", "--first-parent", commit))
    return zlib.crc32(commit.encode())


@cache
def commit_of_checkout() -> str:
    """The commit of this checkout; nothing where it is none, as a copy in which faults are planted."""
    return _git("rev-parse", "HEAD") if (gateware_root() / ".git").exists() else ""


@cache
def _git(*arguments: str) -> str:
    """What git says of this checkout; nothing where it fails."""
    command = ["git", "-C", str(gateware_root()), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()
