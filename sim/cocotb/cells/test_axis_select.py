"""axis_select: whole packets of several streams in the order of the selections, without bubbles."""

from typing import Any

import cocotb
import pytest

from bench import ALL_STALLS, Bench, Stalls, assert_same_packets, run
from framelane.models.cells import axis
from signals import now
from widths import some_widths

SOURCES = 2


class Lane:
    """One of the sources: a slice of the packed ports. Driven by `Feeder`."""

    def __init__(self) -> None:
        self.beats: list[axis.Beat] = []
        self.offered = False


class Feeder:
    """Drives all sources of the block, which share packed ports."""

    def __init__(self, bench: Bench, stalling: bool) -> None:
        self.bench, self.dut, self.stalling = bench, bench.dut, stalling
        self.width = len(bench.dut.m_axis_tdata)
        self.lanes = [Lane() for _ in range(SOURCES)]
        self.dut.s_axis_tvalid.value = 0
        bench.watch(self._sample)

    def _sample(self) -> None:
        ready = now(self.dut.s_axis_tready)
        for k, lane in enumerate(self.lanes):
            if lane.offered and ready >> k & 1:
                lane.beats.pop(0)
                lane.offered = False

    async def step(self) -> None:
        data = keep = valid = 0
        last = (1 << SOURCES) - 1  # where tvalid is low it must not count
        for k, lane in enumerate(self.lanes):
            if lane.beats and (lane.offered or not self.stalling or self.bench.random.random() < 0.6):
                lane.offered = True
                data |= lane.beats[0].data << (k * self.width)
                keep |= lane.beats[0].keep << (k * self.width // 8)
                last ^= (not lane.beats[0].last) << k
                valid |= 1 << k
        self.dut.s_axis_tdata.value, self.dut.s_axis_tkeep.value = data, keep
        self.dut.s_axis_tlast.value, self.dut.s_axis_tvalid.value = last, valid
        await self.bench.step()


@cocotb.test()
@cocotb.parametrize(stalls=ALL_STALLS)
async def packets_leave_in_the_order_of_the_selections(dut: Any, stalls: Stalls) -> None:
    bench = Bench(dut, stalls)
    selections, out = bench.source("s_axis_sel"), bench.sink("m_axis")
    feeder = Feeder(bench, stalls.source)
    await bench.reset()
    expected: list[bytes] = []
    for _ in range(60):
        sel, packet = bench.random.randrange(SOURCES), bench.random.randbytes(bench.random.randrange(1, 300))
        selections.items.append({"tdata": sel})
        feeder.lanes[sel].beats.extend(axis.beats(packet, feeder.width))
        expected.append(packet)
    beats = sum(axis.n_beats(len(p), feeder.width) for p in expected)
    for _ in range(10 * beats):
        await feeder.step()
    assert_same_packets(out.packets(feeder.width), expected)
    if stalls is Stalls.NONE:
        assert out.taken[-1] - out.taken[0] == beats - 1


@pytest.mark.parametrize("width", some_widths("axis_select"))
def test_axis_select(width: int) -> None:
    run("axis_select", DataW=width, Sources=SOURCES)
