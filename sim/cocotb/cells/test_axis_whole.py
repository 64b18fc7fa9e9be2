"""axis_whole: packets come out whole and without a gap, however slowly they came; one too long still passes."""

from typing import Any

import cocotb
import pytest

from bench import ALL_STALLS, Bench, Stalls, assert_same_packets, run
from framelane.models.cells import axis
from signals import now


@cocotb.test()
@cocotb.parametrize(stalls=ALL_STALLS)
async def every_packet_comes_out_once_and_in_order(dut: Any, stalls: Stalls) -> None:
    bench = Bench(dut, stalls)
    source, out = bench.source("s_axis"), bench.sink("m_axis")
    width, depth = len(dut.m_axis_tdata), int(dut.Depth.value)
    inside = 0

    def look() -> None:
        nonlocal inside
        assert now(dut.empty_o) == (inside == 0)
        inside = len(source.accepted) - len(out.taken)

    await bench.reset()
    bench.watch(look)
    sizes = [1, width // 8, depth * width // 8, depth * width // 8 + 1, 3 * depth * width // 8]
    sizes += [bench.random.randrange(1, depth * width // 4) for _ in range(40)]
    packets = [bench.random.randbytes(size) for size in sizes]
    for index, packet in enumerate(packets):
        source.send(packet, width, tuser=index & 1)
    await bench.drain(out, sum(axis.n_beats(size, width) for size in sizes))
    assert_same_packets(out.packets(width), packets)
    users = [index & 1 for index, size in enumerate(sizes) for _ in range(axis.n_beats(size, width))]
    assert [item["tuser"] for item in out.items] == users


@cocotb.test()
async def a_packet_that_fits_has_no_gap_and_waits_for_its_end(dut: Any) -> None:
    bench = Bench(dut, Stalls.SOURCE)
    source, out = bench.source("s_axis"), bench.sink("m_axis")
    width, depth = len(dut.m_axis_tdata), int(dut.Depth.value)
    await bench.reset()
    for beats in range(1, depth + 1):
        out.clear()
        source.accepted.clear()
        source.offered.clear()
        source.send(bench.random.randbytes(beats * width // 8), width, tuser=0)
        await bench.drain(out, beats)
        assert out.taken == list(range(source.accepted[-1] + 1, source.accepted[-1] + 1 + beats))


@cocotb.test()
async def the_packet_behind_one_that_is_too_long_waits_for_its_end_again(dut: Any) -> None:
    bench = Bench(dut, Stalls.SOURCE)
    source, out = bench.source("s_axis"), bench.sink("m_axis")
    width, depth = len(dut.m_axis_tdata), int(dut.Depth.value)
    await bench.reset()
    for _ in range(5):
        source.send(bytes(2 * depth * width // 8), width, tuser=0)
        await bench.drain(out, 2 * depth)
        out.clear()
        source.accepted.clear()
        source.offered.clear()
        source.send(bytes(depth * width // 8), width, tuser=0)
        await bench.drain(out, depth)
        assert out.taken == list(range(source.accepted[-1] + 1, source.accepted[-1] + 1 + depth))
        out.clear()


@cocotb.test()
async def full_throughput_in_packets_of_any_length_that_fits(dut: Any) -> None:
    bench = Bench(dut)
    source, out = bench.source("s_axis"), bench.sink("m_axis")
    width, depth = len(dut.m_axis_tdata), int(dut.Depth.value)
    await bench.reset()
    beats = [1 + bench.random.randrange(depth // 2) for _ in range(100)]
    for n in beats:
        source.send(bench.random.randbytes(n * width // 8), width, tuser=0)
    await bench.drain(out, sum(beats))
    assert source.accepted[-1] - source.accepted[0] == sum(beats) - 1


@cocotb.test()
async def tready_does_not_follow_the_sinks_in_the_same_cycle(dut: Any) -> None:
    bench = Bench(dut)
    source = bench.source("s_axis")
    width, depth = len(dut.m_axis_tdata), int(dut.Depth.value)
    dut.m_axis_tready.value = 0
    await bench.reset()
    for _ in range(2 * depth):
        source.send(bytes(1), width, tuser=0)
    for _ in range(2 * depth):
        await bench.step()
    assert len(source.accepted) == depth
    dut.m_axis_tready.value = 1
    await bench.step()
    assert len(source.accepted) == depth
    await bench.step()
    assert len(source.accepted) == depth + 1


@cocotb.test()
async def a_reset_forgets_packets_also_one_that_was_too_long(dut: Any) -> None:
    bench = Bench(dut)
    source, out = bench.source("s_axis"), bench.sink("m_axis")
    width, depth = len(dut.m_axis_tdata), int(dut.Depth.value)
    for cycles in (1, depth // 2, depth, depth + 3, 2 * depth):
        await bench.reset(cycles=1)
        source.send(bytes(3 * depth * width // 8), width, tuser=0)
        for _ in range(cycles):
            await bench.step()
        await bench.reset(cycles=1)
        packet = bench.random.randbytes(width // 4)
        source.send(packet, width, tuser=1)
        await bench.drain(out, 2)
        assert_same_packets(out.packets(width), [packet])
        assert out.taken[0] > source.accepted[-1]


@pytest.mark.parametrize(("width", "depth"), [(64, 8), (512, 32)])
def test_axis_whole(width: int, depth: int) -> None:
    run("axis_whole", DataW=width, Depth=depth)
