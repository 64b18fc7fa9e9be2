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
    """The same of other cases, as pairs of widths: with `commit` one of them, else all."""
    commit = commit_of_checkout() if os.environ.get("FRAMELANE_WIDTHS") == "commit" else ""
    return [cases[zlib.crc32(f"{commit} {block}".encode()) % len(cases)]] if commit else list(cases)


@cache
def commit_of_checkout() -> str:
    """The commit of this checkout; nothing where it is none, as a copy in which faults are planted."""
    if not (gateware_root() / ".git").exists():
        return ""
    done = subprocess.run(
        ["git", "-C", str(gateware_root()), "rev-parse", "HEAD"], capture_output=True, text=True, check=False
    )
    return done.stdout.strip()
