"""tx with RC: 10,000 messages of random sizes on 4 queue pairs at once, through all that a network and receivers do."""

import random
from dataclasses import replace
from typing import Any

import cocotb

from bench import ROOT, run
from framelane.models.placement.flow import Flow
from framelane.models.rc.lossy_network import LinkImpairments
from framelane.models.rc.rc_protocol import RcReason, RcState
from framelane.models.rc.rc_responder import Manner
from framelane.models.roce_tx.roce_qp import Segmentation
from many_rc_bench import FLOWS, LIMITS, LINES, LONG, PITCH, STEP, ManyBench, Trouble
from tx_registers import DROPPED, FAILED, FLOW, SENT

QPS, DEPTH, CLOCK_HZ = 8, 64, 10_000_000
MESSAGES = 10_000
FRAMES = 20
"""In a row, before sizes change."""
MOST = DEPTH // 6
"""Descriptors of a frame in a flow: rings have room for twice as many frames as are in flight."""
BEATS = 6
"""Beats of 512 bits in a packet with 256 bytes of payload."""


def shapes(flows: list[Flow], chance: random.Random) -> list[Flow]:
    """The flows with random rectangles and sizes of descriptors, of which a frame has no more than MOST."""

    def shape(flow: Flow) -> Flow:
        while True:
            width, height = chance.choice((1, 127, 128, 129, chance.randrange(1, 350))), chance.randrange(1, LINES)
            x0, y0 = chance.randrange(PITCH // 2 - width), chance.randrange(LINES - height)
            length = chance.choice((1 << 31, chance.randrange(1, 700)))
            new = replace(flow, width=width, height=height, x0=x0, y0=y0, max_length=length)
            if MOST - 4 <= new.descriptors <= MOST:
                return new

    return [shape(flow) for flow in flows]


@cocotb.test()
@cocotb.parametrize(loss=[0.0, 0.001, 0.01, 0.05])
async def every_byte_arrives_once_and_in_place_or_its_queue_pair_is_in_error(dut: Any, loss: float) -> None:
    """Both ways, too: packets twice, late, damaged; and receivers not ready, silent for a while, or for too long."""
    impairments = LinkImpairments(loss=loss, duplicate=0.005, corrupt=0.005, late=0.005, delay=100, lateness=400)
    bench = ManyBench(dut, impairments, Segmentation.MESSAGE if loss == 0.01 else Segmentation.ONLY, MESSAGES // 25)
    chance = random.Random(f"many {loss}")
    await bench.start()
    troubles: list[Trouble | None] = [
        None,
        Trouble(0, True, 3000),
        Trouble(1, False, 4000),
        None,
        Trouble(2, True, LONG),
    ]
    rows = errors = 0
    while bench.messages < MESSAGES:
        await bench.reshape(shapes(bench.flows, chance))
        await bench.row(FRAMES, troubles[rows % len(troubles)] if rows < 15 else None)
        rows += 1
        for k in range(FLOWS):
            state = await bench.state(k)
            if state[0] is not RcState.RUN:
                assert (k, *state) == (2, RcState.ERROR, RcReason.TIMEOUT)
                errors += 1
                psn = chance.getrandbits(24)
                bench.receiver(k, psn)
                await bench.arm(k, psn)
    offered = len(bench.sent)
    for k in range(FLOWS):
        arrived = bench.check_memory(k)
        sent, dropped, failed = await bench.counters(SENT, DROPPED, FAILED, index=k)
        assert sent + dropped + failed == offered
        assert arrived - failed <= sent <= arrived
        assert (sent == offered) == (k != 2), "only a queue pair in error loses frames"
    dut._log.info(f"{bench.messages} messages, {rows} rows, {errors} errors, {bench.now} cycles")
    assert errors
    assert bench.of(1).counts["rnr"] > 2
    for way in (bench.remote.there, bench.remote.back):
        assert all(way.counts[what] for what in ("duplicated", "late", "corrupted"))
        assert bool(way.counts["lost"]) == bool(loss)


@cocotb.test()
async def a_dead_queue_pair_costs_the_three_others_only_the_line_for_its_retries(dut: Any) -> None:
    bench = ManyBench(dut, LinkImpairments(delay=100), Segmentation.ONLY, 400, [Manner.IBA] * FLOWS)
    await bench.start()
    live, dead = range(FLOWS - 1), FLOWS - 1
    flows = [replace(flow, width=256, height=MOST - 1) for flow in bench.flows]
    await bench.reshape(flows)
    await bench.write(FLOW + 0x40 * dead, 0)
    alone = await bench.stream(100, live)
    await bench.all_released()
    bench.remote.silent.add(bench.number(dead))
    await bench.reshape(flows)
    before = bench.remote.there.counts["sent"]
    retrying = await bench.stream(100, live)
    retries = bench.remote.there.counts["sent"] - before - 3 * 100 * (2 * MOST - 1)
    await bench.until_error(dead)
    failed = await bench.stream(100, live)
    dut._log.info(f"100 frames: alone {alone}, beside retries {retrying} ({retries} packets), beside an error {failed}")
    assert failed <= 1.01 * alone + STEP
    assert retries >= LIMITS.window
    assert retrying <= 1.01 * alone + BEATS * retries + STEP
    await bench.all_released()
    for k in live:
        assert bench.check_memory(k) == 300
        assert await bench.counters(SENT, DROPPED, index=k) == [300, 0]


def test_tx_with_rc_many() -> None:
    harness = ROOT / "sim" / "dpi"
    args = [str(harness / "board.cpp"), "-CFLAGS", f"-I{harness}", "-LDFLAGS", "-rdynamic"]
    parameters: dict[str, Any] = {
        "ClockHz": CLOCK_HZ,
        "Station": 1,
        "Rc": 1,
        "RcQps": QPS,
        "RcDepth": DEPTH,
        "MacPort": 1,
    }
    run("tx_with_rc_many", top="tx_board", build_args=args, DataW=512, **parameters)
