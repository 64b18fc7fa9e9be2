"""cdc_packets: a packet that it says is whole comes without a gap, at any phase of the clocks."""

import bisect
import itertools
from typing import Any

import cocotb
import pytest

from bench import Stalls, run
from clocks_bench import JITTER, RATIOS
from crossing_bench import Crossing
from gap_rule import GapRule
from signals import now


class Gated(Crossing):
    """A reader that begins a packet when it is whole, and then takes a beat in each cycle."""

    def __init__(self, dut: Any, periods: tuple[int, int], stalls: Stalls = Stalls.NONE) -> None:
        super().__init__(dut, periods, Stalls.SOURCE if stalls.source else Stalls.NONE)
        self.inside = False
        self.opens = True
        self.rule = GapRule(self.m, asserts=False)
        self.hasty = False
        """Takes whatever is offered."""
        self.m.answer(self._gate)
        self.m.watch(self._look)

    def _gate(self) -> None:
        ready = self.hasty or self.inside or (self.opens and bool(now(self.dut.whole_o)))
        self.dut.m_axis_tready.value = int(ready)
        self.sink._is_ready = ready
        self.sink._held = None  # the first beat may be withdrawn by a restart

    def _look(self) -> None:
        if now(self.dut.m_axis_tvalid) and self.sink._is_ready:
            self.inside = not now(self.dut.m_axis_tlast)


@cocotb.test()
@cocotb.parametrize(periods=RATIOS, stalls=[Stalls.NONE, Stalls.SOURCE])
async def a_whole_packet_comes_without_a_gap(dut: Any, periods: tuple[int, int], stalls: Stalls) -> None:
    crossing = Gated(dut, periods, stalls)
    await crossing.start()
    for _ in range(150):
        crossing.send(crossing.random.choice((1, 2, 2, 3, 4, 9, 15)))
    assert await crossing.finish() == list(range(150))
    assert crossing.rule.gaps == 0


@cocotb.test()
async def its_level_is_what_waits_and_it_takes_one_beat_more_than_its_depth(dut: Any) -> None:
    crossing = Gated(dut, (2000, 3000))
    crossing.opens = False
    await crossing.start()
    depth = int(dut.Depth.value)
    for _ in range(depth):
        crossing.send(2)
    await crossing.s.wait(20 * depth)
    assert len(crossing.source.accepted) == depth + 1
    assert now(dut.level_o) == depth
    assert now(dut.whole_o) == 1
    crossing.opens = True
    assert await crossing.finish() == list(range(depth))
    assert now(dut.level_o) == 0
    assert now(dut.whole_o) == 0


@cocotb.test()
@cocotb.parametrize(periods=RATIOS)
async def behind_a_packet_that_was_taken_before_its_end_was_seen_none_is_called_whole_too_soon(
    dut: Any, periods: tuple[int, int]
) -> None:
    crossing = Gated(dut, periods, Stalls.SOURCE)
    crossing.hasty = True
    await crossing.start()
    for _ in range(100):
        crossing.send(crossing.random.choice((1, 1, 2, 5)))
    ends = list(itertools.accumulate(map(len, crossing.sent)))
    left = 0

    def look() -> None:
        nonlocal left
        given = bisect.bisect_right(ends, len(crossing.source.accepted))
        assert not now(dut.whole_o) or left < given, f"packet {left} is not all inside"
        left = sum(item["tlast"] for item in crossing.sink.items)

    crossing.m.watch(look)
    assert await crossing.finish() == list(range(100))


@cocotb.test()
@cocotb.parametrize(periods=RATIOS)
async def a_reset_of_the_source_lets_the_packet_under_way_come_whole_if_it_is_inside(
    dut: Any, periods: tuple[int, int]
) -> None:
    crossing = Gated(dut, periods)
    await crossing.start()
    for _ in range(30):
        for _ in range(3):
            crossing.send(10)
        await crossing.s.wait(crossing.random.randrange(10, 150))
        await crossing.reset(crossing.s)
    await crossing.s.wait(60)
    await crossing.m.wait(60)
    first = len(crossing.sent)
    crossing.send(4)
    numbers = await crossing.finish()
    assert numbers[-1] == first
    assert not any(packet.cut for packet in crossing.received)
    assert crossing.rule.gaps == 0
    assert len(numbers) > 10


@pytest.mark.parametrize(("block", "group"), [(1, 112), (0, 6)])
def test_cdc_packets(block: int, group: int) -> None:
    run("cdc_packets", build_args=JITTER, DataW=16, Depth=16, Block=block, GroupW=group)
