"""What a register map is made of: registers and their fields, as data. The map itself is in `_register_map`."""

from dataclasses import dataclass
from typing import Literal

Access = Literal["r", "rw", "w1c", "pulse"]
"""Read only; read and write; a 1 written clears what is set; a 1 written does something once, and 0 is read."""


@dataclass(frozen=True, slots=True)
class Field:
    """Bits `lsb` to `lsb + width - 1` of a register; `reset` is what is read before anything is written."""

    name: str
    lsb: int
    width: int
    access: Access
    reset: int
    description: str

    @property
    def highest(self) -> int:
        """The largest value."""
        return (1 << self.width) - 1

    def of(self, bits: int) -> int:
        """The field's value in a register that reads `bits`."""
        return bits >> self.lsb & self.highest


@dataclass(frozen=True, slots=True)
class Register:
    """One register of `width` 32 or 64 bits at byte `offset`, or an array of `count`, `stride` bytes apart.

    A register of 64 bits is two words, the low one first. The name of an array's register has `[]` where the index
    goes, as in `flow[].place`.
    """

    name: str
    offset: int
    width: int
    fields: tuple[Field, ...]
    count: int = 1
    stride: int = 0
    description: str = ""

    @property
    def is_array(self) -> bool:
        """Whether its name takes an index."""
        return "[]" in self.name

    def offset_of(self, index: int) -> int:
        """Byte offset of element `index`."""
        return self.offset + index * self.stride

    def name_of(self, index: int) -> str:
        """The name of element `index`."""
        return self.name.replace("[]", f"[{index}]")
