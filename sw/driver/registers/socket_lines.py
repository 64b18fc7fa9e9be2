"""What a client and a board that is served on a local socket say to each other: lines of ASCII (docs/howto/board.md).

    board:  framelane-registers-1
    client: read 0x20
    board:  0x00000001
    client: write 0x1c 0x1
    board:  done
    client: memory 0x1000000 00ff41
    board:  done
    client: interrupt
    board:  0x00000000
    client: read 0x21
    board:  refused: offset 0x21 is not a register: give a multiple of 4

Every line of the client is answered by one of the board, in order. The board keeps its state when a client goes.
"""

from typing import NamedTuple

GREETING = "framelane-registers-1"
DONE = "done"
REFUSED = "refused: "
MAX_LINE = 1 << 16
"""Bytes of a line at most."""
CHUNK = 1 << 14
"""Bytes of memory in a line."""
_MOST_QUOTED = 40


class Read(NamedTuple):
    """The word at byte `offset` is asked for."""

    offset: int

    def line(self) -> str:
        """The request as a line of text."""
        return f"read {self.offset:#x}"


class Write(NamedTuple):
    """`value` goes to the word at byte `offset`."""

    offset: int
    value: int

    def line(self) -> str:
        """The request as a line of text."""
        return f"write {self.offset:#x} {self.value:#x}"


class WriteMemory(NamedTuple):
    """`data` goes to `address` of the board's memory."""

    address: int
    data: bytes

    def line(self) -> str:
        """The request as a line of text."""
        return f"memory {self.address:#x} {self.data.hex()}"


class Interrupt(NamedTuple):
    """Whether the board's interrupt is up now is asked for."""

    def line(self) -> str:
        """The request as a line of text."""
        return "interrupt"


Request = Read | Write | WriteMemory | Interrupt


def request(line: str) -> Request:
    """What a client has said; ValueError, with a sentence, where it is none of this."""
    try:
        match line.split():
            case ["read", offset]:
                return Read(int(offset, 0))
            case ["write", offset, value]:
                return Write(int(offset, 0), int(value, 0))
            case ["interrupt"]:
                return Interrupt()
            case ["memory", address, data] if len(data) <= 2 * CHUNK:
                return WriteMemory(int(address, 0), bytes.fromhex(data))
    except ValueError:
        pass
    raise ValueError(
        f"{line[:_MOST_QUOTED]!r} is not a request: say `read OFFSET`, `write OFFSET VALUE`, `interrupt` or "
        f"`memory ADDRESS HEX`, {CHUNK} bytes at most"
    )
