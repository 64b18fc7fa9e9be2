"""The driver of `detector_tx` refuses what it cannot drive, in a sentence; simulated, it does what it says."""

from dataclasses import replace

import numpy as np
import pytest

from framelane.base.errors import BoardError, ConfigError
from framelane.bench.transmitter.detector_tx_impaired import (
    FIRST_PORT,
    HEADER,
    LOCAL,
    QP,
    TARGET,
    on_the_line,
    packet,
)
from framelane.driver.board import detector_board
from framelane.driver.board.detector_board import DetectorBoard, DetectorLink
from framelane.driver.registers._detector_register_map import REGISTERS
from framelane.driver.registers.recording import PaperRegisters
from framelane.driver.registers.register_file import RegisterFile
from framelane.driver.simulated.verilated_detector import DetectorSimulator
from framelane.models.detector.det_correct import DetCorrect
from framelane.models.detector.det_header import DetHeader, Head
from framelane.models.jungfrau.jf_correct import PixelCode
from framelane.models.jungfrau.jf_fixed import FixedCalibration
from framelane.models.roce_tx import wire
from framelane.models.roce_tx.roce_qp import Service


def paper(**words: int) -> PaperRegisters:
    """A board for four modules of a JUNGFRAU that never arms; keywords are contents of registers."""
    registers = PaperRegisters(REGISTERS)
    find = RegisterFile(registers, REGISTERS).find
    for name, value in ({"sizes": 128 << 20 | 4 << 12 | 512, "packet_bytes": 8192} | words).items():
        registers.words[find(name).offset] = value
    return registers


def test_another_board_is_refused() -> None:
    with pytest.raises(BoardError, match="not a detector_tx: load that design"):
        DetectorBoard(PaperRegisters())
    with pytest.raises(BoardError, match="version 2, this software knows 1"):
        DetectorBoard(paper(version=2 << 24))


def test_what_it_is_not_built_for_is_refused_before_anything_is_written() -> None:
    registers = paper()
    board, before = DetectorBoard(registers), dict(registers.words)
    with pytest.raises(ConfigError, match="8 modules: this board is built for 4"):
        board.configure(replace(HEADER, modules=8), TARGET, LOCAL, FIRST_PORT, QP)
    with pytest.raises(ConfigError, match="128 packets of 8192 bytes a module and frame, JUNGFRAU has 256 of 4096"):
        board.configure(DetHeader(HEADER.of, 2, size=1), TARGET, LOCAL, FIRST_PORT, QP)
    with pytest.raises(ConfigError, match="one queue pair, number 0, of UC"):
        board.configure(HEADER, TARGET, LOCAL, FIRST_PORT, replace(QP, service=Service.RC))
    with pytest.raises(ConfigError, match="one queue pair, number 0, of UC"):
        board.configure(HEADER, replace(TARGET, qp=1), LOCAL, FIRST_PORT, QP)
    assert registers.words == before


PIXELS_AT = wire.ETH_BYTES + wire.IP_BYTES + wire.UDP_BYTES + 12 + 16
"""Behind BTH and RETH of a WRITE."""


def test_links_say_what_came_by_each_of_them() -> None:
    assert DetectorBoard(paper(status=1 << 5)).links() == ()
    registers = paper(links=0b01 << 8 | 2, status=1 << 5)
    for k in range(3):
        for at, count in enumerate((100 + k, 1 << 32, 7 * k)):
            offset = RegisterFile(registers, REGISTERS).find(f"link_counters[{k}].frames").offset + 8 * at
            registers.words[offset], registers.words[offset + 4] = count & 0xFFFF_FFFF, count >> 32
    found = DetectorBoard(registers).links()
    assert found == tuple(DetectorLink(k != 1, 100 + k, 1 << 32, 7 * k) for k in range(3))


ONES = np.ones((3, HEADER.modules * 512, 1024), np.uint16)
FIXED = FixedCalibration(ONES, ONES, (17, 25, 14), high_gain=True)
CORRECT = DetCorrect(HEADER, FIXED, 0x1_2345_6000, HEADER.modules << 20)


def test_a_correction_is_refused_where_there_is_none_or_that_is_of_another_detector() -> None:
    registers = paper()
    board, before = DetectorBoard(registers), dict(registers.words)
    with pytest.raises(ConfigError, match="built without the correction: build it with Correct, or let it send raw"):
        board.configure(HEADER, TARGET, LOCAL, FIRST_PORT, QP, CORRECT)
    assert registers.words == before
    board = DetectorBoard(registers := paper(**{"correction.present": 1}))
    before = dict(registers.words)
    with pytest.raises(ConfigError, match="the correction is of another detector"):
        board.configure(replace(HEADER, modules=1), TARGET, LOCAL, FIRST_PORT, QP, CORRECT)
    assert registers.words == before


