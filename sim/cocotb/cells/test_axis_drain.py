"""axis_drain: packets pass whole, or are swallowed; what a sink has begun to take it gets an end of."""

from collections import Counter
from typing import Any

import cocotb
import pytest

from bench import ALL_STALLS, Bench, Stalls, assert_same_packets, run
from receive_bench import count_pulses
from widths import some_widths


class DrainBench(Bench):
    """The cell between a source of packets and a sink that may stand still."""

    def __init__(self, dut: Any, stalls: Stalls = Stalls.NONE) -> None:
        super().__init__(dut, stalls)
        self.width = len(dut.s_axis_tdata)
        self.packets, self.out = self.source("s_axis"), self.sink("m_axis")
        self.stands = False
        pauses = self.out._stall
        self.out._stall = lambda: self.stands or pauses()
        self.dropped: Counter[int] = count_pulses(self, dut.dropped_o)
        self.sent: list[bytes] = []
        dut.drain_i.value = 0

    def send(self, beats: int) -> None:
        """A packet of so many beats, whole ones but the last."""
        lanes = self.width // 8
        packet = self.random.randbytes((beats - 1) * lanes + self.random.randint(1, lanes))
        self.sent.append(packet)
        self.packets.send(packet, self.width)

    async def wait(self, cycles: int) -> None:
        for _ in range(cycles):
            await self.step()

    def whole_and_cut(self) -> tuple[int, int]:
        """Check what has come, in order: how many packets are whole, how many end early with one byte."""
        lanes, cut, at = self.width // 8, 0, 0
        got = self.out.packets(self.width)
        for packet in got:
            body = packet[:-1]
            while at < len(self.sent) and self.sent[at] != packet:
                begun = bool(body) and not len(body) % lanes and packet[-1] == 0
                if begun and len(self.sent[at]) > len(body) and self.sent[at].startswith(body):
                    cut += 1
                    break
                at += 1
            assert at < len(self.sent), "a packet that was not sent, or out of order"
            at += 1
        return len(got) - cut, cut


@cocotb.test()
@cocotb.parametrize(stalls=ALL_STALLS)
async def packets_pass_unchanged(dut: Any, stalls: Stalls) -> None:
    bench = DrainBench(dut, stalls)
    await bench.reset()
    for _ in range(100):
        bench.send(bench.random.randint(1, 5))
    await bench.drain(bench.out, sum(-(-len(packet) * 8 // bench.width) for packet in bench.sent))
    assert_same_packets(bench.out.packets(bench.width), bench.sent)
    assert not bench.dropped
    if stalls is Stalls.NONE:
        assert bench.out.taken == [cycle + 1 for cycle in bench.packets.accepted]


@cocotb.test()
@cocotb.parametrize(beats=[1, 2, 3, 7])
async def behind_a_sink_that_stands_all_is_swallowed_and_its_packet_has_an_end(dut: Any, beats: int) -> None:
    bench = DrainBench(dut)
    await bench.reset()
    bench.stands = True
    for _ in range(20):
        bench.send(beats)
    await bench.wait(10)
    assert bench.packets.items
    dut.drain_i.value = 1
    await bench.wait(20 * beats + 5)
    assert not bench.packets.items, "something waits for the sink still"
    dut.drain_i.value = 0
    bench.stands = False
    await bench.wait(10)
    before = len(bench.sent)
    for _ in range(5):
        bench.send(beats)
    await bench.wait(5 * beats + 10)
    whole, cut = bench.whole_and_cut()
    assert bench.out.packets(bench.width)[-5:] == bench.sent[before:]
    assert whole == len(bench.sent) - bench.dropped[0]
    assert cut == (beats > 2)  # two beats fit the cell


@cocotb.test()
@cocotb.parametrize(stalls=ALL_STALLS)
async def drained_at_any_time_each_packet_comes_whole_or_is_counted(dut: Any, stalls: Stalls) -> None:
    bench = DrainBench(dut, stalls)
    await bench.reset()
    cuts = 0
    for _ in range(60):
        for _ in range(bench.random.randrange(4)):
            bench.send(bench.random.randint(1, 6))
        bench.stands = bench.random.random() < 0.3
        await bench.wait(bench.random.randrange(12))
        dut.drain_i.value = int(bench.random.random() < 0.4)
        await bench.wait(bench.random.randrange(12))
        dut.drain_i.value = 0
    bench.stands = False
    await bench.until(lambda: not bench.packets.items)
    await bench.wait(30)
    whole, cuts = bench.whole_and_cut()
    assert whole == len(bench.sent) - bench.dropped[0]
    assert whole > 20
    assert cuts > 3


@pytest.mark.parametrize("width", some_widths("axis_drain"))
def test_axis_drain(width: int) -> None:
    run("axis_drain", DataW=width)
