"""Registers by name, on any board: `registers["flow[2].rectangle.width"] = 5`."""

import difflib
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from framelane.base.errors import ConfigError
from framelane.driver.registers._register_map import REGISTERS
from framelane.driver.registers.register import Field, Register
from framelane.driver.registers.registers import WORD, WORD_BYTES, Registers

_INDEX = re.compile(r"\[(\d*)\]")


@dataclass(frozen=True, slots=True)
class RegisterElement:
    """One register: element `index` of it where it is an array's. `field` is the one that the name asked for."""

    register: Register
    index: int = 0
    field: Field | None = None

    @property
    def name(self) -> str:
        """Its full name, the field's too if there is one."""
        name = self.register.name_of(self.index)
        return f"{name}.{self.field.name}" if self.field and len(self.register.fields) > 1 else name

    @property
    def offset(self) -> int:
        """Byte offset of its first word."""
        return self.register.offset_of(self.index)


class RegisterFile:
    """The registers of `board` under the names of `registers`. ConfigError for a name or a value that cannot be."""

    def __init__(self, board: Registers, registers: Iterable[Register] = REGISTERS) -> None:
        self._board = board
        self._registers = {register.name: register for register in registers}
        self._fields = {f"{r.name}.{field.name}": (r, field) for r in self._registers.values() for field in r.fields}

    def find(self, name: str) -> RegisterElement:
        """The register `name`, or the field of that name: `flow[2].rectangle`, `flow[2].rectangle.width`."""
        bare = _INDEX.sub("[]", name)
        if bare in self._registers:
            register, field = self._registers[bare], None
        elif bare in self._fields:
            register, field = self._fields[bare]
        else:
            raise ConfigError(f"no register or field has the name {name!r}: {self._advice(name, bare)}")
        if field is None and len(register.fields) == 1:
            field = register.fields[0]
        return RegisterElement(register, _index(register, name), field)

    def _advice(self, name: str, bare: str) -> str:
        inside = [register for known, register in self._registers.items() if known.startswith(f"{bare}.")]
        if inside:
            example = inside[0].name_of(_index(inside[0], name))
            return f"there are {len(inside)} behind it, such as {example}"
        without_index = {known.replace("[]", ""): known for known in (*self._fields, *self._registers)}
        near = difflib.get_close_matches(bare.replace("[]", ""), without_index, n=3)
        if not near:
            return "see docs/reference/registers.md"
        return f"did you mean {', '.join(without_index[each] for each in near)}?"

    def read_bits(self, element: RegisterElement) -> int:
        """All bits of a register, the low word read first."""
        words = range(element.register.width // (8 * WORD_BYTES))
        return sum(self._board.read(element.offset + WORD_BYTES * word) << 32 * word for word in words)

    def read_register(self, name: str) -> dict[str, int]:
        """The values of all fields of a register, by name."""
        element = self.find(name)
        bits = self.read_bits(element)
        return {field.name: field.of(bits) for field in element.register.fields}

    def write_register(self, name: str, values: Mapping[str, int]) -> None:
        """Write some fields of a register at once, the low word first. Its other fields keep their values.

        What a written 1 would clear or start is left alone, unless `values` names it.
        """
        element = self.find(name)
        fields = {field.name: field for field in element.register.fields}
        bits = kept = 0
        for key, value in values.items():
            if key not in fields:
                raise ConfigError(f"register {element.name} has no field {key!r}: it has {', '.join(fields)}")
            bits |= _checked(element, fields[key], value) << fields[key].lsb
        for field in element.register.fields:
            if field.access == "rw" and field.name not in values:
                kept |= field.highest << field.lsb
        if kept:
            bits |= self.read_bits(element) & kept
        for word in range(element.register.width // (8 * WORD_BYTES)):
            self._board.write(element.offset + WORD_BYTES * word, bits >> 32 * word & WORD)

    def __getitem__(self, name: str) -> int:
        element, field = self._single(name)
        return field.of(self.read_bits(element))

    def __setitem__(self, name: str, value: int) -> None:
        element, field = self._single(name)
        self.write_register(element.register.name_of(element.index), {field.name: value})

    def check(self, name: str, value: int) -> None:
        """Raise ConfigError unless `value` may be written to the register or field `name`."""
        element, field = self._single(name)
        _checked(element, field, value)

    def _single(self, name: str) -> tuple[RegisterElement, Field]:
        element = self.find(name)
        if element.field is None:
            fields = [field.name for field in element.register.fields]
            listed = ", ".join(fields)
            raise ConfigError(f"register {name} has the fields {listed}: name one, as in {name}.{fields[0]}")
        return element, element.field


def _index(register: Register, name: str) -> int:
    """The index that `name` has for the array `register`, 0 where it is none."""
    if not register.is_array:
        return 0
    (text,) = _INDEX.findall(name)
    if not text or int(text) >= register.count:
        raise ConfigError(
            f"there is no {name}: there are {register.name_of(0)} to {register.name_of(register.count - 1)}"
        )
    return int(text)


def _checked(element: RegisterElement, field: Field, value: int) -> int:
    name = RegisterElement(element.register, element.index, field).name
    if field.access == "r":
        raise ConfigError(f"{name} is read only")
    if not 0 <= value <= field.highest:
        raise ConfigError(f"{name} = {value} does not fit its {field.width} bits: give 0..{field.highest}")
    return value
