"""A simulated board whose clock runs by itself: its detector begins with the board, and anew after a reset."""

import time
from collections.abc import Callable

import numpy as np
import pytest

from framelane.base.errors import ConfigError
from framelane.driver.board.board import Board
from framelane.driver.registers.entries import FrameRing
from framelane.driver.simulated.served_board import Exposure, ServedBoard
from framelane.driver.simulated.verilated_board import give_credit
from framelane.driver.simulated.verilated_top import SimulatedTop
from framelane.models.placement import trailer
from framelane.models.placement.slots import FREE_RUNNING
from framelane.models.roce_tx import wire
from framelane.session.session import Session

MEMORY = 1 << 20


class HeardWire:
    """Keeps what is sent; nobody answers."""

    def __init__(self) -> None:
        self.sent: list[bytes] = []
        self.closed: list[str] = []

    def send(self, packets: list[bytes]) -> None:
        self.sent += packets

    def answers(self) -> list[bytes]:
        return []

    def close_paths(self) -> None:
        self.closed.append("paths")

    def close(self) -> None:
        self.closed.append("all")


def run(served: ServedBoard, done: Callable[[], bool]) -> None:
    end = time.monotonic() + 30
    while not done():
        assert time.monotonic() < end, "nothing more happens"
        served.turn()


def test_the_detector_sends_while_the_board_is_armed_and_begins_anew_after_a_reset(
    make_session: Callable[..., Session],
) -> None:
    session = make_session()
    images = [np.full((session.rows, session.columns), k + 1, np.uint16) for k in range(2)]
    wire_ = HeardWire()
    sent = wire_.sent
    with SimulatedTop() as simulated:
        served = ServedBoard(simulated, Exposure(images, rate=50.0, frames=3), wire_, MEMORY)
        board = Board(served)

        def configure() -> None:
            board.configure(session.tx_config(), FrameRing(0, 4096, 8))
            give_credit(board, session.tx_config(), FREE_RUNNING)

        def numbers() -> list[int]:
            ends = [payload for headers, payload in map(wire.parse, sent) if headers.imm is not None]
            return [end.detector_frame for end in map(trailer.unpack, ends) if end]

        configure()
        assert set(wire_.closed) == {"all", "paths"}, "nothing of an earlier configuration stays bound"
        for _ in range(20):
            served.turn()
        assert (served.offered, sent) == (0, [])
        board.arm()
        begun = time.monotonic()
        run(served, lambda: len(numbers()) == 3)
        assert time.monotonic() - begun > 2 / 50, "not faster than its rate"
        for _ in range(20):
            served.turn()
        assert numbers() == [0, 1, 2], "and no more"
        board.disarm()
        board.arm()
        for _ in range(20):
            served.turn()
        assert numbers() == [0, 1, 2], "the same run goes on"
        assert board.counters().frames == 3
        configure()
        board.arm()
        run(served, lambda: len(numbers()) == 6)
        assert numbers() == [0, 1, 2, 0, 1, 2]
        assert (served.offered, served.packets) == (6, len(sent))
        pixels = [payload for headers, payload in map(wire.parse, sent) if headers.imm is None]
        assert [set(payload[::2]) for payload in pixels] == 2 * ([{1}] * 4 + [{2}] * 4 + [{1}] * 4)


def test_memory_ends_somewhere() -> None:
    with SimulatedTop() as simulated:
        served = ServedBoard(simulated, Exposure([np.zeros((1, 1), np.uint16)]), HeardWire(), MEMORY)
        served.write_memory(MEMORY - 2, b"ab")
        for address, data in ((MEMORY - 1, b"ab"), (-1, b"a"), (1 << 70, b"a")):
            with pytest.raises(ConfigError, match="are not in the memory of 0x100000 bytes"):
                served.write_memory(address, data)