def test_the_correction_is_what_was_given_and_off_without_one() -> None:
    board = DetectorBoard(paper(**{"correction.present": 1, "status": 1}))
    board.configure(HEADER, TARGET, LOCAL, FIRST_PORT, QP, CORRECT)
    registers = board.registers
    assert registers.read_register("correction.settings") == {
        **{"enabled": 1, "high_gain": 1, "shift0": 17, "shift1": 25, "shift2": 14}
    }
    assert (registers["correction.base"], registers["correction.pitch"]) == (CORRECT.base, CORRECT.pitch)
    assert registers["correction.timeout"] > 0
    board.configure(HEADER, TARGET, LOCAL, FIRST_PORT, QP)
    assert not registers["correction.settings.enabled"]


def test_a_correction_waits_for_frames_that_are_under_way(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(detector_board, "_PATIENCE_S", 0.01)
    board = DetectorBoard(paper(**{"correction.present": 1}))
    with pytest.raises(BoardError, match="a frame is still under way"):
        board.configure(HEADER, TARGET, LOCAL, FIRST_PORT, QP, CORRECT)
    assert not board.registers["correction.settings.enabled"]


def test_a_board_that_does_not_arm_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(detector_board, "_PATIENCE_S", 0.01)
    board = DetectorBoard(paper())
    board.configure(HEADER, TARGET, LOCAL, FIRST_PORT, QP)
    with pytest.raises(BoardError, match=r"the board hangs: after 0\.01 s it is not armed"):
        board.arm()


def test_simulated_it_counts_ends_frames_and_begins_anew() -> None:
    words = bytes(HEADER.packet_bytes)
    with DetectorSimulator(HEADER, TARGET, LOCAL, FIRST_PORT, QP) as fpga:
        for index in (3, 3, 4):
            fpga.receive(on_the_line(packet(9, index, 1, words), 1), gap=40)
        assert len(fpga.run().packets) == 2 * 2
        counters = fpga.board.counters()
        assert (counters["placed"], counters["duplicate"], counters["frames"]) == (2, 1, 0)
        assert not fpga.board.registers["status.idle"]
        assert len(fpga.flush().packets) == 2
        assert fpga.board.counters()["frames"] == 1
        fpga.receive(on_the_line(packet(8, 3, 1, words), 1), gap=40)
        fpga.run()
        assert fpga.board.counters()["placed"] == 3, "the frame before the newest"
        fpga.receive(on_the_line(packet(2, 3, 1, words), 1), gap=40)
        fpga.run()
        assert fpga.board.counters()["late"] == 1
        fpga.reset()
        assert not any(count for name, count in fpga.board.counters().items() if name != "cycles")
        fpga.receive(on_the_line(packet(2, 3, 1, words), 1), gap=40)
        assert len(fpga.run().packets) == 2


def random_correction() -> DetCorrect:
    rng = np.random.default_rng(3)
    pedestal, mantissa = (rng.integers(0, 0x10000, ONES.shape, np.uint16) for _ in range(2))
    return replace(CORRECT, fixed=FixedCalibration(pedestal, mantissa, (17, 25, 14)))


def corrected(fpga: DetectorSimulator, words: bytes) -> tuple[bytes, int]:
    """What is written of packet 77 of module 1, and the clock cycles from the packet's begin to its first pixel."""
    fpga.receive(on_the_line(packet(9, 77, 1, words), 1))
    done = fpga.run()
    pixels = b"".join(each[PIXELS_AT : PIXELS_AT + QP.mtu] for each in done.packets)
    return pixels, int(done.left["pixel"][0]) - int(done.begun[0])


def test_simulated_with_a_correction_it_writes_photons_and_waits_for_its_memory() -> None:
    correct, words = random_correction(), np.random.default_rng(4).bytes(HEADER.packet_bytes)
    expected = correct.pixels(Head(0, 0, 9, number=9, packet=77, port=1, module_number=1), words)
    waited = []
    for cycles in (1, 30):
        made = HEADER, TARGET, LOCAL, FIRST_PORT, QP
        with DetectorSimulator(*made, correct=correct, memory_cycles=cycles) as fpga:
            for _ in range(2):
                pixels, passed = corrected(fpga, words)
                assert pixels == expected
                fpga.reset()
            waited.append(passed)
    assert waited[1] - waited[0] == 29
    with pytest.raises(ConfigError, match="a memory cannot answer within 0 cycles"):
        DetectorSimulator(*made, correct=correct, memory_cycles=0)


def test_simulated_without_a_correction_it_has_no_memory_whose_answer_could_be_timed() -> None:
    with pytest.raises(ConfigError, match="give correct, too"):
        DetectorSimulator(HEADER, TARGET, LOCAL, FIRST_PORT, QP, memory_cycles=30)


def test_simulated_it_masks_pixels_whose_constants_are_not_in_memory() -> None:
    correct, words = random_correction(), bytes(HEADER.packet_bytes)
    with DetectorSimulator(HEADER, TARGET, LOCAL, FIRST_PORT, QP, correct=correct) as fpga:
        fpga.board.registers["correction.base"] = correct.base + correct.pitch
        pixels, _ = corrected(fpga, words)
        assert set(np.frombuffer(pixels, "<i2").tolist()) == {PixelCode.MASKED}
        assert fpga.board.registers["correction.errors"] == 1
