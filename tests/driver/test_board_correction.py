"""The correction on a board: what is written, in which order, and what a board cannot correct is said before."""

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from framelane.base.errors import BoardError, ConfigError
from framelane.driver.board.board import Board
from framelane.driver.registers.entries import FrameRing
from framelane.driver.registers.recording import RecordingRegisters
from framelane.driver.registers.register_file import RegisterFile
from framelane.models.jungfrau.jf_fixed import FixedCalibration
from framelane.models.memory.image_writer import Correction
from framelane.models.registers.registers import flow_words
from framelane.models.tx import TxConfig
from framelane.session.session import Session

STORE, CORRECT = 1 << 16, 1 << 17
RING = FrameRing(1 << 33, 8192, 300)
PLANES = np.ones((3, 16, 100), np.uint16)
FIXED = FixedCalibration(PLANES, PLANES, (27, 1, 18), high_gain=True)
CORRECTION = Correction(FIXED, 3328, 0x12_3456_7000, 0x3000)
WORDS = [0x12_01_1B_07, 3328, 0x3456_7000, 0x12, 0x3000, 3200]
"""The registers from `correction` on, by docs/reference/registers.md."""


@pytest.fixture
def recording(make_transmitter: Callable[..., Any]) -> RecordingRegisters:
    return RecordingRegisters(make_transmitter(capabilities=CORRECT | STORE | 512))


@pytest.fixture
def config(make_session: Callable[..., Session]) -> TxConfig:
    config = make_session().tx_config()
    return dataclasses.replace(config, flows=(dataclasses.replace(config.flows[0], source_offset=CORRECTION.offset),))


def words(recording: RecordingRegisters, begin: int, end: int) -> list[int]:
    return [recording.read(offset) for offset in range(begin, end, 4)]


def written(recording: RecordingRegisters) -> list[int]:
    return [access.offset for access in recording.accesses if access.op == "write"]


def test_the_correction_is_in_the_registers(recording: RecordingRegisters, config: TxConfig) -> None:
    assert Board(recording).probe().correction
    Board(recording).configure(config, RING, CORRECTION)
    assert words(recording, 0x58, 0x70) == WORDS
    assert words(recording, 0x1000, 0x103C) == list(flow_words(config.flows[0]))[:-1]


def test_nothing_of_an_earlier_correction_stays(recording: RecordingRegisters, config: TxConfig) -> None:
    board = Board(recording)
    board.configure(config, RING, CORRECTION)
    board.configure(config, RING)
    assert words(recording, 0x58, 0x70) == [0] * 6


def test_a_correction_changes_only_while_it_is_switched_off_and_nothing_is_under_way(
    recording: RecordingRegisters, config: TxConfig
) -> None:
    board = Board(recording)
    board.configure(config, RING, CORRECTION)
    board.arm()
    recording.accesses.clear()
    board.configure(config, RING, CORRECTION)
    own = [(a.offset, a.value) for a in recording.accesses if a.op == "write" and 0x58 <= a.offset < 0x70]
    assert own[0] == (0x58, WORDS[0] & ~1), "off first"
    assert own[-1] == (0x58, WORDS[0]), "on when all else is there"
    assert [offset for offset, _ in own[1:-1]] == [0x5C, 0x60, 0x64, 0x68, 0x6C]
    order = [(a.op, a.offset) for a in recording.accesses]
    assert order.index(("write", 0x1C)) < order.index(("write", 0x24)) < order.index(("read", 0x20))
    assert order.index(("read", 0x20)) < order.index(("write", 0x58)), "disarmed, reset, waited for, then changed"


def test_a_correction_that_the_board_does_not_keep_is_an_error(
    make_transmitter: Callable[..., Any], config: TxConfig
) -> None:
    transmitter = make_transmitter(capabilities=CORRECT | STORE | 512)
    write = transmitter.write
    transmitter.write = lambda offset, value: write(offset, 0 if offset == 0x68 else value)
    with pytest.raises(BoardError, match=r"constants_pitch, field value, reads 0x0 after 0x3000 was written"):
        Board(transmitter).configure(config, RING, CORRECTION)
    with pytest.raises(BoardError, match="no flow is enabled"):
        Board(transmitter).arm()


@pytest.mark.parametrize(
    ("capabilities", "ring", "changes", "sentence"),
    [
        (STORE | 512, RING, {}, r"does not: remove \[correction\], or load a design that can"),
        (512, None, {}, r"does not: remove \[correction\], or load a design that can"),
        (CORRECT | STORE | 512, None, {}, r"needs one: say in \[store\] where its memory is"),
        (CORRECT | STORE | 512, dataclasses.replace(RING, slot_bytes=6464), {}, "give slots of 6528 bytes or more"),
        (CORRECT | STORE | 512, RING, {"offset": 3232}, "3200 bytes at 3232: .* a multiple of 64"),
        (CORRECT | STORE | 1024, RING, {"offset": 3264}, "3200 bytes at 3264: .* a multiple of 128"),
        (CORRECT | STORE | 512, RING, {"base": RING.base + 300 * 8192 - 4096}, "in the frame store's memory"),
        (CORRECT | STORE | 512, RING, {"base": RING.base - 5 * 0x3000}, "in the frame store's memory"),
    ],
)
def test_a_correction_that_the_board_cannot_do_is_refused_before_anything_is_written(
    make_transmitter: Callable[..., Any],
    config: TxConfig,
    capabilities: int,
    ring: FrameRing | None,
    changes: dict[str, Any],
    sentence: str,
) -> None:
    recording = RecordingRegisters(make_transmitter(capabilities=capabilities))
    with pytest.raises(ConfigError, match=sentence):
        Board(recording).configure(config, ring, dataclasses.replace(CORRECTION, **changes))
    assert written(recording) == []


def test_constants_may_lie_close_to_the_slots(recording: RecordingRegisters, config: TxConfig) -> None:
    for base in (RING.base - 6 * 0x3000, RING.base + 300 * 8192):
        Board(recording).configure(config, RING, dataclasses.replace(CORRECTION, base=base))
        assert RegisterFile(recording)["constants_base"] == base
