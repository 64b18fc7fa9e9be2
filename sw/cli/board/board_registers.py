"""`framelane board regs`: registers by name, with what they mean."""

import re
from collections.abc import Iterable, Iterator

from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from framelane.base.errors import BoardError, InputError
from framelane.driver import Board, Capabilities
from framelane.driver.registers._register_map import REGISTERS
from framelane.driver.registers.register_file import RegisterElement


def run(board: Board, items: list[str], console: Console) -> None:
    """Write what `items` give as NAME=VALUE, in their order, then print all that they name; the single ones if none.

    Nothing is written where one of them is wrong: InputError or ConfigError.
    """
    writes = [(name, _number(name, value)) for name, sign, value in (item.partition("=") for item in items) if sign]
    for name, value in writes:
        board.registers.check(name, value)
    there = list(_all(board.probe()))
    shown = [element for item in items for element in _named(board, item.partition("=")[0], there)]
    for name, value in writes:
        _write(board, name, value)
    _show(
        board,
        dict.fromkeys(shown) if items else [element for element in there if not element.register.is_array],
        console,
    )


def _write(board: Board, name: str, value: int) -> None:
    """Write one field; BoardError where it does not keep what it should."""
    board.registers[name] = value
    field = board.registers.find(name).field
    if field and field.access == "rw" and (found := board.registers[name]) != value:
        raise BoardError(
            f"{name} reads {found:#x} after {value:#x} was written: this build has no such entry, or the board is "
            "being reset (`framelane board probe` says both)"
        )


def _number(name: str, text: str) -> int:
    try:
        return int(text, 0)
    except ValueError:
        raise InputError(
            f"{text!r} is not a value for {name}: give a whole number, as in {name}=5 or {name}=0x5"
        ) from None


def _all(capabilities: Capabilities) -> Iterator[RegisterElement]:
    """Every register of this build."""
    sizes = {"flow": capabilities.flows, "destination": capabilities.destinations, "qp": capabilities.qps}
    for register in REGISTERS:
        table = register.name.partition("[]")[0].removesuffix("_counters")
        for index in range(sizes[table] if register.is_array else 1):
            yield RegisterElement(register, index)


def _named(board: Board, name: str, there: Iterable[RegisterElement]) -> list[RegisterElement]:
    """The register or field of that name, or all registers whose names begin with it, with or without an index."""
    begun = [element for element in there if any(f"{each}.".startswith(f"{name}.") for each in _names(element))]
    if begun:
        return begun
    found = board.registers.find(name)
    return [RegisterElement(found.register, found.index)]


def _names(element: RegisterElement) -> tuple[str, str]:
    return element.name, re.sub(r"\[\d+\]", "", element.name)


def _show(board: Board, elements: Iterable[RegisterElement], console: Console) -> None:
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
    table.add_column("offset")
    table.add_column("register")
    table.add_column("value", justify="right")
    table.add_column("decimal", justify="right")
    table.add_column("")
    for element in elements:
        register = element.register
        bits = board.registers.read_bits(element)
        value = f"{bits:#0{register.width // 4 + 2}x}"
        single = len(register.fields) == 1
        decimal = str(register.fields[0].of(bits)) if single else ""
        table.add_row(f"{element.offset:#06x}", escape(element.name), value, decimal, escape(register.description))
        for field in () if single else register.fields:
            table.add_row("", f"  .{field.name}", "", str(field.of(bits)), escape(field.description))
    console.print(table)
