"""A board's clock by the registers of its time unit, as their page describes them; the gateware has its own benches."""

from dataclasses import replace

import pytest

from framelane.base.errors import BoardError
from framelane.driver.ptp.board_time import BoardTime
from framelane.driver.ptp.frame_messages import FrameMessages
from framelane.driver.ptp.slave import PtpSlave
from framelane.driver.ptp.status import PtpState, PtpStatus
from framelane.models.roce_tx.wire import Endpoint
from framelane.models.time.grandmaster import Grandmaster
from framelane.models.time.ptp_message import PortIdentity, clock_identity
from framelane.models.time.ptp_network import Oscillator, PtpNetwork
from framelane.models.time.time_counter import NS, SECOND
from ptp_run import HONEST, QUIET, SETTINGS, START
from time_unit import TimeUnit

US = Endpoint(0x02_00_00_00_00_09, 0)


def unit() -> tuple[PtpNetwork, TimeUnit]:
    identity = PortIdentity(clock_identity(US.mac))
    masters = [Grandmaster(HONEST, START)]
    network = PtpNetwork(masters, QUIET, Oscillator(ppm=-60), start=START, identity=identity, seed=2)
    return network, TimeUnit(network)


def test_a_slave_sets_the_clock_by_registers_alone() -> None:
    network, registers = unit()
    board = BoardTime(registers)
    slave = PtpSlave(board, FrameMessages(board, US), SETTINGS, monotonic=network.seconds, seed=1)
    network.run(20, slave.steer)
    status = slave.status
    assert (status.state, status.steps, status.counters["unanswered"]) == (PtpState.LOCKED, 1, 0)
    assert abs(network.error_ns()) < 12
    board.tell(status)
    quality = registers.get("quality")
    assert (quality & 0x3F, quality >> 8 & 0xFF, quality >> 16) == (0b010110, 0x20, 37)
    lost: PtpStatus = replace(status, state=PtpState.HOLDOVER, utc_offset_s=None)
    board.tell(lost)
    quality = registers.get("quality")
    assert (quality & 0x3F, quality >> 8 & 0xFF) == (0b100100, 0xFE)


@pytest.mark.parametrize("offset", [1, -1, 5 * SECOND + 7, -(5 * SECOND + 7), START])
def test_a_step_is_exact_in_either_direction(offset: int) -> None:
    network, registers = unit()
    network.clock.step(10 * SECOND)
    board = BoardTime(registers)
    before = board.read()
    assert before == network.clock.read()
    board.step(offset)
    assert board.read() - before == offset


@pytest.mark.parametrize("ppb", [0.0, 100_000.0, -100_000.0, 0.06])
def test_the_rate_that_is_told_is_the_one_in_force(ppb: float) -> None:
    _, registers = unit()
    told = BoardTime(registers).adjust(ppb)
    assert told == pytest.approx(ppb, abs=0.03)
    adjust = registers.get("adjust")
    assert (adjust - (adjust >> 31 << 32)) / (4 * NS) * 1e9 == pytest.approx(told)


def test_a_board_without_a_time_unit_and_one_of_another_version_are_named() -> None:
    _, registers = unit()
    registers.put("version", 2 << 24)
    with pytest.raises(BoardError, match="the time unit is of version 2, this software knows 1"):
        BoardTime(registers)
    registers.put("identity", 0)
    with pytest.raises(BoardError, match="this board has no time unit"):
        BoardTime(registers)


def test_a_unit_that_never_ends_is_not_waited_for_for_ever() -> None:
    _, registers = unit()
    board = BoardTime(registers)
    registers.put("status", 1)
    with pytest.raises(BoardError, match="is stepping and does not come to an end"):
        board.step(1)
    with pytest.raises(BoardError, match="a message of 129 bytes does not fit"):
        board.send(bytes(129))
