"""Registers over a UART: what the driver makes of noise, of silence, and of what is not a board."""

import itertools
import os
import tty
from collections.abc import Iterator
from pathlib import Path

import pytest

from framelane.base.errors import BoardError, ConfigError
from framelane.driver import open_board
from framelane.driver.registers import uart_registers
from framelane.driver.registers.uart_registers import UartRegisters
from serve_lines import TOKEN, LineBoard, serve_lines

TABLE = 0x1000
"""Words that keep what is written."""


@pytest.fixture
def board() -> Iterator[LineBoard]:
    with serve_lines() as served:
        yield served


@pytest.fixture
def registers(board: LineBoard) -> Iterator[UartRegisters]:
    registers = UartRegisters(board.device)
    yield registers
    registers.close()


def test_a_board_is_opened_by_its_port_and_tells_its_token(board: LineBoard) -> None:
    with open_board(f"uart:{board.device}") as opened:
        assert opened.registers["identity"] == board.registers.read(0)
        assert opened.token == TOKEN


def test_what_comes_wrong_is_asked_again_and_each_write_is_done_once(
    board: LineBoard, registers: UartRegisters
) -> None:
    written: list[int] = []
    write = board.registers.write

    def noted(offset: int, value: int) -> None:
        written.append(offset)
        write(offset, value)

    board.registers.write = noted  # type: ignore[method-assign]
    turn = itertools.cycle([False, True, False, False, False])
    board.spoil = lambda data: b"#" + data if data[:1] in b"rwt" and next(turn) else data
    for k in range(8):
        registers.write(TABLE + 4 * k, k)
    assert [registers.read(TABLE + 4 * k) for k in range(8)] == list(range(8))
    assert written == [TABLE + 4 * k for k in range(8)]


def test_a_line_that_somebody_has_begun_is_ended_first(board: LineBoard) -> None:
    with Path(board.device).open("wb", buffering=0) as before:
        before.write(b"w1000")
    registers = UartRegisters(board.device)
    assert registers.read(0) == board.registers.read(0)
    registers.close()


def test_a_write_without_an_answer_is_not_repeated(
    board: LineBoard, registers: UartRegisters, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(uart_registers, "_ANSWER_S", 0.2)
    heard: list[bytes] = []

    def silent(data: bytes) -> bytes:
        heard.append(data)
        return b"" if data.startswith(b"=") else data

    board.spoil = silent
    with pytest.raises(BoardError, match="does not write offset 0x1000: it gives no answer"):
        registers.write(TABLE, 1)
    assert len([data for data in heard if data.startswith(b"w")]) == 1
    with pytest.raises(BoardError, match="does not read offset 0x1000"):
        registers.read(TABLE)
    assert len([data for data in heard if data.startswith(b"r")]) == 3


def test_a_write_of_another_value_is_said(board: LineBoard, registers: UartRegisters) -> None:
    board.spoil = lambda data: data.replace(b"00000001", b"00000003") if data.startswith(b"w") else data
    with pytest.raises(BoardError, match="has written 0x3 to offset 0x1000, not 0x1: there is noise"):
        registers.write(TABLE, 1)


def test_an_error_of_the_bus_is_said(board: LineBoard, registers: UartRegisters) -> None:
    board.broken = 0x20
    with pytest.raises(BoardError, match="cannot read offset 0x20: its bus says 2"):
        registers.read(0x20)
    with pytest.raises(BoardError, match="cannot write offset 0x20: its bus says 2"):
        registers.write(0x20, 1)


def test_a_port_without_a_board(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(uart_registers, "_ANSWER_S", 0.1)
    ours, theirs = os.openpty()
    tty.setraw(theirs)
    registers = UartRegisters(os.ttyname(theirs))
    with pytest.raises(BoardError, match="does not read offset 0x0: it gives no answer, or not one of a board"):
        registers.read(0)
    registers.close()
    registers.close()
    os.close(ours)
    os.close(theirs)


def test_what_is_no_serial_port_is_said(tmp_path: Path) -> None:
    with pytest.raises(BoardError, match="no board at /dev/no-such-port: No such file"):
        UartRegisters("/dev/no-such-port")
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(BoardError, match="file is not a serial port: Inappropriate ioctl"):
        UartRegisters(str(tmp_path / "file"))
    with pytest.raises(ConfigError, match="'uart:' names no serial port: give one, as uart:/dev/ttyUSB0"):
        open_board("uart:")
