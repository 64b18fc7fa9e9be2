"""axis_reg: latency 1, full throughput, two places, nothing lost, duplicated or reordered."""

from typing import Any

import cocotb

from bench import ALL_STALLS, Stalls, forgets_at_reset, pass_through, run, stalled_intake


@cocotb.test()
@cocotb.parametrize(stalls=ALL_STALLS)
async def passes_everything_in_order(dut: Any, stalls: Stalls) -> None:
    source, sink = await pass_through(dut, stalls)
    if stalls is Stalls.NONE:
        assert {out - into for into, out in zip(source.accepted, sink.taken, strict=True)} == {1}
        assert sink.taken[-1] - sink.taken[0] == len(sink.taken) - 1


@cocotb.test()
async def a_stalled_sink_stops_the_source_a_cycle_later(dut: Any) -> None:
    assert await stalled_intake(dut) == 2


@cocotb.test()
async def a_reset_empties_it(dut: Any) -> None:
    await forgets_at_reset(dut)


def test_axis_reg() -> None:
    run("axis_reg", DataW=16)
