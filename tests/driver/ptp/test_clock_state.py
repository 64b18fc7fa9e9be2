"""What a board says of its clock to whoever asks, as the driver that sets it has told it."""

from dataclasses import replace

import pytest

from framelane.base.errors import BoardError
from framelane.driver.ptp import clock_state as clock_states
from framelane.driver.ptp.board_time import BoardTime
from framelane.driver.ptp.clock_state import ClockState, clock_state, told_ns
from framelane.driver.ptp.frame_messages import FrameMessages
from framelane.driver.ptp.slave import PtpSlave
from framelane.driver.ptp.status import PtpState
from framelane.models.roce_tx.wire import Endpoint
from framelane.models.time.frame_stamp import Stamp
from framelane.models.time.grandmaster import Grandmaster
from framelane.models.time.ptp_message import PortIdentity, clock_identity
from framelane.models.time.ptp_network import Oscillator, PtpNetwork
from framelane.models.time.time_counter import SECOND
from framelane.models.time.time_flags import TimeSource
from ptp_run import HONEST, QUIET, SETTINGS, START
from time_unit import TimeUnit

US = Endpoint(0x02_00_00_00_00_09, 0)


@pytest.fixture(autouse=True)
def _in_2027(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clock_states, "is_real", lambda time_ns: time_ns >= START // SECOND * 10**9)


def unit() -> tuple[PtpNetwork, TimeUnit]:
    identity = PortIdentity(clock_identity(US.mac))
    network = PtpNetwork([Grandmaster(HONEST, START)], QUIET, Oscillator(ppm=-60), start=START, identity=identity)
    return network, TimeUnit(network)


def state(registers: TimeUnit) -> ClockState:
    found = clock_state(registers)
    assert found
    return found


def test_a_clock_that_nobody_sets_runs_free_and_nothing_is_wrong_with_that() -> None:
    _, registers = unit()
    its = state(registers)
    assert its.lines() == ["clock: runs free", "time of frames: the detector's own"]
    assert (its.sentences(), its.grandmaster, its.offset_ns, its.since_ns) == ([], None, None, None)


def test_a_locked_clock_names_its_grandmaster_offset_and_path_delay() -> None:
    network, registers = unit()
    board = BoardTime(registers)
    slave = PtpSlave(board, FrameMessages(board, US), SETTINGS, monotonic=network.seconds, seed=1)
    seen = []

    def look() -> float:
        due = slave.steer()
        board.tell(slave.status)
        seen.append(slave.status.state)
        return due

    network.run(20, look)
    its, status = state(registers), slave.status
    assert (its.quality.locked, its.quality.source, its.quality.tai_utc) == (True, TimeSource.PTP, 37)
    assert its.grandmaster == f"{1:016x}" == status.grandmaster
    assert its.offset_ns == pytest.approx(status.offset_ns, abs=0.005)
    assert its.path_delay_ns == pytest.approx(status.path_delay_ns, abs=0.005)
    assert its.since_ns is not None
    assert START // SECOND <= its.since_ns // 10**9 < START // SECOND + 20, "of the lock, not of the last look"
    assert PtpState.TRACKING in seen
    first, frames = its.lines()
    assert first.startswith("clock: locked to PTP since 2027-01-15T07:59:")
    assert f"grandmaster {1:016x}, offset " in first
    assert first.endswith("TAI - UTC 37 s")
    assert frames == "time of frames: the detector's own"


def test_a_lost_master_is_told_with_the_moment_and_the_last_grandmaster() -> None:
    network, registers = unit()
    board = BoardTime(registers)
    slave = PtpSlave(board, FrameMessages(board, US), SETTINGS, monotonic=network.seconds, seed=1)
    network.run(20, slave.steer)
    board.tell(replace(slave.status, state=PtpState.HOLDOVER, offset_ns=None))
    its = state(registers)
    assert its.lines()[0].startswith("clock: holdover, PTP lost since 2027-01-15T07:59:")
    assert (its.offset_ns, its.grandmaster) == (None, f"{1:016x}")
    assert not its.quality.locked


def test_what_is_wrong_is_a_sentence() -> None:
    _, registers = unit()
    BoardTime(registers).stamp_frames(Stamp.TRIGGER)
    assert "a clock that is not locked" in state(registers).sentences()[0]
    assert state(registers).lines()[1] == "time of frames: of the trigger, by this clock"
    registers.put("status", 1 << 3)
    assert "the clock's driver has ended" in state(registers).sentences()[0]
    registers.put("sizes", 1)
    with pytest.raises(BoardError, match="does not stamp frames"):
        BoardTime(registers).stamp_frames(Stamp.PIXEL)


def test_a_board_that_keeps_time_by_pulses_per_second_says_so_until_software_takes_over() -> None:
    _, registers = unit()
    registers.put("sizes", 1 << 2 | 1 << 1 | 1)
    registers.put("servo", 1)
    registers.put("servo_offset", -640 % (1 << 32))
    assert state(registers).lines()[0] == "clock: locked to pulses per second, offset -2.5 ns"
    registers.put("servo", 2)
    assert state(registers).lines()[0].startswith("clock: holdover, pulses per second lost")
    registers.put("servo", 0)
    registers.put("control", Stamp.PIXEL)
    assert "look for its pulses per second" in state(registers).sentences()[0]
    registers.put("control", 1 << 4)
    assert "pulses" not in state(registers).lines()[0]


def test_a_board_without_a_clock_has_no_state_and_an_older_one_tells_less() -> None:
    network, registers = unit()
    registers.put("version", 1 << 24)
    board = BoardTime(registers)
    slave = PtpSlave(board, FrameMessages(board, US), SETTINGS, monotonic=network.seconds, seed=1)
    network.run(20, slave.steer)
    board.tell(slave.status)
    assert state(registers).lines()[0] == "clock: locked to PTP, within 25 ns, TAI - UTC 37 s"
    assert registers.get("told_grandmaster") == 0
    registers.put("version", 2 << 24)
    with pytest.raises(BoardError, match="the time unit is of version 2"):
        clock_state(registers)
    registers.put("identity", 0)
    assert clock_state(registers) is None


@pytest.mark.parametrize(
    ("ns", "word"), [(None, -(1 << 31)), (0.0, 0), (-1.5, -384), (1e9, (1 << 31) - 1), (-1e9, 1 - (1 << 31))]
)
def test_an_offset_that_has_no_room_is_the_most_that_has(ns: float | None, word: int) -> None:
    assert told_ns(ns) == word
