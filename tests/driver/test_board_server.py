"""A board at a local socket: its user's alone, served whatever its clients say; what is wrong is said."""

import contextlib
import os
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from framelane.base.errors import BoardError, ConfigError, InputError
from framelane.driver import open_board
from framelane.driver.registers import socket_registers
from framelane.driver.registers.recording import PaperRegisters
from framelane.driver.registers.register_file import RegisterFile
from framelane.driver.registers.registers import MAP_BYTES
from framelane.driver.registers.socket_lines import CHUNK, GREETING, MAX_LINE
from framelane.driver.registers.socket_registers import open_socket
from framelane.driver.simulated.board_server import MOST_CLIENTS
from framelane.driver.simulated.board_socket import listening
from serve_board import PaperBoard, serve_board

SCRATCH = RegisterFile(PaperRegisters()).find("scratch").offset


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "board.sock"


@pytest.fixture
def board(path: Path) -> Iterator[PaperBoard]:
    with serve_board(path) as board:
        yield board


class Client:
    """Says lines to the board as they are."""

    def __init__(self, path: Path) -> None:
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(10)
        self.socket.connect(str(path))
        self._file = self.socket.makefile("rb")
        assert self.line() == GREETING

    def line(self) -> str:
        return self._file.readline().decode().rstrip("\n")

    def ask(self, line: str) -> str:
        self.socket.sendall(line.encode() + b"\n")
        return self.line()

    def close(self) -> None:
        self._file.close()
        self.socket.close()


@pytest.mark.parametrize(
    ("said", "answer"),
    [
        ("", "'' is not a request: say `read OFFSET`, `write OFFSET VALUE`, `interrupt` or `memory ADDRESS HEX`"),
        ("read", "'read' is not a request"),
        ("read 0x10 5", "is not a request"),
        ("interrupt 1", "is not a request"),
        ("READ 0x10", "is not a request"),
        ("read -4", "offset -0x4 is outside the map of 0x10000 bytes"),
        ("read 0x11", "offset 0x11 is not a register"),
        (f"write {MAP_BYTES} 1", "is outside the map"),
        ("write 0x10 0x100000000", "does not fit a register"),
        ("memory 0 abc", "is not a request"),
        (f"memory 0 {'00' * (CHUNK + 1)}", "16384 bytes at most"),
        ("\xff\x00\x1b[2J", "is not a request"),
        ("write 0x10 " + "9" * 5000, "is not a request"),
        (f"read {PaperBoard.broken}", "a fault of framelane's own: RuntimeError('a fault')"),
    ],
)
def test_a_bad_request_is_refused_with_a_sentence_and_the_next_one_served(
    path: Path, board: PaperBoard, said: str, answer: str
) -> None:
    with contextlib.closing(Client(path)) as client:
        refused = client.ask(said)
        assert refused.startswith("refused: ")
        assert answer in refused
        assert refused.isprintable()
        assert client.ask(f"write {SCRATCH:#x} 7") == "done"
        assert client.ask(f"read {SCRATCH}") == "0x00000007"


def test_endless_lines_too_many_clients_and_those_that_go_stop_nobody(path: Path, board: PaperBoard) -> None:
    with contextlib.ExitStack() as held, contextlib.closing(open_socket(str(path))) as registers:
        registers.write(SCRATCH, 9)
        endless = held.enter_context(contextlib.closing(Client(path)))
        with contextlib.suppress(OSError):
            endless.socket.sendall(b"r" * (MAX_LINE + 4096))
        assert "65536 bytes at most" in endless.line()
        gone = Client(path)
        gone.socket.sendall(b"read 0x10\n" * 1000)
        gone.close()
        deaf = held.enter_context(contextlib.closing(Client(path)))
        deaf.socket.settimeout(0.5)
        with contextlib.suppress(OSError):
            deaf.socket.sendall(b"read 0x10\n" * 100_000)
        many = []
        for _ in range(3 * MOST_CLIENTS):
            many.append(held.enter_context(contextlib.closing(Client(path))))
            assert registers.read(SCRATCH) == 9
        assert many[-1].ask(f"read {SCRATCH}") == "0x00000009"
        with contextlib.suppress(ConnectionError):
            assert many[0].line() == "", "it was silent for the longest, and is left"


def test_memory_is_brought_in_pieces(path: Path, board: PaperBoard) -> None:
    data = os.urandom(2 * CHUNK + 3)
    with contextlib.closing(open_socket(str(path))) as registers:
        registers.write_memory(0x1000, data)
    assert [*board.memory] == [0x1000, 0x1000 + CHUNK, 0x1000 + 2 * CHUNK]
    assert b"".join(board.memory.values()) == data


def test_the_socket_is_its_users_alone_and_goes_with_the_board(path: Path) -> None:
    mask = os.umask(0)
    try:
        with serve_board(path):
            assert path.stat().st_mode & 0o777 == 0o600
            assert os.umask(0) == 0, "the umask is as it was"
    finally:
        os.umask(mask)
    assert not path.exists()


