"""The ECPIX-5 by its pins: its station answers, and what is lost on the way to a receiver by RC is sent again."""

from pathlib import Path
from typing import Any

import board_checks
import cocotb
import numpy as np
import pattern
import pytest
from board_bench import BoardBench
from board_runner import NETLIST_S, build_and_test, netlist_of
from cocotb.triggers import Timer

from framelane.driver import configure
from framelane.driver.board.board_address import open_board
from framelane.models.placement.trailer import unpack
from framelane.models.rc.rc_remote import acknowledgement
from framelane.models.rc.rc_responder import RcResponder, Region
from framelane.models.roce_tx import wire

BOARD = "ecpix_5"
ROWS = 16
FRAMES = 3
LOST = (2, 9, 20)
"""Packets that are lost, by their place among all: of the first frame, of what is sent again, a trailer."""


@cocotb.test()
async def arp_and_ping_answer_from_power_up_on(dut: Any) -> None:
    await board_checks.arp_and_ping_answer_from_power_up_on(dut)


@cocotb.test()
async def registers_over_the_line_want_the_token(dut: Any) -> None:
    await board_checks.registers_over_the_line_want_the_token(dut)


@cocotb.test()
async def frames_of_the_picture_fill_the_line(dut: Any) -> None:
    await board_checks.frames_of_the_picture_fill_the_line(dut, 4096)


@cocotb.test()
async def frames_by_rc_arrive_whole_though_packets_are_lost(dut: Any) -> None:
    """The receiver at the host is the golden model of one, its memory in the end that of whole frames."""
    bench = BoardBench(dut)
    await bench.begin()
    made = board_checks.session(4096, ROWS, service="RC", segmentation="message")

    def program(port: int) -> None:
        with open_board(f"udp:127.0.0.1:{port}") as board:
            limits = "rc = { window = 16, timeout_ms = 0.1, backoff = 0 }\n"
            configure(board, board_checks.board_file(Path.cwd(), made, 1, limits))
            board.arm()

    await bench.drive(program)
    memory = bytearray(made.layout.ring_bytes)
    responder = RcResponder(made.psn, made.mtu, Region(made.base, made.rkey, memory))
    packets = 0
    for _ in range(20_000):
        await Timer(2, "us")
        for packet in bench.new():
            if packet.frame[36:38] != wire.ROCE_PORT.to_bytes(2, "big"):
                continue
            packets += 1
            if packets in LOST:
                continue
            for event in responder.receive(*wire.parse(packet.frame)):
                await bench.send(acknowledgement(event, made.receiver.endpoint(), made.source.endpoint()))
        if len(responder.immediates) >= FRAMES:
            break
    first, *_ = numbers = responder.immediates
    assert numbers == list(range(first, first + FRAMES))
    assert not responder.in_error
    assert responder.counts["out_of_sequence"] >= 2
    assert responder.writes.max() == 1
    for number in numbers:
        start = made.slot_bytes * (number % made.n_slots)
        trailer = unpack(bytes(memory[start + made.layout.trailer_offset(0) :][:64]))
        assert trailer
        assert (trailer.frame_number, trailer.packets) == (number, ROWS * pattern.COLUMNS * 2 // made.mtu)
        pixels = np.frombuffer(memory, "<u2", ROWS * pattern.COLUMNS, start).reshape(ROWS, -1)
        assert np.array_equal(pixels, pattern.image(trailer.detector_frame)[:ROWS])


def test_board_from_rtl() -> None:
    build_and_test(BOARD, None)


@pytest.mark.timeout(NETLIST_S)
def test_board_from_its_netlist() -> None:
    """The same of the netlist that was placed and routed."""
    build_and_test(BOARD, netlist_of(BOARD))
