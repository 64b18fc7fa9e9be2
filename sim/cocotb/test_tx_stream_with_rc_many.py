"""tx_stream with RC and a store of as many slots as RC can hold frames: one receiver costs the others nothing."""

from typing import Any

import cocotb

from bench import run
from rc_stream_bench import BUILD, Trouble, beside_a_dead_receiver, beside_a_slow_receiver

DEPTH = 1024
"""Descriptors of each QP: those of its share of the slots, and more."""
SLOTS = 1024


@cocotb.test()
@cocotb.parametrize(trouble=[Trouble.SILENT, Trouble.DIES])
async def a_dead_receiver_costs_the_live_ones_no_frame_and_no_time_and_its_slots_come_back(
    dut: Any, trouble: Trouble
) -> None:
    await beside_a_dead_receiver(dut, SLOTS, trouble)


@cocotb.test()
async def a_slow_receiver_gets_all_its_frames_and_costs_the_others_no_frame_and_no_time(dut: Any) -> None:
    await beside_a_slow_receiver(dut, SLOTS)


def test_tx_stream_with_rc_many() -> None:
    parameters = BUILD | {"RcDepth": DEPTH, "MaxSlots": SLOTS}
    run("tx_stream_with_rc_many", top="framelane_top", DataW=64, MacW=64, **parameters)
