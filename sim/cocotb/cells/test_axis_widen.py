"""axis_widen: the same packets on a wider bus, one narrow beat a cycle."""

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
    narrow, wide = len(dut.s_axis_tdata), len(dut.m_axis_tdata)
    await bench.reset()
    packets = [bench.random.randbytes(length) for length in [*range(1, 2 * wide // 8 + 2), 700, 1518]]
    bench.random.shuffle(packets)
    users = []
    for packet in packets:
        source.send(packet, narrow, tuser=0)
        for item in list(source.items)[-axis.n_beats(len(packet), narrow) :]:
            item["tuser"] = bench.random.getrandbits(8)
        beats = list(source.items)[-axis.n_beats(len(packet), narrow) :]
        slices = wide // narrow
        users += [beats[min(k + slices, len(beats)) - 1]["tuser"] for k in range(0, len(beats), slices)]
    await bench.drain(out, len(users))
    assert_same_packets(out.packets(wide), packets)
    assert [item["tuser"] for item in out.items] == users


@cocotb.test()
async def it_takes_a_beat_a_cycle_but_where_single_beats_follow_a_wide_one(dut: Any) -> None:
    bench = Bench(dut)
    source, out = bench.source("s_axis"), bench.sink("m_axis")
    narrow, wide = len(dut.s_axis_tdata), len(dut.m_axis_tdata)
    await bench.reset()
    lengths = [2 * wide // 8, 2 * wide // 8 - 1, wide // 8 + narrow // 8 + 1, 2 * narrow // 8]
    for length in lengths:
        source.send(bytes(length), narrow, tuser=0)
    n_beats = len(source.items)
    await bench.drain(out, sum(axis.n_beats(length, wide) for length in lengths))
    assert source.accepted[-1] - source.accepted[0] == n_beats - 1
    assert out.taken[0] == source.accepted[wide // narrow - 1] + 1
    source.accepted.clear()
    for _ in range(10):
        source.send(bytes(1), narrow, tuser=0)
    await bench.drain(out, len(out.items) + 10)
    assert source.accepted[-1] - source.accepted[0] == 2 * 9


@cocotb.test()
async def its_tready_does_not_follow_the_sinks_in_the_same_cycle(dut: Any) -> None:
    bench = Bench(dut)
    source = bench.source("s_axis")
    dut.m_axis_tready.value = 0
    await bench.reset()
    narrow, wide = len(dut.s_axis_tdata), len(dut.m_axis_tdata)
    source.send(bytes(4 * wide // 8), narrow, tuser=0)
    for _ in range(4 * wide // narrow):
        await bench.step()
    intake = len(source.accepted)
    assert intake == 2 * wide // narrow - 1
    dut.m_axis_tready.value = 1
    await bench.step()
    assert len(source.accepted) == intake
    await bench.step()
    assert len(source.accepted) == intake + 1


@cocotb.test()
async def a_reset_leaves_nothing_of_the_packet_under_way(dut: Any) -> None:
    bench = Bench(dut)
    source, out = bench.source("s_axis"), bench.sink("m_axis")
    narrow, wide = len(dut.s_axis_tdata), len(dut.m_axis_tdata)
    for cycles in range(1, 12):
        await bench.reset(cycles=1)
        source.send(bytes(200), narrow, tuser=0)
        for _ in range(cycles):
            await bench.step()
        await bench.reset(cycles=1)
        packet = bench.random.randbytes(90)
        source.send(packet, narrow, tuser=0)
        await bench.drain(out, axis.n_beats(len(packet), wide))
        assert_same_packets(out.packets(wide), [packet])


@pytest.mark.parametrize("width", [128, 512])
def test_axis_widen(width: int) -> None:
    run("axis_widen", OutW=width, UserW=8)
