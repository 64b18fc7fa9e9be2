"""Fixtures of simulated boards: one with RC and a station, and any board as the one that the commands find."""

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from framelane.driver.board.board import Board
from framelane.driver.registers.recording import RecordingRegisters
from framelane.driver.simulated.verilated_rc import SLOW_HZ, SimulatedRcBoard
from framelane.models.rc.lossy_network import LinkImpairments
from framelane.session.session import Session
from rc_board import RcLink, rc_session


@pytest.fixture
def simulated() -> Iterator[SimulatedRcBoard]:
    """Simulate a transmitter with RC and a station, whose milliseconds are few cycles, its link down."""
    with SimulatedRcBoard(clock_hz=SLOW_HZ, latency=5) as board:
        yield board


@pytest.fixture
def board(simulated: SimulatedRcBoard) -> Board:
    """Drive it; the clock runs in accesses only: a busy machine needs longer."""
    return Board(simulated, timeout_s=60)


@pytest.fixture
def make_rc(make_session: Callable[..., Session]) -> Callable[..., Session]:
    """Make a session of RC for queue pair `index` of the board."""
    return lambda index=0, **changes: rc_session(make_session, index, **changes)


@contextlib.contextmanager
def found(registers: Any) -> Iterator[None]:
    """Let every command find these registers, as they were left, within a `with` block."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(registers, "close", lambda: None)
        patched.setattr("framelane.driver.board.board_address.open_uio_device", lambda name, root: registers)
        patched.setenv("FRAMELANE_BOARD", "uio:/dev/uio0")
        yield


@pytest.fixture
def link() -> Iterator[RcLink]:
    """Simulate a board with RC that every command finds as it was left, with a network."""
    with SimulatedRcBoard(clock_hz=SLOW_HZ) as board, found(board):
        yield RcLink(board, LinkImpairments(delay=100))


@pytest.fixture
def make_found(make_transmitter: Callable[..., Any]) -> Iterator[Callable[..., RecordingRegisters]]:
    """Make a transmitter of paper, with room for the example of docs/howto/board.md, which every command finds."""
    with contextlib.ExitStack() as stack:

        def make(**words: int) -> RecordingRegisters:
            board = RecordingRegisters(make_transmitter(**{"sizes": 16 | 4 << 12 | 16 << 16} | words))
            stack.enter_context(found(board))
            return board

        yield make
