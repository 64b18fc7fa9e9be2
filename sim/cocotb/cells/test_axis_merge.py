"""axis_merge: every item of both streams once and in its stream's order, in turn where both wait."""

import itertools
from typing import Any

import cocotb

from bench import ALL_STALLS, Bench, Stalls, run

ITEMS = 200
FROM_B = 1 << 40


@cocotb.test()
@cocotb.parametrize(stalls=ALL_STALLS)
async def items_of_both_streams_keep_their_order(dut: Any, stalls: Stalls) -> None:
    bench = Bench(dut, stalls)
    a, b, out = bench.source("s_axis_a"), bench.source("s_axis_b"), bench.sink("m_axis")
    await bench.reset()
    a.items.extend({"tdata": n} for n in range(ITEMS))
    b.items.extend({"tdata": FROM_B | n} for n in range(ITEMS))
    await bench.drain(out, 2 * ITEMS)
    found = [item["tdata"] for item in out.items]
    assert [n for n in found if n < FROM_B] == list(range(ITEMS))
    assert [n - FROM_B for n in found if n >= FROM_B] == list(range(ITEMS))
    if not stalls.source:
        assert all((one < FROM_B) != (two < FROM_B) for one, two in itertools.pairwise(found)), "not in turn"
    if stalls is Stalls.NONE:
        assert out.taken[-1] - out.taken[0] == 2 * ITEMS - 1, "a bubble"


@cocotb.test()
@cocotb.parametrize(name=["a", "b"])
async def one_stream_alone_passes_without_bubbles(dut: Any, name: str) -> None:
    bench = Bench(dut)
    one, _, out = (
        bench.source(f"s_axis_{name}"),
        bench.source(f"s_axis_{'b' if name == 'a' else 'a'}"),
        bench.sink("m_axis"),
    )
    await bench.reset()
    one.items.extend({"tdata": n} for n in range(ITEMS))
    await bench.drain(out, ITEMS)
    assert out.taken[-1] - out.taken[0] == ITEMS - 1


@cocotb.test()
@cocotb.parametrize(alone=["a", "b"], reset=[False, True])
async def after_an_item_alone_it_is_the_others_turn_and_after_a_reset_that_of_b(
    dut: Any, alone: str, reset: bool
) -> None:
    bench = Bench(dut)
    sources, out = {name: bench.source(f"s_axis_{name}") for name in "ab"}, bench.sink("m_axis")
    await bench.reset()
    sources[alone].items.append({"tdata": 7})
    await bench.drain(out, 1)
    if reset:
        await bench.reset()
    out.items.clear()
    for number, source in enumerate(sources.values()):
        source.items.append({"tdata": number})
    await bench.drain(out, 2)
    b_first = reset or alone == "a"
    assert [item["tdata"] for item in out.items] == ([1, 0] if b_first else [0, 1])


def test_axis_merge() -> None:
    run("axis_merge")
