"""The parameters and ports of a top, read from its header, as plain Verilog has them: a struct is a vector."""

import math
import re
from dataclasses import dataclass
from pathlib import Path

_STRUCT = re.compile(r"typedef struct packed \{\n(.*?)\n  \} (\w+);", re.DOTALL)
_ENUM = re.compile(r"typedef enum logic *((?:\[[^]]+\])?) *\{.*?\} (\w+);", re.DOTALL)
_FIELD = re.compile(r"^\s*(\w+)\s*((?:\[[^]]+\]\s*)*)\s*(\w+);", re.MULTILINE)
_CONSTANT = re.compile(r"localparam int unsigned (\w+) = ((?:\w+ \* )?\w+);")
_PARAMETER = re.compile(r"^ *(parameter|localparam) +(int unsigned|bit) +(\w+) *= *([^,\n]+?),?$", re.MULTILINE)
_PORT = re.compile(r"^ *(input|output) +(\w+) *((?:\[[^]]+\] *)*)(\w+),?$", re.MULTILINE)
_RANGE = re.compile(r"\[ *([^]:]+?) *: *0 *\]")


@dataclass(frozen=True)
class Parameter:
    """A parameter of a top: its default as Verilog writes it."""

    name: str
    value: str
    is_flag: bool


@dataclass(frozen=True)
class Port:
    """A port of a top. `msb` is the highest bit in terms of the parameters, nothing for a single bit."""

    name: str
    is_input: bool
    msb: str
    clock: str
    """The clock port that stands before it."""
    several: int = 0
    """How many ports of this width the top has as an array; 0 where it is none."""


@dataclass(frozen=True)
class Top:
    """A module as others instantiate it."""

    name: str
    says: str
    """The first sentence of its file."""
    parameters: tuple[Parameter, ...]
    ports: tuple[Port, ...]


def widths(packages: str) -> dict[str, int]:
    """Bits of the structs and enums in the text of packages, each of which stands behind those that it uses."""
    found = {"logic": 1, "bit": 1}
    found |= {name: _bits(vector, {}) for vector, name in _ENUM.findall(packages)}
    constants = _constants(packages)
    waiting = {name: re.sub(r"//.*", "", body) for body, name in _STRUCT.findall(packages)}
    while waiting:
        ready = {n: b for n, b in waiting.items() if all(kind in found for kind, _, _ in _FIELD.findall(b))}
        if not ready:
            raise ValueError(f"{', '.join(sorted(waiting))}: structs with fields of unknown types")
        for name, body in ready.items():
            found[name] = sum(found[kind] * _bits(vectors, constants) for kind, vectors, _ in _FIELD.findall(body))
            del waiting[name]
    return found


def _constants(packages: str) -> dict[str, int]:
    """The constants that are numbers, or the product of two that stand before them."""
    found: dict[str, int] = {}
    for name, value in _CONSTANT.findall(packages):
        factors = [found.get(word, word) for word in value.split(" * ")]
        if all(str(factor).isdecimal() for factor in factors):
            found[name] = math.prod(map(int, factors))
    return found


def _bits(vectors: str, constants: dict[str, int]) -> int:
    """The product of the sizes in `[7:0][1:0]`."""
    bits = 1
    for msb in _RANGE.findall(vectors):
        number = re.fullmatch(r"(\w+) *(?:- *(\d+))?", msb)
        if not number:
            raise ValueError(f"[{msb}:0]: write it as a number, or as CONSTANT-1")
        bits *= int(constants.get(number[1], number[1])) - int(number[2] or 0) + 1
    return bits


def read(source: str, packages: str) -> Top:
    """The top in the text `source`; `packages` is the text of those that it imports.

    ValueError for a line of its header that is not understood.
    """
    constants = _constants(packages)
    of_type = widths(packages)
    code = re.sub(r"//.*", "", source)
    header = code[re.search(r"^module ", code, re.MULTILINE).start() : code.index("\n);\n") + 1]  # type: ignore[union-attr]
    head, _, body = header.partition("\n) (\n")
    local: dict[str, str] = {}
    parameters: list[Parameter] = []
    for kind, what, name, value in _PARAMETER.findall(re.sub(r" +$", "", head, flags=re.MULTILINE)):
        if kind == "localparam":
            local[name] = value
        else:
            parameters.append(Parameter(name, value.replace("_", ""), what == "bit"))
    ports: list[Port] = []
    clock = ""
    for line in filter(str.strip, re.sub(r" +$", "", body, flags=re.MULTILINE).splitlines()):
        found = _PORT.fullmatch(line)
        if not found or found[2] not in of_type or len(_RANGE.findall(found[3])) != found[3].count("["):
            raise ValueError(f"{line.strip()}: not a port of one name and a known type")
        direction, kind, vectors, name = found.groups()
        clock = name if name.endswith("clk") else clock
        ranges = _RANGE.findall(vectors)
        several = 0
        if kind != "logic":
            msb = str(of_type[kind] - 1)
        else:
            if ranges and (array := re.fullmatch(r"(\w+) *- *1", ranges[0])) and array[1] in constants:
                several = constants[array[1]]
                ranges = ranges[1:]
            msb = ranges[0] if ranges else ""
        for constant, value in local.items():
            msb = re.sub(rf"\b{constant}\b", value.replace(" / ", "/"), msb)
        ports.append(Port(name, direction == "input", re.sub(r" *- *", "-", msb), clock, several))
    name = re.match(r"module (\w+)", header)
    said = re.match(r"((?://.*\n)+)", source)
    sentence = re.sub(r"\n// ?", " ", said[1] if said else "").removeprefix("//").strip().partition(". ")[0]
    return Top(name[1] if name else "", sentence, tuple(parameters), tuple(ports))


def read_top(name: str, root: Path) -> Top:
    """The top of that name in `root`/hw."""
    packages = "\n".join(path.read_text() for path in sorted((root / "hw").rglob("*_pkg.sv")))
    return read(next((root / "hw").rglob(f"{name}.sv")).read_text(), packages)
