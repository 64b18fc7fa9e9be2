"""vlan_insert: a VLAN tag in every frame that says so, at its place, whatever the frame's length."""

from typing import Any

import cocotb

from bench import ALL_STALLS, Bench, Stalls, assert_same_packets, run
from framelane.driver.simulated.neighbour_ports import tag_t
from framelane.models.cells import axis
from framelane.models.cells.vlan_insert import insert

LENGTHS = (*range(17, 90), 1500, 1514)


@cocotb.test()
@cocotb.parametrize(stalls=ALL_STALLS)
async def a_tag_lies_behind_the_addresses_of_the_frames_that_have_one(dut: Any, stalls: Stalls) -> None:
    bench = Bench(dut, stalls)
    source, out = bench.source("s_axis"), bench.sink("m_axis")
    await bench.reset()
    expected: list[bytes] = []
    for share in (0, 1, 0.5):
        for length in LENGTHS:
            frame = bench.random.randbytes(length)
            tci = bench.random.getrandbits(16) if bench.random.random() < share else None
            source.send(frame, 64, tuser=tag_t(tci))
            expected.append(insert(frame, tci))
    await bench.drain(out, sum(axis.n_beats(len(frame), 64) for frame in expected))
    assert_same_packets(out.packets(64), expected)
    if stalls is Stalls.NONE:
        assert out.taken[-1] - out.taken[0] == len(out.taken) - 1


@cocotb.test()
async def a_reset_leaves_nothing_of_the_frame_under_way(dut: Any) -> None:
    bench = Bench(dut)
    source, out = bench.source("s_axis"), bench.sink("m_axis")
    for cycles in range(1, 14):
        await bench.reset(cycles=1)
        source.send(bench.random.randbytes(60), 64, tuser=tag_t(7))
        for _ in range(cycles):
            await bench.step()
        await bench.reset(cycles=1)
        frame = bench.random.randbytes(60)
        source.send(frame, 64, tuser=tag_t(9))
        await bench.drain(out, 8)
        assert_same_packets(out.packets(64), [insert(frame, 9)])


def test_vlan_insert() -> None:
    run("vlan_insert")
