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
@cocotb.parametrize(mtu=list(board_checks.LEAST_MBPS))
async def frames_of_the_picture_fill_the_line(dut: Any, mtu: int) -> None:
    await board_checks.frames_of_the_picture_fill_the_line(dut, mtu)


def test_board_from_rtl() -> None:
    build_and_test(BOARD, None)


@pytest.mark.timeout(NETLIST_S)
def test_board_from_its_netlist() -> None:
    """The same of the netlist that was placed and routed: its packets are the golden model's too, byte by byte."""
    build_and_test(BOARD, netlist_of(BOARD))
