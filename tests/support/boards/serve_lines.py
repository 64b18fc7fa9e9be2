"""A board that is only a map, at a pty as its serial port: the golden model, served by a thread of this process."""

import contextlib
import os
import select
import threading
import tty
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from framelane.models.remote.uart import UartRegisters
from paper_board import PaperBoard

TOKEN = 0x0123456789ABCDEF


@dataclass
class LineBoard(PaperBoard):
    """What is served at `device`; `spoil` makes of bytes, in both directions, what arrives of them."""

    device: str
    spoil: Callable[[bytes], bytes] = lambda data: data

    def __post_init__(self) -> None:
        self._model = UartRegisters(self.access, lambda: TOKEN)

    def answers(self, data: bytes) -> bytes:
        said = self._model.answers(self.spoil(data))
        return self.spoil(said) if said else b""


@contextlib.contextmanager
def serve_lines() -> Iterator[LineBoard]:
    over = threading.Event()
    ours, theirs = os.openpty()
    tty.setraw(theirs)
    board = LineBoard(os.ttyname(theirs))

    def serve() -> None:
        while not over.is_set():
            if select.select([ours], [], [], 0.02)[0]:
                os.write(ours, board.answers(os.read(ours, 1024)))

    thread = threading.Thread(target=serve)
    thread.start()
    try:
        yield board
    finally:
        over.set()
        thread.join()
        os.close(ours)
        os.close(theirs)