def test_a_second_board_at_the_same_socket_is_refused_and_the_first_goes_on(path: Path, board: PaperBoard) -> None:
    with pytest.raises(ConfigError, match=r"a board is served at .*board\.sock: use it, end it"), listening(path):
        pass
    with contextlib.closing(open_socket(str(path))) as registers:
        registers.write(SCRATCH, 3)


def test_a_socket_that_nobody_listens_on_is_replaced_and_another_file_is_not(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as left:
        left.bind(str(path))
        left.listen()
    assert path.is_socket(), "as a killed process leaves it"
    with serve_board(path), contextlib.closing(open_socket(str(path))) as registers:
        assert registers.read(SCRATCH) == 0
    path.write_text("mine")
    with pytest.raises(InputError, match=r"is there, and is not a socket: give another name"), listening(path):
        pass
    assert path.read_text() == "mine"


def test_a_socket_that_another_board_has_by_now_is_left_to_it(path: Path) -> None:
    with contextlib.ExitStack() as other:
        with listening(path):
            path.unlink()
            other.enter_context(listening(path))
        assert path.is_socket()
    assert not path.exists()


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda path: None, r"there is none: start it by `framelane board serve --socket .*board.sock`"),
        (lambda path: path.write_text(""), r"has gone: start it anew|is not a socket"),
    ],
    ids=["nothing", "a file"],
)
def test_a_client_is_told_why_there_is_no_board(path: Path, make: object, sentence: str) -> None:
    make(path)  # type: ignore[operator]
    with pytest.raises(BoardError, match=sentence):
        open_board(f"sim:{path}")


def test_a_name_that_no_socket_can_have_is_refused(tmp_path: Path) -> None:
    long = tmp_path / ("x" * 120)
    with pytest.raises(InputError, match="1 to 107 bytes"):
        open_board(f"sim:{long}")
    with pytest.raises(InputError, match="107 bytes at most: give a shorter one"), listening(long):
        pass


def test_a_client_of_a_board_that_goes_is_told_so(path: Path) -> None:
    with serve_board(path):
        registers = open_socket(str(path))
    with contextlib.closing(registers), pytest.raises(BoardError, match=r"has gone: its `framelane board serve` was"):
        registers.read(SCRATCH)


def test_an_answer_that_comes_late_is_nobodys(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(socket_registers, "_ANSWER_S", 0.1)
    late = threading.Event()

    def answer() -> None:
        connection, _ = other.accept()
        with connection, contextlib.suppress(OSError):
            connection.sendall(f"{GREETING}\n".encode())
            connection.recv(1024)
            late.wait(10)
            connection.sendall(b"0x00000001\n")

    with socket.socket(socket.AF_UNIX) as other:
        other.bind(str(path))
        other.listen()
        thread = threading.Thread(target=answer)
        thread.start()
        with contextlib.closing(open_socket(str(path))) as registers:
            with pytest.raises(BoardError, match=r"has not answered for 0\.1 s"):
                registers.read(SCRATCH)
            late.set()
            thread.join()
            with pytest.raises(BoardError, match=r"has not answered for 0\.1 s"):
                registers.read(SCRATCH)


@pytest.mark.parametrize(
    ("answers", "sentence"),
    [
        ([b"HTTP/1.1 400 Bad Request\n"], "not a board that this software knows: it says 'HTTP/1.1 400 Bad Request'"),
        ([b"framelane-registers-1\n", b"done\n"], "has answered 'done', which is not a word"),
        ([b"framelane-registers-1\n", b"x" * (2 * MAX_LINE)], "says more than a board does"),
    ],
)
def test_what_is_no_board_is_not_believed(path: Path, answers: list[bytes], sentence: str) -> None:
    def answer() -> None:
        connection, _ = other.accept()
        with connection, contextlib.suppress(OSError):
            for each in answers:
                connection.sendall(each)
                connection.recv(1024)

    with socket.socket(socket.AF_UNIX) as other:
        other.bind(str(path))
        other.listen()
        thread = threading.Thread(target=answer)
        thread.start()
        with pytest.raises(BoardError, match=sentence), contextlib.closing(open_socket(str(path))) as registers:
            registers.read(SCRATCH)
        thread.join()


def test_an_interrupt_of_the_board_ends_the_waiting(path: Path, board: PaperBoard) -> None:
    with contextlib.closing(open_socket(str(path))) as registers:
        begun = time.monotonic()
        assert not registers.wait_interrupt(0.1)
        assert time.monotonic() - begun >= 0.1
        raising = threading.Timer(0.1, lambda: setattr(board, "raised", True))
        raising.start()
        assert registers.wait_interrupt(10)
        assert time.monotonic() - begun < 10
        raising.join()
