"""mac_tx: whatever the source does, the MAC gets whole packets without a gap, in another clock and width."""

from typing import Any

import cocotb
import pytest

from bench import ALL_STALLS, Stalls, run
from clocks_bench import JITTER, RATIOS
from framelane.models.mac.mac_port import MacPort
from port_bench import TxBench
from signals import now
from widths import some_of

WIDTHS = [(64, 8), (64, 64), (64, 512), (512, 64), (256, 32), (1024, 512), (1024, 8)]
"""Bits of the core and of the MAC: each one the wider, up to the limits."""
FAR = 128
"""Ratio of widths from which on packets last long: there are fewer of them, and the queue is shorter."""


def bench(dut: Any, periods: tuple[int, int], stalls: Stalls = Stalls.NONE) -> TxBench:
    width, mac_width = len(dut.s_axis_tdata), len(dut.m_axis_tdata)
    model = MacPort(
        width=width, mac_width=mac_width, max_bytes=(int(dut.Depth.value) // 2 - 1) * max(width, mac_width) // 8
    )
    assert model.depth == int(dut.Depth.value)
    return TxBench(dut, periods, stalls, "mac", model)


@cocotb.test()
@cocotb.parametrize(periods=RATIOS, stalls=ALL_STALLS)
async def packets_of_all_lengths_pass_without_a_gap(dut: Any, periods: tuple[int, int], stalls: Stalls) -> None:
    tx = bench(dut, periods, stalls)
    await tx.start()
    if stalls.source:
        tx.slowly()
    long = 25 if tx.model.width < FAR * tx.model.mac_width else 6
    tx.send(tx.random.randint(1, tx.model.max_bytes) for _ in range(long))
    tx.send(tx.random.randint(1, 140) for _ in range(25))
    await tx.finish()


@cocotb.test()
@cocotb.parametrize(periods=RATIOS)
async def a_reset_of_the_core_leaves_whole_packets_and_one_of_the_mac_none_in_pieces(
    dut: Any, periods: tuple[int, int]
) -> None:
    tx = bench(dut, periods)
    await tx.start()
    for round_ in range(12):
        tx.send(tx.random.randint(60, tx.model.max_bytes) for _ in range(4))
        await tx.core.wait(tx.random.randrange(400))
        before = len(tx.sink.items)
        side = tx.random.choice((tx.core, tx.mac))
        await side.reset(tx.random.randrange(1, 5))
        if side is tx.core:
            await tx.quiet()
            assert len(tx.sink.items) >= before
        else:
            for _ in range(60):
                await tx.core.wait(1)
                await tx.mac.wait(1)
            await tx.quiet()
        got = tx.packets()
        assert not any(tx.ends())
        assert set(got) <= set(tx.sent)  # all are longer than the least
        tx.sink.items.clear()
        tx.sent.clear()
        tx.send([100, 200])
        await tx.quiet()
        assert tx.packets() == tx.sent, round_
        tx.sink.items.clear()
        tx.sent.clear()


@cocotb.test()
async def with_a_threshold_packets_start_before_they_end(dut: Any) -> None:
    tx = bench(dut, (2000, 2000))
    await tx.start()
    waits = []
    for threshold in (0, 4) if tx.model.width >= tx.model.mac_width else ():  # else its source does not keep up
        dut.threshold_i.value = threshold
        await tx.mac.wait(4)
        before = tx.mac.cycle
        tx.send([tx.model.max_bytes] * 2)
        await tx.quiet()
        assert tx.packets() == tx.sent
        assert not any(tx.ends())
        waits.append(tx.sink.taken[0] - before)
        tx.sink.clear()
        tx.sent.clear()
    assert waits == sorted(waits, reverse=True)
    assert len(set(waits)) == len(waits)


@cocotb.test()
async def a_source_that_does_not_keep_up_with_the_threshold_spoils_its_packet_and_no_other(dut: Any) -> None:
    tx = bench(dut, (2000, 2000))
    dut.threshold_i.value = 2
    underruns = 0

    def look() -> None:
        nonlocal underruns
        underruns += now(dut.underrun_o)

    tx.mac.watch(look)
    await tx.start()
    tx.source._stall = lambda: tx.core.cycle % 400 < 399
    beats = 6 * tx.model.wide // 8
    tx.send([beats, beats])
    await tx.core.wait_until(lambda: not tx.source.items)
    tx.source._stall = lambda: False
    dut.threshold_i.value = 0
    tx.send([beats])
    await tx.quiet()
    assert (tx.ends(), underruns) == ([1, 1, 0], 2), [len(p) for p in tx.packets()]
    assert underruns == 2
    assert tx.packets()[-1] == tx.sent[-1].ljust(60, b"\0")


@cocotb.test()
async def one_that_never_fits_is_left_out(dut: Any) -> None:
    tx = bench(dut, (2000, 2700))
    await tx.start()
    fits = (tx.model.depth + 1) * tx.model.wide // 8
    tx.send([100, fits + 1, 100, fits, 3 * fits, 64])
    await tx.finish()
    assert len(tx.packets()) == 4


@pytest.mark.parametrize(("width", "mac_width"), some_of("mac_tx", WIDTHS))
def test_mac_tx(width: int, mac_width: int) -> None:
    depth = 32 if width < FAR * mac_width else 16
    run("mac_tx", build_args=JITTER, DataW=width, MacW=mac_width, Depth=depth)
