"""The Colorlight 5A-75B by its pins: from RTL, and from the netlist that its bitstream is made of, packet by packet."""

from typing import Any

import board_checks
import cocotb
import pytest
from board_runner import NETLIST_S, build_and_test, netlist_of

BOARD = "colorlight_5a_75b"


@cocotb.test()
async def arp_and_ping_answer_from_power_up_on(dut: Any) -> None:
    await board_checks.arp_and_ping_answer_from_power_up_on(dut)


@cocotb.test()
async def registers_over_the_line_want_the_token(dut: Any) -> None:
    await board_checks.registers_over_the_line_want_the_token(dut)


@cocotb.test()
async def the_token_is_told(dut: Any) -> None:
    await board_checks.the_token_is_told(dut)


@cocotb.test()
@cocotb.parametrize(mtu=board_checks.MTUS)
async def frames_of_the_picture_fill_the_line(dut: Any, mtu: int) -> None:
    await board_checks.frames_of_the_picture_fill_the_line(dut, mtu)


@cocotb.test()
async def images_of_its_memory_are_sent(dut: Any) -> None:
    await board_checks.images_of_its_memory_are_sent(dut)


def test_board_from_rtl() -> None:
    build_and_test(BOARD, None)


def test_board_from_rtl_has_another_token_after_another_power_up() -> None:
    """Each power-up is a simulation of its own, from registers that are 0 on, as an FPGA's are when it is loaded."""

    def token(phase_ns: float, hello_ns: int) -> str:
        told = f"+line_phase={phase_ns}", f"+hello_ns={hello_ns}"
        folder = build_and_test(BOARD, None, testcase="the_token_is_told", plusargs=told)
        return (folder / "token.txt").read_text()

    usual = token(1.3, 0)
    assert token(1.3, 0) == usual  # nothing else of the simulation makes the difference
    # The clocks have exactly one rate here: the phase of the PHY's makes one of two
    assert len({usual, token(5.3, 0), token(7.3, 0)}) == 2
    assert token(1.3, 16) != usual  # a cycle later


@pytest.mark.timeout(NETLIST_S)
def test_board_from_its_netlist() -> None:
    """The same of the netlist that was placed and routed: its packets are the golden model's too, byte by byte."""
    build_and_test(BOARD, netlist_of(BOARD))
