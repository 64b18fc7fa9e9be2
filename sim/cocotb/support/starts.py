"""What is in the registers of a design before anything has set them: random bits, by seeds."""

import os
import zlib

from widths import commit_of_checkout

UNKNOWN = ("--x-initial", "unique", "--x-assign", "unique")
"""Options of Verilator: what nothing has set yet, and what the code calls unknown, is anything, by a run's seed."""


def starts(block: str, seed: int) -> list[int]:
    """The seeds of registers for the runs of a bench: one, or as many as the variable FRAMELANE_STARTS says.

    They are other ones with each commit, and for each `seed` of the bench. The variable FRAMELANE_START is one of them,
    to see a failure again.
    """
    if start := os.environ.get("FRAMELANE_START"):
        return [int(start)]
    count = int(os.environ.get("FRAMELANE_STARTS", "1"))
    return [zlib.crc32(f"{commit_of_checkout()} {block} {seed} {k}".encode()) >> 1 for k in range(count)]


def arguments(start: int) -> list[str]:
    """Arguments of a simulation that starts so."""
    return ["+verilator+rand+reset+2", f"+verilator+seed+{start}"]
