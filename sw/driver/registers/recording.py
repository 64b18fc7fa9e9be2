"""Boards without hardware: every access is kept, and the map alone says what registers do."""

from collections.abc import Iterable
from typing import Literal, NamedTuple

from framelane.base.errors import BoardError
from framelane.driver.registers._register_map import REGISTERS
from framelane.driver.registers.register import Register
from framelane.driver.registers.registers import MAP_BYTES, WORD, WORD_BYTES, Registers, check_access


class Access(NamedTuple):
    """One access: the word at byte `offset`."""

    op: Literal["read", "write"]
    offset: int
    value: int


class RecordingRegisters:
    """Passes accesses on to `target`, and keeps those that it has served in `accesses`."""

    def __init__(self, target: Registers) -> None:
        self._target = target
        self.accesses: list[Access] = []

    def read(self, offset: int) -> int:
        """See `Registers`."""
        value = self._target.read(offset)
        self.accesses.append(Access("read", offset, value))
        return value

    def write(self, offset: int, value: int) -> None:
        """See `Registers`."""
        self._target.write(offset, value)
        self.accesses.append(Access("write", offset, value))

    def close(self) -> None:
        """See `Registers`."""
        self._target.close()


class PaperRegisters:
    """A board that is only a map: registers have their reset values, and keep what may be written.

    `words` are the contents by byte offset, for a test to set what hardware would. A written 1 clears a field of
    access "w1c"; one of access "pulse" reads 0, and what it starts does not happen. What is not a register reads 0.
    """

    def __init__(self, registers: Iterable[Register] = REGISTERS, size: int = MAP_BYTES) -> None:
        self._size = size
        self._closed = False
        self.words: dict[int, int] = {}
        self._kept: dict[int, int] = {}
        self._cleared: dict[int, int] = {}
        for register in registers:
            for index in range(register.count):
                self._add(register, register.offset_of(index))

    def _add(self, register: Register, offset: int) -> None:
        masks = {"rw": 0, "w1c": 0, "r": 0, "pulse": 0}
        reset = 0
        for field in register.fields:
            masks[field.access] |= field.highest << field.lsb
            reset |= field.reset << field.lsb
        for shift in range(0, register.width, 32):
            at = offset + shift // 32 * WORD_BYTES
            self.words[at], self._kept[at] = reset >> shift & WORD, masks["rw"] >> shift & WORD
            self._cleared[at] = masks["w1c"] >> shift & WORD

    def read(self, offset: int) -> int:
        """See `Registers`."""
        self._check(offset)
        return self.words.get(offset, 0)

    def write(self, offset: int, value: int) -> None:
        """See `Registers`."""
        self._check(offset, value)
        kept, cleared, old = self._kept.get(offset, 0), self._cleared.get(offset, 0), self.words.get(offset, 0)
        self.words[offset] = (old & ~kept | value & kept) & ~(value & cleared)

    def _check(self, offset: int, value: int = 0) -> None:
        if self._closed:
            raise BoardError("these registers are closed")
        check_access(offset, self._size, value)

    def close(self) -> None:
        """See `Registers`."""
        self._closed = True
