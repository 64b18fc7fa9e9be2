"""axis_fifo: a queue of Depth places, one cycle of latency, full throughput, nothing lost, duplicated or reordered."""

from typing import Any

import cocotb
import pytest

from bench import ALL_STALLS, Stalls, forgets_at_reset, pass_through, run, stalled_intake


@cocotb.test()
@cocotb.parametrize(stalls=ALL_STALLS)
async def passes_everything_in_order(dut: Any, stalls: Stalls) -> None:
    source, sink = await pass_through(dut, stalls)
    if stalls is Stalls.NONE:
        assert {out - into for into, out in zip(source.accepted, sink.taken, strict=True)} == {1}
        assert sink.taken[-1] - sink.taken[0] == len(sink.taken) - 1


@cocotb.test()
async def holds_depth_items_while_the_sink_stalls(dut: Any) -> None:
    assert await stalled_intake(dut) == int(dut.Depth.value)


@cocotb.test()
async def a_reset_empties_it(dut: Any) -> None:
    await forgets_at_reset(dut)


@pytest.mark.parametrize(("depth", "group"), [(2, 112), (8, 112), (8, 5)])
def test_axis_fifo(depth: int, group: int) -> None:
    """With one address for all its data, and with copies of it for a few bits each."""
    run("axis_fifo", DataW=16, Depth=depth, GroupW=group)
