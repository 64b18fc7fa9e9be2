"""A board that is only a map, served at a local socket by a thread of this process."""

import contextlib
import threading
from collections.abc import Iterator
from pathlib import Path

from framelane.driver.registers.recording import PaperRegisters
from framelane.driver.simulated.board_server import BoardServer, Served
from framelane.driver.simulated.board_socket import listening


class PaperBoard(PaperRegisters):
    """Keeps what is written to its memory; there is a fault in it at `broken`."""

    broken = 0xFFF8

    def __init__(self) -> None:
        super().__init__()
        self.memory: dict[int, bytes] = {}
        self.raised = False

    def read(self, offset: int) -> int:
        if offset == self.broken:
            raise RuntimeError("a fault")
        return super().read(offset)

    def interrupt(self) -> bool:
        return self.raised

    def write_memory(self, address: int, data: bytes) -> None:
        self.memory[address] = data


@contextlib.contextmanager
def serving(path: Path, board: Served) -> Iterator[None]:
    over = threading.Event()

    def serve() -> None:
        while not over.is_set():
            server.attend(0.02, 0.02)

    with listening(path) as listener, contextlib.closing(BoardServer(listener, board)) as server:
        thread = threading.Thread(target=serve)
        thread.start()
        try:
            yield
        finally:
            over.set()
            thread.join()


@contextlib.contextmanager
def serve_board(path: Path) -> Iterator[PaperBoard]:
    board = PaperBoard()
    with serving(path, board):
        yield board
