"""axis_fork: every item reaches each sink of its mask once and in order, whichever sinks stall."""

from typing import Any

import cocotb

from bench import ALL_STALLS, Bench, Stalls, run
from signals import now

SINKS = 3


class Forked:
    """The sinks share tdata and have one bit each of tvalid and tready."""

    def __init__(self, bench: Bench, stalling: bool) -> None:
        self.bench, self.dut = bench, bench.dut
        self.taken: list[list[int]] = [[] for _ in range(SINKS)]
        self._stalling = stalling
        self._ready = 0
        bench.watch(self._sample)

    def _sample(self) -> None:
        valid = now(self.dut.m_axis_tvalid)
        for k in range(SINKS):
            if valid >> k & self._ready >> k & 1:
                self.taken[k].append(now(self.dut.m_axis_tdata))

    async def step(self) -> None:
        draw = self.bench.random.getrandbits(SINKS) | self.bench.random.getrandbits(SINKS)
        self._ready = draw if self._stalling else (1 << SINKS) - 1
        self.dut.m_axis_tready.value = self._ready
        await self.bench.step()


@cocotb.test()
@cocotb.parametrize(stalls=ALL_STALLS)
async def every_named_sink_takes_every_item_once(dut: Any, stalls: Stalls) -> None:
    bench = Bench(dut, stalls)
    source, forked = bench.source("s_axis"), Forked(bench, stalls.sink)
    await bench.reset()
    items = [(bench.random.getrandbits(16), bench.random.randrange(1, 1 << SINKS)) for _ in range(300)]
    source.items.extend({"tdata": data, "tuser": mask} for data, mask in items)
    for _ in range(3000):
        await forked.step()
    assert not source.items
    for k in range(SINKS):
        assert forked.taken[k] == [data for data, mask in items if mask >> k & 1]


@cocotb.test()
async def an_item_waits_for_its_last_sink_and_is_not_offered_twice(dut: Any) -> None:
    bench = Bench(dut)
    source = bench.source("s_axis")
    dut.m_axis_tready.value = 0b01
    await bench.reset()
    source.items.extend([{"tdata": 1, "tuser": 0b011}, {"tdata": 2, "tuser": 0b001}])
    for _ in range(5):
        await bench.step()
    assert now(dut.m_axis_tdata) == 1
    assert now(dut.m_axis_tvalid) == 0b10


@cocotb.test()
async def a_reset_forgets_who_has_taken_an_item(dut: Any) -> None:
    bench = Bench(dut)
    source = bench.source("s_axis")
    dut.m_axis_tready.value = 0b01
    await bench.reset()
    for cycles in range(1, 5):
        source.items.append({"tdata": 1, "tuser": 0b011})
        for _ in range(cycles):
            await bench.step()
        await bench.reset(cycles=1)
        dut.m_axis_tready.value = 0
        source.items.append({"tdata": 2, "tuser": 0b101})
        await bench.step()
        await bench.step()
        assert (now(dut.m_axis_tdata), now(dut.m_axis_tvalid)) == (2, 0b101)
        dut.m_axis_tready.value = 0b01
        await bench.reset()


def test_axis_fork() -> None:
    run("axis_fork", DataW=16, Sinks=SINKS)
