"""axis_narrow: the same packets on a narrower bus, one narrow beat a cycle."""

from typing import Any

import cocotb
import pytest

from bench import ALL_STALLS, Bench, Stalls, assert_same_packets, run
from framelane.models.cells import axis


@cocotb.test()
@cocotb.parametrize(stalls=ALL_STALLS)
async def packets_of_every_length_pass_as_they_are(dut: Any, stalls: Stalls) -> None:
    bench = Bench(dut, stalls)
    source, out = bench.source("s_axis"), bench.sink("m_axis")
    wide, narrow = len(dut.s_axis_tdata), len(dut.m_axis_tdata)
    await bench.reset()
    packets = [bench.random.randbytes(length) for length in [*range(1, 2 * wide // 8 + 2), 700, 1518]]
    bench.random.shuffle(packets)
    for number, packet in enumerate(packets):
        source.send(packet, wide, tuser=number & 0xFF)
    beats = [axis.n_beats(len(packet), narrow) for packet in packets]
    await bench.drain(out, sum(beats))
    assert_same_packets(out.packets(narrow), packets)
    assert [i["tuser"] for i in out.items] == [k & 0xFF for k, n in enumerate(beats) for _ in range(n)]
    if stalls is Stalls.NONE:
        assert out.taken[0] == source.offered[0] + 1
        assert out.taken[-1] - out.taken[0] == len(out.taken) - 1


@cocotb.test()
async def a_reset_leaves_nothing_of_the_packet_under_way(dut: Any) -> None:
    bench = Bench(dut)
    source, out = bench.source("s_axis"), bench.sink("m_axis")
    wide, narrow = len(dut.s_axis_tdata), len(dut.m_axis_tdata)
    for cycles in range(1, 12):
        await bench.reset(cycles=1)
        source.send(bytes(200), wide, tuser=0)
        for _ in range(cycles):
            await bench.step()
        await bench.reset(cycles=1)
        packet = bench.random.randbytes(50)
        source.send(packet, wide, tuser=0)
        await bench.drain(out, axis.n_beats(len(packet), narrow))
        assert_same_packets(out.packets(narrow), [packet])


@pytest.mark.parametrize("width", [64, 128, 512])
def test_axis_narrow(width: int) -> None:
    run("axis_narrow", DataW=width, UserW=8)
