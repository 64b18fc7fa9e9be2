"""pattern_frames: a frame each millisecond, of the picture or of images, with the time of its cycle."""

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
UPPER = 1 << 31
"""The bit of an image's address."""


async def begin_of(dut: Any, images: int) -> Bench:
    """The block out of its reset, with so many images."""
    bench = Bench(dut)
    dut.images_i.value, dut.begin_i.value = images, 0
    await bench.reset()
    return bench


def frame(tdata: int) -> FrameEvent:
    """What is known of a frame; all else must be 0."""
    assert not tdata >> 192
    return FrameEvent(tdata >> 64 & WORD, tdata >> 128 & WORD, 0, tdata & WORD)


@cocotb.test()
async def each_frame_has_the_time_of_its_cycle(dut: Any) -> None:
    clock_hz = now(dut.ClockHz)
    period, tenths = clock_hz // 1000, 10**10 // clock_hz
    dut.m_axis_frame_tready.value = 0
    bench = await begin_of(dut, 0)
    sink = bench.sink("m_axis_frame")
    begin = bench.cycle
    await bench.until(lambda: len(sink.items) == 3, 4 * period)
    stamped = [cycle - begin - 1 for cycle in sink.taken]  # valid a cycle behind its stamp
    expected = [FrameEvent(i, k * tenths // 10, 0, i * STRIDE) for i, k in enumerate(stamped)]
    assert [frame(item["tdata"]) for item in sink.items] == expected
    assert {later - former for former, later in pairwise(stamped)} == {period}


@cocotb.test()
async def a_frame_that_waits_keeps_its_time_and_none_is_missing(dut: Any) -> None:
    period = now(dut.ClockHz) // 1000
    dut.m_axis_frame_tready.value = 0
    bench = await begin_of(dut, 0)
    for _ in range(2 * period):
        await bench.step()
    first = frame(now(dut.m_axis_frame_tdata))
    sink = bench.sink("m_axis_frame")
    await bench.until(lambda: len(sink.items) == 3, 3 * period)
    assert [frame(item["tdata"]).number for item in sink.items] == [0, 1, 2]
    assert frame(sink.items[0]["tdata"]) == first
    assert sink.taken[1] - sink.taken[0] < 4  # the second has been due for long


@cocotb.test()
async def images_follow_each_other_from_the_first_one_on(dut: Any) -> None:
    period = now(dut.ClockHz) // 1000
    dut.m_axis_frame_tready.value = 0
    bench = await begin_of(dut, 3)
    sink = bench.sink("m_axis_frame")
    await bench.until(lambda: len(sink.items) == 5, 6 * period)
    dut.begin_i.value = 1
    await bench.step()
    dut.begin_i.value = 0
    await bench.until(lambda: len(sink.items) == 7, 3 * period)
    dut.images_i.value = 0
    await bench.until(lambda: len(sink.items) == 8, 2 * period)
    shown = [frame(item["tdata"]).address for item in sink.items]
    assert shown == [*(UPPER + image * STRIDE for image in (0, 1, 2, 0, 1, 0, 1)), 7 * STRIDE]


@pytest.mark.parametrize("clock_hz", [9_765_625, 5_120, 62_500])
def test_pattern_frames(clock_hz: int) -> None:
    """Cycles of 102.4 ns; of a half besides whole nanoseconds; of whole ones."""
    run("pattern_frames", folders=[BOARDS / "common"], ClockHz=clock_hz)
