"""Values of signals as numbers, without cocotb's four-state types in between."""

import os
from collections.abc import Callable
from typing import Any

from cocotb.handle import LogicArrayObject, LogicObject, PackedObject
from cocotb.triggers import ReadOnly, current_gpi_trigger


def twice(handle: Any) -> int:
    """The byte that a port has twice, each for a part of its readers: one of them, as the gateware asserts."""
    return now(handle) & 0xFF


def now(handle: Any) -> int:
    """The value of a signal.

    `int(handle.value)` is the same, and takes five times as long: Verilator knows two states, so that there is nothing
    for a LogicArray to say.
    """
    return int(handle._handle.get_signal_val_binstr(), 2)


def reader(handle: Any) -> Callable[[], int]:
    """What gives the value of a signal: `now` of it in a fifth of the time, for what is read in each cycle."""
    short: Callable[[], int] = handle._handle.get_signal_val_long
    text: Callable[[], str] = handle._handle.get_signal_val_binstr
    return short if len(handle) < 32 else lambda: int(text(), 2)


def write_numbers_at_once() -> None:
    """Let `handle.value = number` be one call of the simulator's, where cocotb makes eight of its own.

    Only where cocotb trusts the simulator's writes: then they come to the same. What is no number that fits goes
    through cocotb.
    """
    kinds: tuple[Any, ...] = (LogicObject, LogicArrayObject, PackedObject)
    for kind in kinds if os.environ.get("COCOTB_TRUST_INERTIAL_WRITES") else ():
        kind.value = property(kind.value.fget, _writes(kind.value.fset, is_bit=kind is LogicObject))


def _writes(slow: Any, *, is_bit: bool) -> Any:
    def write(handle: Any, value: Any) -> None:
        signal = handle._handle
        bits = 1 if is_bit else signal.get_num_elems()
        if value.__class__ not in (int, bool) or value >> bits or isinstance(current_gpi_trigger(), ReadOnly):
            slow(handle, value)
        elif is_bit or bits > 32:
            signal.set_signal_val_binstr(0, f"{value:0{bits}b}")
        else:
            signal.set_signal_val_int(0, value)

    return write
