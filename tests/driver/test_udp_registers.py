"""Registers over UDP: what the driver makes of losses, of another peer, and of what is not a board."""

import itertools
import socket
from collections.abc import Iterator

import pytest

from framelane.base.errors import BoardError, ConfigError
from framelane.driver import open_board
from framelane.driver.registers import udp_registers
from framelane.driver.registers.udp_registers import UdpRegisters, open_udp
from framelane.models.remote.udp_registers import Datagram, Kind
from kernel_icmp import processor_with_icmp
from serve_datagrams import DatagramBoard, serve_datagrams

TABLE = 0x1000
"""Words that keep what is written."""


@pytest.fixture
def board() -> Iterator[DatagramBoard]:
    with serve_datagrams() as served:
        yield served


@pytest.fixture(autouse=True)
def short_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(udp_registers, "_ANSWER_S", 0.1)


def test_a_board_is_opened_by_its_host(board: DatagramBoard) -> None:
    with open_board(f"udp:localhost:{board.port}") as opened:
        assert opened.registers["identity"] == board.registers.read(0)


def test_what_is_lost_is_sent_again_and_each_write_is_done_once(board: DatagramBoard) -> None:
    registers = UdpRegisters("127.0.0.1", board.port)
    turn = itertools.cycle([True, False, True, False, False, False])
    written: list[int] = []
    board.lose = lambda _: next(turn)
    write = board.registers.write

    def noted(offset: int, value: int) -> None:
        written.append(offset)
        write(offset, value)

    board.registers.write = noted  # type: ignore[method-assign]
    for k in range(5):
        registers.write(TABLE + 4 * k, k)
    assert [registers.read(TABLE + 4 * k) for k in range(5)] == list(range(5))
    assert written == [TABLE + 4 * k for k in range(5)]
    registers.close()


def test_answers_to_others_and_noise_are_left_out(board: DatagramBoard) -> None:
    registers = UdpRegisters("127.0.0.1", board.port)
    answer = board.answer

    def late(payload: bytes) -> bytes | None:
        number = Datagram.decode(payload).number
        noise.sendto(b"noise", registers._socket.getsockname())
        before = Datagram(kind=Kind.ACCESS, number=number - 1 & 0xFFFFFFFF, answer=True).encode()
        return before if next(turn) else answer(payload)

    turn = itertools.cycle([True, False])
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as noise:
        board.answer = late  # type: ignore[method-assign]
        registers.write(TABLE, 5)
        assert registers.read(TABLE) == 5
    registers.close()


def test_another_host_has_been_first(board: DatagramBoard) -> None:
    board.model._peer = (b"another", b"host")
    with pytest.raises(BoardError, match=r"serves another host, .*: open it again, from that host, or"):
        UdpRegisters("127.0.0.1", board.port)


def test_a_board_that_was_switched_on_anew_is_said(board: DatagramBoard) -> None:
    registers = UdpRegisters("127.0.0.1", board.port)
    board.model._peer = None
    with pytest.raises(BoardError, match="was switched on anew"):
        registers.read(0)
    UdpRegisters("127.0.0.1", board.port).close()
    board.model.token = 5
    with pytest.raises(BoardError, match="does not know this program's token: it was switched on anew; open it again"):
        registers.write(0, 0)
    registers.close()


def test_an_error_of_the_bus_is_said(board: DatagramBoard) -> None:
    registers = UdpRegisters("127.0.0.1", board.port)
    board.broken = 0x20
    with pytest.raises(BoardError, match="cannot read offset 0x20: its bus says 2"):
        registers.read(0x20)
    with pytest.raises(BoardError, match="cannot write offset 0x20: its bus says 2"):
        registers.write(0x20, 1)
    registers.close()


def test_a_board_that_is_silent_or_has_no_name() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as silent:
        silent.bind(("127.0.0.1", 0))
        port = silent.getsockname()[1]
        with pytest.raises(BoardError, match=r"does not answer \(5 datagrams, 0.5 s\)"):
            UdpRegisters("127.0.0.1", port)
    with pytest.raises(BoardError, match=r"no board at no-such-host\.invalid: "):
        UdpRegisters("no-such-host.invalid")


def test_a_host_without_a_board_is_said() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with processor_with_icmp(), pytest.raises(BoardError, match="a host is there, and nothing listens at this port"):
        UdpRegisters("127.0.0.1", port)


@pytest.mark.parametrize("text", ["", "host:", "host:0", "host:65536", "host:x", "a b", "::1"])
def test_a_text_that_is_no_host_is_refused(text: str) -> None:
    with pytest.raises(ConfigError, match=r"is not a host: give HOST or HOST:PORT, as 192\.168\.1\.50"):
        open_udp(text)
