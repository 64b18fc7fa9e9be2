"""Values of signals as numbers, without cocotb's four-state types in between."""

from typing import Any


def twice(handle: Any) -> int:
    """The byte that a port has twice, each for a part of its readers: one of them, as the gateware asserts."""
    return now(handle) & 0xFF


def now(handle: Any) -> int:
    """The value of a signal.

    `int(handle.value)` is the same, and takes five times as long: Verilator knows two states, so that there is nothing
    for a LogicArray to say.
    """
    return int(handle._handle.get_signal_val_binstr(), 2)
