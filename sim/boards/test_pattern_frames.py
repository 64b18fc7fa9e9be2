"""pattern_frames: a frame each millisecond, with the time of its cycle, whole nanoseconds or not."""

from itertools import pairwise
from typing import Any

import cocotb
import pytest
from board_runner import BOARDS
from pattern import STRIDE

from bench import Bench, run
from framelane.models.placement.flow import FrameEvent
from signals import now

WORD = (1 << 64) - 1


def frame(tdata: int) -> FrameEvent:
    """What is known of a frame; all else must be 0."""
    assert not tdata >> 192
    return FrameEvent(tdata >> 64 & WORD, tdata >> 128 & WORD, 0, tdata & WORD)


@cocotb.test()
async def each_frame_has_the_time_of_its_cycle(dut: Any) -> None:
    bench = Bench(dut)
    sink = bench.sink("m_axis_frame")
    clock_hz = now(dut.ClockHz)
    period, tenths = clock_hz // 1000, 10**10 // clock_hz
    await bench.reset()
    begin = bench.cycle
    await bench.until(lambda: len(sink.items) == 3, 4 * period)
    stamped = [cycle - begin - 1 for cycle in sink.taken]  # valid a cycle behind its stamp
    expected = [FrameEvent(i, k * tenths // 10, 0, i * STRIDE) for i, k in enumerate(stamped)]
    assert [frame(item["tdata"]) for item in sink.items] == expected
    assert {later - former for former, later in pairwise(stamped)} == {period}


@cocotb.test()
async def a_frame_that_waits_keeps_its_time_and_none_is_missing(dut: Any) -> None:
    bench = Bench(dut)
    period = now(dut.ClockHz) // 1000
    dut.m_axis_frame_tready.value = 0
    await bench.reset()
    for _ in range(2 * period):
        await bench.step()
    first = frame(now(dut.m_axis_frame_tdata))
    sink = bench.sink("m_axis_frame")
    await bench.until(lambda: len(sink.items) == 3, 3 * period)
    assert [frame(item["tdata"]).number for item in sink.items] == [0, 1, 2]
    assert frame(sink.items[0]["tdata"]) == first
    assert sink.taken[1] - sink.taken[0] < 4  # the second has been due for long


@pytest.mark.parametrize("clock_hz", [9_765_625, 5_120, 62_500])
def test_pattern_frames(clock_hz: int) -> None:
    """Cycles of 102.4 ns; of a half besides whole nanoseconds; of whole ones."""
    run("pattern_frames", folders=[BOARDS / "common"], ClockHz=clock_hz)
