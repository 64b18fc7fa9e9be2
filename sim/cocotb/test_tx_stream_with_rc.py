"""tx_stream with RC and a store of few slots: a receiver that is silent, dies or is slow costs the others nothing."""

from typing import Any

import cocotb
import pytest

from bench import run
from rc_stream_bench import BUILD, LIMITS, RcStreamBench, Trouble, beside_a_dead_receiver, beside_a_slow_receiver
from widths import some_widths

DEPTH, MAX_SLOTS = 64, 64


@cocotb.test()
@cocotb.parametrize(slots=[4, 8, 16, 64], trouble=[Trouble.SILENT, Trouble.DIES])
async def a_dead_receiver_costs_the_live_ones_no_frame_and_no_time_and_its_slots_come_back(
    dut: Any, slots: int, trouble: Trouble
) -> None:
    await beside_a_dead_receiver(dut, slots, trouble)


@cocotb.test()
@cocotb.parametrize(slots=[8, 16, 64])
async def a_slow_receiver_gets_all_its_frames_and_costs_the_others_no_frame_and_no_time(dut: Any, slots: int) -> None:
    await beside_a_slow_receiver(dut, slots)


@cocotb.test()
@cocotb.parametrize(slots=[4, 8])
async def a_store_that_is_too_small_loses_whole_frames_until_the_error_and_none_behind_it(dut: Any, slots: int) -> None:
    bench = RcStreamBench(dut, slots)
    await bench.start(LIMITS[16])
    first = bench.silence()
    error = await bench.until_error()
    wanted = bench.begun - first - slots
    await bench.detected(2)
    (lost,) = await bench.counters("counters.frames_lost")
    await bench.detected(2 * slots)
    await bench.finish()
    counts = await bench.check()
    dut._log.info(f"{slots} slots: in error after {error} cycles, {wanted} frames too many by then, {counts}")
    assert lost == counts.lost, "frames are lost though slots are free"
    assert 4 <= wanted <= lost <= wanted + 1
    assert counts.failed
    assert counts.sent == 0


@pytest.mark.parametrize("width", some_widths("tx_stream_with_rc"))
def test_tx_stream_with_rc(width: int) -> None:
    parameters = BUILD | {"RcDepth": DEPTH, "MaxSlots": MAX_SLOTS}
    run("tx_stream_with_rc", top="framelane_top", DataW=width, MacW=width, **parameters)
