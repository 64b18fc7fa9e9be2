"""bd_reg: an item and an end behind it, in order; the step before goes on while the item is worked on."""

from typing import Any

import cocotb

from bench import ALL_STALLS, Bench, Stalls, run
from signals import now


def given(items: list[dict[str, int]]) -> list[int | None]:
    """What counts: data, None for an end."""
    return [None if item["tuser"] else item["tdata"] for item in items]


def some_items(bench: Bench, count: int) -> list[dict[str, int]]:
    """Items and ends at random, several of a kind in a row too."""
    bits = len(bench.dut.s_axis_tdata)
    return [{"tdata": bench.random.getrandbits(bits), "tuser": bench.random.getrandbits(1)} for _ in range(count)]


@cocotb.test()
@cocotb.parametrize(stalls=ALL_STALLS)
async def items_and_ends_come_out_in_order(dut: Any, stalls: Stalls) -> None:
    bench = Bench(dut, stalls)
    source, sink = bench.source("s_axis"), bench.sink("m_axis")
    await bench.reset()
    sent = some_items(bench, 400)
    source.items.extend(sent)
    await bench.drain(sink, len(sent))
    assert given(sink.items) == given(sent)
    if stalls is Stalls.NONE:
        assert min(out - into for into, out in zip(source.accepted, sink.taken, strict=True)) == 1


@cocotb.test()
async def an_end_waits_behind_an_item_and_an_item_for_it_to_go(dut: Any) -> None:
    for first, second, intake in ((0, 0, 1), (0, 1, 2), (1, 0, 1), (1, 1, 2)):
        bench = Bench(dut)
        source = bench.source("s_axis")
        dut.m_axis_tready.value = 0
        await bench.reset()
        source.items.extend({"tdata": 7 + k, "tuser": is_end} for k, is_end in enumerate((first, second, 1, 1)))
        for _ in range(8):
            await bench.step()
        assert len(source.accepted) == intake, (first, second)
        assert (now(dut.m_axis_tvalid), now(dut.m_axis_tuser)) == (1, first)
        assert first or now(dut.m_axis_tdata) == 7


@cocotb.test()
async def a_reset_empties_it(dut: Any) -> None:
    bench = Bench(dut)
    source = bench.source("s_axis")
    dut.m_axis_tready.value = 0
    await bench.reset()
    source.items.extend({"tdata": 1, "tuser": is_end} for is_end in (0, 1, 1))
    for _ in range(5):
        await bench.step()
    source.items.clear()
    await bench.reset(cycles=1)
    sink = bench.sink("m_axis")
    sent = some_items(bench, 20)
    source.items.extend(sent)
    await bench.drain(sink, len(sent))
    assert given(sink.items) == given(sent)


def test_bd_reg() -> None:
    run("bd_reg", DataW=300)
