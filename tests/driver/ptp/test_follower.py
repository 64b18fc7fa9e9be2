"""A board that is given the time: by the library as the command does it, beside a simulated grandmaster."""

from pathlib import Path
from types import SimpleNamespace

import pytest
from rich.console import Console

from framelane.base.errors import BoardError, ConfigError
from framelane.base.stopping import Stop
from framelane.cli.board import board_ptp
from framelane.driver import Board, PtpFollower
from framelane.driver.registers.recording import PaperRegisters
from framelane.models.roce_tx.wire import Endpoint
from framelane.models.time.frame_stamp import Stamp
from framelane.models.time.grandmaster import Grandmaster
from framelane.models.time.ptp_message import PortIdentity, clock_identity
from framelane.models.time.ptp_network import Oscillator, PtpNetwork
from ptp_run import HONEST, QUIET, SETTINGS, START
from time_unit import TimeUnit

US = Endpoint(0x02_00_00_00_00_09, 0)


def unit() -> tuple[PtpNetwork, TimeUnit, PtpFollower]:
    identity = PortIdentity(clock_identity(US.mac))
    network = PtpNetwork([Grandmaster(HONEST, START)], QUIET, Oscillator(ppm=-60), start=START, identity=identity)
    registers = TimeUnit(network)
    return network, registers, PtpFollower(registers, US, SETTINGS, frames=Stamp.PIXEL, monotonic=network.seconds)


def test_the_board_says_how_it_is_from_the_first_look_to_the_end() -> None:
    network, registers, follower = unit()
    assert follower.state.frames is Stamp.PIXEL
    assert registers.get("quality_limit") == 5, "a lock of a program that was killed ends by itself"
    network.run(20, follower.turn)
    assert follower.status.locked
    assert follower.state.quality.locked
    assert follower.state.sentences() == []
    last = registers.get("told_offset")
    told = set()
    for _ in range(10):
        network.run(2, follower.turn)
        told.add(registers.get("told_offset"))
    assert told != {last}, "it is told every second"
    follower.release()
    assert follower.state.lines()[0].startswith("clock: runs free")
    assert "is not locked" in follower.state.sentences()[0]


def test_the_command_prints_a_line_for_each_change(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    network, _, follower = unit()
    stop = Stop()

    def passes(seconds: float) -> None:
        network.run(max(seconds, 1e-4), lambda: float("inf"))
        stop.wanted = follower.status.locked and network.seconds() > 25
        assert network.seconds() < 250, "it does not lock"

    # This module's own alone: threads that other tests have left sleep, too.
    monkeypatch.setattr(board_ptp, "time", SimpleNamespace(sleep=passes))
    with (tmp_path / "said").open("w") as file:
        board_ptp.follow(follower, stop, Console(file=file))
    said = (tmp_path / "said").read_text().splitlines()
    states = [line.partition(":")[0] for line in said]
    assert states[:3] == ["listening", "measuring", "tracking"]
    assert states[3:] in (["locked"], ["measuring", "tracking", "locked"]), "by chance the rate is measured again, once"
    assert f"grandmaster {1:016x}, offset " in said[-1]


def test_a_board_that_cannot_is_named() -> None:
    network, registers, _ = unit()
    with pytest.raises(BoardError, match="has no Ethernet address yet"):
        PtpFollower(registers, Endpoint(0, 0), monotonic=network.seconds)
    board = Board(PaperRegisters())
    with pytest.raises(ConfigError, match="PTP by smoke cannot be"):
        board.follow_time(transport="smoke")
    with pytest.raises(ConfigError, match="cannot have the time of noon"):
        board.follow_time(frames="noon")
