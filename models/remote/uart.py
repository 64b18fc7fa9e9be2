"""Registers over a UART: bytes on its line, and answers to lines of text (docs/integrating/uart_registers.md)."""

from collections.abc import Callable
from dataclasses import dataclass, field

from framelane.models.remote.udp_registers import OKAY, Access, Target, read, write

BAUD = 115_200
BITS = 10
"""A byte has so many on the line, with its start and stop bit."""
_ADDRESS, _DATA = 4, 8
"""Digits."""
_BLANKS = b" \r"
_LETTERS = b"0123456789abcdefABCDEF"


def levels(byte: int) -> list[int]:
    """The line's level in each of the `BITS` bits of a byte: 0 to start, the least significant bit first, 1 to stop."""
    return [0, *(byte >> k & 1 for k in range(8)), 1]


def byte_of(bits: list[int]) -> int | None:
    """The byte of those levels; None where start or stop bit are not right."""
    right = len(bits) == BITS and bits[0] == 0 and bits[-1] == 1
    return sum(bit << k for k, bit in enumerate(bits[1:-1])) if right else None


@dataclass
class UartRegisters:
    """The board: what it answers to bytes, in the order in which they come."""

    target: Target
    show: Callable[[], int] = lambda: 0
    """The token of the registers over UDP, which is fixed from then on."""
    _line: bytearray = field(default_factory=bytearray, init=False)

    def answers(self, data: bytes) -> bytes:
        """What goes back when `data` have come."""
        said = b""
        for byte in data:
            if byte != ord("\n"):
                self._line.append(byte)
                continue
            line = bytes(byte for byte in self._line if byte not in _BLANKS)
            self._line.clear()
            if line:
                said += self._answer(line) + b"\n"
        return said

    def _answer(self, line: bytes) -> bytes:
        command, digits = line[:1], line[1:]
        if any(digit not in _LETTERS for digit in digits):
            return b"?"
        if (command, len(digits)) == (b"t", 0):
            return b"=%016x" % self.show()
        if (command, len(digits)) == (b"r", _ADDRESS):
            return self._access(read(int(digits, 16)))
        if (command, len(digits)) == (b"w", _ADDRESS + _DATA):
            return self._access(write(int(digits[:_ADDRESS], 16), int(digits[_ADDRESS:], 16)))
        return b"?"

    def _access(self, access: Access) -> bytes:
        done = self.target(access)
        return b"!%x" % done.operation if done.operation != OKAY else b"=%08x" % done.data
