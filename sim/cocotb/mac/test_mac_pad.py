"""mac_pad: short packets are filled up with zeros; between packets there are so many cycles at least."""

from typing import Any

import cocotb
import pytest

from bench import ALL_STALLS, Bench, Stalls, assert_same_packets, run
from framelane.models.mac.mac_port import MacPort
from gap_rule import GapRule


@cocotb.test()
@cocotb.parametrize(stalls=ALL_STALLS)
async def every_length_is_filled_up_and_the_gap_is_kept(dut: Any, stalls: Stalls) -> None:
    bench = Bench(dut, stalls)
    width, gap = len(dut.s_axis_tdata), int(dut.GapCycles.value)
    source, out = bench.source("s_axis"), bench.sink("m_axis")
    rule = GapRule(bench, asserts=not stalls.source)
    await bench.reset()
    model = MacPort(width=width, mac_width=width, min_bytes=int(dut.MinBytes.value))
    packets = [bench.random.randbytes(length) for length in [*range(1, 140), *[1, 60, 61, 64] * 4]]
    bench.random.shuffle(packets)
    for number, packet in enumerate(packets):
        start = len(source.items)
        source.send(packet, width, tuser=0)
        noise = bench.random.getrandbits(width)
        for item in list(source.items)[start:]:
            size = item["tkeep"].bit_length() * 8
            item["tdata"] |= noise >> size << size  # lanes without tkeep are anything
        source.items[-1]["tuser"] = number % 3 == 0
    expected = list(model.sent(packets))
    await bench.drain(out, sum(-(-len(packet) * 8 // width) for packet in expected))
    assert_same_packets(out.packets(width), expected)
    for item in out.items:
        assert item["tdata"] >> 8 * item["tkeep"].bit_length() == 0
    assert [item["tuser"] for item in out.items if item["tlast"]] == [n % 3 == 0 for n in range(len(packets))]
    assert not any(item["tuser"] for item in out.items if not item["tlast"])
    assert rule.least_idle is not None
    assert rule.least_idle >= gap
    if stalls is Stalls.NONE:
        assert rule.least_idle == gap
        assert out.taken[0] == source.offered[0] + 1


@cocotb.test()
async def a_reset_while_it_fills_up_leaves_nothing(dut: Any) -> None:
    bench = Bench(dut)
    width = len(dut.s_axis_tdata)
    source, out = bench.source("s_axis"), bench.sink("m_axis")
    for cycles in range(1, 8):
        await bench.reset(cycles=1)
        source.send(b"a", width, tuser=0)
        for _ in range(cycles):
            await bench.step()
        await bench.reset(cycles=1)
        packet = bench.random.randbytes(70)
        source.send(packet, width, tuser=0)
        await bench.drain(out, -(-70 * 8 // width))
        assert_same_packets(out.packets(width), [packet])


@pytest.mark.parametrize(("width", "gap", "least"), [(8, 12, 60), (64, 0, 60), (512, 2, 60), (64, 1, 0)])
def test_mac_pad(width: int, gap: int, least: int) -> None:
    run("mac_pad", DataW=width, GapCycles=gap, MinBytes=least)
