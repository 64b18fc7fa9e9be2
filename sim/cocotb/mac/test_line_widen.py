"""line_widen: the same packets on a wider bus, behind a source that cannot wait."""

from typing import Any

import cocotb
import pytest

from bench import Bench, Stalls, assert_same_packets, run
from receive_bench import line


@cocotb.test()
@cocotb.parametrize(stalls=[Stalls.NONE, Stalls.SOURCE])
async def packets_of_every_length_pass_and_nothing_is_held_up(dut: Any, stalls: Stalls) -> None:
    bench = Bench(dut, stalls)
    narrow, wide = len(dut.s_axis_tdata), len(dut.m_axis_tdata)
    source = line(bench, stalls)
    out = bench.sink("m_axis")
    await bench.reset()
    packets = [bench.random.randbytes(length) for length in [*range(1, 2 * wide // 8 + 2), 700, 1, 1]]
    bench.random.shuffle(packets)
    for number, packet in enumerate(packets):
        source.send(packet, narrow, tuser=number & 1)
    await bench.drain(out, sum(-(-len(packet) * 8 // wide) for packet in packets))
    assert_same_packets(out.packets(wide), packets)
    assert [item["tuser"] for item in out.items if item["tlast"]] == [k & 1 for k in range(len(packets))]
    assert out.taken[-1] == source.accepted[-1] + 1


@cocotb.test()
async def a_reset_leaves_nothing_of_the_packet_under_way(dut: Any) -> None:
    bench = Bench(dut)
    narrow, wide = len(dut.s_axis_tdata), len(dut.m_axis_tdata)
    source = line(bench, Stalls.NONE)
    out = bench.sink("m_axis")
    for cycles in range(1, 6):
        await bench.reset(cycles=1)
        source.send(bytes(200), narrow, tuser=0)
        for _ in range(cycles):
            await bench.step()
        await bench.reset(cycles=1)
        packet = bench.random.randbytes(50)
        source.send(packet, narrow, tuser=0)
        await bench.drain(out, -(-50 * 8 // wide))
        assert_same_packets(out.packets(wide), [packet])


@pytest.mark.parametrize(("narrow", "wide"), [(8, 64), (64, 512), (512, 1024)])
def test_line_widen(narrow: int, wide: int) -> None:
    run("line_widen", InW=narrow, OutW=wide)
