"""The contract of `Registers`, on every backend."""

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from framelane.base.errors import ConfigError, FramelaneError
from framelane.driver.registers.mmap_registers import open_pci, open_uio
from framelane.driver.registers.recording import PaperRegisters, RecordingRegisters
from framelane.driver.registers.register_file import RegisterFile
from framelane.driver.registers.registers import MAP_BYTES, Registers
from framelane.driver.registers.socket_registers import open_socket
from framelane.driver.registers.uart_registers import UartRegisters
from framelane.driver.registers.udp_registers import UdpRegisters
from framelane.driver.simulated.verilated import SimulatedRegisters
from serve_board import serve_board
from serve_datagrams import serve_datagrams
from serve_lines import serve_lines

MakeUio = Callable[..., Path]
MakePci = Callable[..., Path]
SCRATCH = RegisterFile(PaperRegisters()).find("scratch").offset
LOW, HIGH = SCRATCH - 4, SCRATCH + 4


@pytest.fixture(params=["paper", "recording", "uio", "pci", "sim", "socket", "udp", "uart"])
def board(request: pytest.FixtureRequest, make_uio: MakeUio, make_pci: MakePci, tmp_path: Path) -> Iterator[Registers]:
    makers: dict[str, Callable[[], Registers]] = {
        "paper": PaperRegisters,
        "recording": lambda: RecordingRegisters(PaperRegisters()),
        "uio": lambda: open_uio("uio0", make_uio(MAP_BYTES)),
        "pci": lambda: open_pci("0000:03:00.0", 0, make_pci({0: MAP_BYTES})),
        "sim": SimulatedRegisters,
        "socket": lambda: open_socket(str(tmp_path / "board.sock")),
        "udp": lambda: UdpRegisters("127.0.0.1", served.port),
        "uart": lambda: UartRegisters(served.device),
    }
    servers: dict[str, Callable[[], contextlib.AbstractContextManager[Any]]] = {
        "socket": lambda: serve_board(tmp_path / "board.sock"),
        "udp": serve_datagrams,
        "uart": serve_lines,
    }
    with (
        servers.get(request.param, contextlib.nullcontext)() as served,
        contextlib.closing(makers[request.param]()) as registers,
    ):
        yield registers


@pytest.mark.parametrize("value", [0, 1, 0x12345678, 0x80000000, 0xFFFFFFFF])
def test_what_is_written_is_read_and_nothing_beside_it(board: Registers, value: int) -> None:
    beside = board.read(LOW), board.read(HIGH)
    board.write(SCRATCH, value)
    assert board.read(SCRATCH) == value
    assert (board.read(LOW), board.read(HIGH)) == beside


@pytest.mark.parametrize("offset", [1, 2, SCRATCH + 3])
def test_an_offset_between_words_is_refused(board: Registers, offset: int) -> None:
    for access in (board.read, lambda at: board.write(at, 0)):
        with pytest.raises(ConfigError, match=f"offset {offset:#x} is not a register: give a multiple of 4"):
            access(offset)


@pytest.mark.parametrize("offset", [-4, MAP_BYTES, MAP_BYTES + 4])
def test_an_offset_outside_the_map_is_refused(board: Registers, offset: int) -> None:
    for access in (board.read, lambda at: board.write(at, 0)):
        with pytest.raises(ConfigError, match=f"offset {offset:#x} is outside the map of 0x10000 bytes"):
            access(offset)


@pytest.mark.parametrize("value", [-1, 1 << 32])
def test_a_value_that_is_no_word_is_refused_and_not_written(board: Registers, value: int) -> None:
    board.write(SCRATCH, 5)
    with pytest.raises(ConfigError, match=r"does not fit a register: give 0..0xffffffff"):
        board.write(SCRATCH, value)
    assert board.read(SCRATCH) == 5


def test_a_closed_board_is_not_touched_and_may_be_closed_again(board: Registers) -> None:
    board.close()
    board.close()
    for access in (board.read, lambda at: board.write(at, 0)):
        with pytest.raises(FramelaneError, match="closed"):
            access(SCRATCH)
