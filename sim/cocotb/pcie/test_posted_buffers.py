"""posted_buffers: packets land in posted buffers in sequence, each told of; those without one are dropped, counted."""

from dataclasses import replace
from functools import partial
from typing import Any

import cocotb
import pytest

from bench import Bench, Stalls, run
from framelane.driver.simulated.ports import BD_T
from framelane.models.cells import axis
from framelane.models.pcie.posted_buffers import PostedBuffers
from framelane.models.placement import trailer
from signals import now
from widths import some_widths

BASE, SIZE_LOG2, COUNT_LOG2 = 0x1_2340_0000, 11, 3
COUNTERS = ("taken", "lost", "unposted", "too_long", "wrong")


class PostedBench(Bench):
    """Packets of a source that cannot wait, and an engine that may."""

    def __init__(self, dut: Any, stalls: Stalls = Stalls.NONE) -> None:
        super().__init__(dut, stalls)
        self.width = int(dut.DataW.value)
        self.packets = self.source("s_axis_packet", stalls=stalls.source)
        self.bds, self.payload = self.sink("m_axis_bd"), self.sink("m_axis_payload")
        self.model = PostedBuffers(BASE, SIZE_LOG2, COUNT_LOG2, source=9)
        dut.source_i.value, dut.base_i.value = 9, BASE
        dut.size_log2_i.value, dut.count_log2_i.value = SIZE_LOG2, COUNT_LOG2
        dut.timestamp_ns_i.value = 0
        dut.open_i.value, dut.port_rst.value = 1, 0
        self.posted = 0
        self.counts = dict.fromkeys(COUNTERS, 0)
        self.post(0)
        self.watch(self._count)

    def _count(self) -> None:
        for name in COUNTERS:
            self.counts[name] += now(getattr(self.dut, f"{name}_o"))

    def post(self, count: int) -> None:
        """Software rings its doorbell."""
        self.posted += count
        self.dut.posted_i.value = self.posted

    def give(self, data: bytes, wrong: bool = False) -> None:
        for beat in axis.beats(data, self.width):
            item = {"tdata": beat.data, "tkeep": beat.keep, "tlast": int(beat.last)}
            self.packets.items.append(item | {"tuser": int(wrong and beat.last)})

    async def settle(self) -> None:
        """Until all that came has gone somewhere."""
        await self.until(lambda: not self.packets.items, 5000)
        last = -1
        while last != self.cycle_of_last():
            last = self.cycle_of_last()
            for _ in range(200):
                await self.step()

    def cycle_of_last(self) -> int:
        return max([*self.payload.taken, *self.bds.taken], default=0)

    def check(self) -> None:
        """What came out is what the model wrote, and nothing else."""
        writes = [BD_T.unpack(item["tdata"]) for item in self.bds.items]
        got = [(bd["destination"], bd["length"], bd["last"]) for bd in writes]
        assert got == [(w.offset, w.length, k % 2) for k, (w, _) in enumerate(self.model.written)]
        assert self.payload.packets(self.width) == [data for _, data in self.model.written]
        assert now(self.dut.used_o) == self.model.used
        model = self.model
        known = {"taken": model.used, "lost": model.lost, "unposted": model.unposted, "too_long": model.too_long}
        assert self.counts == known | {"wrong": model.wrong}
        assert now(self.dut.idle_o)

    async def start(self) -> None:
        """Power-up: the port is reset too."""
        self.dut.port_rst.value = 1
        await self.reset()
        self.dut.port_rst.value = 0


@cocotb.test()
@cocotb.parametrize(stalls=[Stalls.NONE, Stalls.BOTH])
async def packets_land_in_sequence_over_many_rounds(dut: Any, stalls: Stalls) -> None:
    bench = PostedBench(dut, stalls)
    await bench.start()
    bench.post(1 << COUNT_LOG2)
    for number in range(40):
        size = bench.random.choice([1, 63, 64, 65, bench.model.room, bench.random.randrange(1, bench.model.room)])
        data = bench.random.randbytes(size)
        dut.timestamp_ns_i.value = number * 1000
        bench.give(data)
        await bench.settle()
        assert bench.model.packet(data, number * 1000, bench.posted)
        bench.post(1)
    bench.check()
    assert bench.model.used == 40


@cocotb.test()
async def packets_behind_one_another_need_no_pause(dut: Any) -> None:
    bench = PostedBench(dut)
    await bench.start()
    bench.post(1 << COUNT_LOG2)
    for _ in range(1 << COUNT_LOG2):
        data = bench.random.randbytes(bench.random.randrange(1, 400))
        bench.give(data)
        bench.model.packet(data, 0, bench.posted)
    await bench.settle()
    bench.check()


