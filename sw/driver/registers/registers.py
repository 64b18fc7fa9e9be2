"""The seam between the driver and a board: 32-bit words at byte offsets."""

from typing import Protocol

from framelane.base.errors import ConfigError

WORD_BYTES = 4
WORD = 0xFFFF_FFFF
MAP_BYTES = 1 << 16
"""Size of the transmitter's map."""


class Registers(Protocol):
    """The registers of one board, open until `close`. Not for use by several threads at once.

    Every call is one access of 32 bits, and is complete when it returns. ConfigError for an access that cannot be:
    an offset that is not a multiple of 4 or outside the map, a value of more than 32 bits. BoardError where the board
    does not answer, FramelaneError where it is closed.
    """

    def read(self, offset: int) -> int:
        """The word at byte `offset`."""

    def write(self, offset: int, value: int) -> None:
        """Write the word at byte `offset`."""

    def close(self) -> None:
        """Let go of the board, which goes on as it is. May be called twice."""


class Interruptible(Registers, Protocol):
    """Registers of a board whose interrupt reaches this program."""

    def wait_interrupt(self, timeout_s: float) -> bool:
        """Wait for it, so long at most; whether it came, now or since the last call."""


def check_access(offset: int, size: int, value: int = 0) -> None:
    """Raise ConfigError unless a word may lie at `offset` of a map of `size` bytes and hold `value`."""
    if offset % WORD_BYTES:
        raise ConfigError(f"offset {offset:#x} is not a register: give a multiple of {WORD_BYTES}")
    if not 0 <= offset <= size - WORD_BYTES:
        raise ConfigError(f"offset {offset:#x} is outside the map of {size:#x} bytes")
    if not 0 <= value <= WORD:
        raise ConfigError(f"value {value:#x} at offset {offset:#x} does not fit a register: give 0..{WORD:#x}")