@cocotb.test()
async def a_packet_without_buffer_is_dropped_and_the_next_with_one_is_whole(dut: Any) -> None:
    bench = PostedBench(dut)
    await bench.start()
    for round_ in range(3):
        for number in range(3):
            if number == 2:
                bench.post(1)
            data = bench.random.randbytes(300 + round_)
            bench.give(data)
            assert bench.model.packet(data, 0, bench.posted) == (number == 2)
            await bench.settle()
    bench.check()
    assert bench.counts["unposted"] == 6


@cocotb.test()
async def too_long_and_wrong_packets_take_no_buffer(dut: Any) -> None:
    bench = PostedBench(dut)
    await bench.start()
    bench.post(4)
    for size, wrong in [(bench.model.room + 1, False), (100, True), (2 * bench.model.room, False), (200, False)]:
        data = bench.random.randbytes(size)
        bench.give(data, wrong)
        await bench.settle()
        if wrong:
            bench.model.wrong += 1
        else:
            bench.model.packet(data, 0, bench.posted)
    bench.check()
    assert (bench.counts["too_long"], bench.counts["wrong"]) == (2, 1)
    assert bench.model.used == 1


@cocotb.test()
async def an_engine_that_stands_still_costs_whole_packets_that_are_counted(dut: Any) -> None:
    bench = PostedBench(dut)
    await bench.start()
    bench.post(1 << COUNT_LOG2)
    bench.payload._stall = lambda: True
    sent = [bench.random.randbytes(900) for _ in range(1 << COUNT_LOG2)]
    for data in sent:
        bench.give(data)
    await bench.until(lambda: not bench.packets.items, 5000)
    bench.payload._stall = lambda: False
    await bench.settle()
    kept = len(sent) - bench.counts["lost"]
    assert 0 < kept < len(sent)
    for data in sent[:kept]:
        bench.model.packet(data, 0, bench.posted)
    bench.model.lost = bench.counts["lost"]
    # Trailers of packets that waited count those that were lost behind them.
    told = [trailer.unpack(bench.payload.packets(bench.width)[2 * k + 1]) for k in range(kept)]
    dropped = [each.frames_dropped for each in told if each]
    assert dropped == sorted(dropped)
    assert dropped[-1] == bench.model.lost
    bench.model.written = [
        (write, data if k % 2 == 0 else replaced(data, dropped[k // 2]))
        for k, (write, data) in enumerate(bench.model.written)
    ]
    bench.check()


def replaced(data: bytes, dropped: int) -> bytes:
    """A trailer with another count of what was dropped."""
    read = trailer.unpack(data)
    assert read is not None
    return replace(read, frames_dropped=dropped).pack()


@cocotb.test()
async def packets_pass_by_a_closed_door_and_half_of_one_is_no_packet(dut: Any) -> None:
    """A packet that comes in while it closes is taken back; one that comes in while it opens passes by whole."""
    bench = PostedBench(dut)
    await bench.start()
    bench.post(8)
    lanes = bench.width // 8
    for shut_at in (0, 1, 5, 9, 10):  # beats of a packet of ten that have come
        first = bench.random.randbytes(10 * lanes)
        bench.give(first)
        bench.give(bench.random.randbytes(3 * lanes))
        dut.open_i.value = int(shut_at != 0)
        left = 13 - shut_at
        await bench.until(partial(lambda count: len(bench.packets.items) == count, left), 500)
        dut.open_i.value = 0
        bench.model.wrong += 0 < shut_at < 10
        if shut_at == 10:
            assert bench.model.packet(first, 0, bench.posted)
        await bench.until(lambda: len(bench.packets.items) == 2, 500)
        dut.open_i.value = 1  # in the middle of the second packet
        whole = bench.random.randbytes(2 * lanes + 1)
        bench.give(whole)
        await bench.settle()
        assert bench.model.packet(whole, 0, bench.posted)
    bench.check()
    assert bench.counts["wrong"] == 3


@cocotb.test()
async def a_reset_in_the_middle_of_a_packet_lets_its_rest_pass(dut: Any) -> None:
    bench = PostedBench(dut)
    await bench.start()
    bench.post(8)
    lanes = bench.width // 8
    bench.give(bench.random.randbytes(40 * lanes))
    await bench.until(lambda: len(bench.packets.items) == 20, 500)
    dut.open_i.value = 0
    await bench.step()
    await bench.until(lambda: bool(now(dut.idle_o)), 20)
    dut.rst.value = 1
    for _ in range(4):
        await bench.step()
    dut.rst.value, dut.open_i.value = 0, 1
    bench.counts = dict.fromkeys(COUNTERS, 0)
    data = bench.random.randbytes(100)
    bench.give(data)
    await bench.settle()
    bench.model.packet(data, 0, bench.posted)
    bench.check()
    assert bench.model.used == 1


@pytest.mark.parametrize("width", some_widths("posted_buffers", (128, 256, 512)))
def test_posted_buffers(width: int) -> None:
    run("posted_buffers", DataW=width, Depth=4096 * 8 // width)
