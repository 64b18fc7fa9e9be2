"""tlp_guard: a port that stops for good holds nothing up, and never takes half a TLP for a whole one."""

from typing import Any

import cocotb
import pytest

from bench import ALL_STALLS, Bench, Stalls, run
from framelane.models.pcie.tlp_join import Sent
from signals import now
from tlp_ports import taken_tlps
from tlp_streams import beats, some_tlp
from widths import some_widths

LIMIT = 2
UNIT_W = 4
"""The limit is in 2^4 cycles."""


class GuardBench(Bench):
    """TLPs to a port that may stop."""

    def __init__(self, dut: Any, stalls: Stalls = Stalls.NONE) -> None:
        super().__init__(dut, stalls)
        self.width = int(dut.DataW.value)
        self.tlps, self.out = self.source("s_axis_tlp"), self.sink("m_axis_tlp")
        self.stopped = False
        pauses = self.out._stall
        self.out._stall = lambda: self.stopped or pauses()
        self.dropped = 0
        dut.link_up_i.value, dut.limit_i.value, dut.drain_i.value, dut.clear_i.value = 1, 0, 0, 0
        self.watch(self._count)

    def _count(self) -> None:
        self.dropped += now(self.dut.dropped_o)

    def send(self, count: int) -> list[Sent]:
        sent = [some_tlp(self.random) for _ in range(count)]
        for each in sent:
            self.tlps.items.extend(beats(each, self.width))
        return sent

    async def taken(self) -> list[Sent]:
        """What the port has taken when nothing more comes."""
        await self.until(lambda: not self.tlps.items, 5000)
        for _ in range(60):
            await self.step()
        return taken_tlps(self.out.items, self.width)

    def check(self, got: list[Sent], sent: list[Sent]) -> None:
        """A beginning of what was sent, of which the last may be poisoned; all others were dropped."""
        for index, (one, other) in enumerate(zip(got, sent, strict=False)):
            if one.poisoned:
                assert index == len(got) - 1
                assert one.tlp == other.tlp
            else:
                assert one == other
        # The rest of the one that is poisoned was dropped too.
        assert self.dropped == len(sent) - len(got) + sum(each.poisoned for each in got)


@cocotb.test()
@cocotb.parametrize(stalls=ALL_STALLS)
async def all_passes_as_it_came_while_the_port_moves(dut: Any, stalls: Stalls) -> None:
    bench = GuardBench(dut, stalls)
    dut.limit_i.value = LIMIT
    await bench.reset()
    sent = bench.send(80)
    await bench.until(lambda: not bench.tlps.items, 10_000)
    assert await bench.taken() == sent
    assert not now(dut.failed_o)
    assert bench.dropped == 0


@cocotb.test()
async def without_a_limit_a_port_may_stand_still_for_ever(dut: Any) -> None:
    bench = GuardBench(dut)
    await bench.reset()
    sent = bench.send(10)
    bench.stopped = True
    for _ in range(500):
        await bench.step()
    assert not now(dut.failed_o)
    bench.stopped = False
    assert await bench.taken() == sent


@cocotb.test()
@cocotb.parametrize(how=["limit", "link", "drain"], at=[0, 1, 2, 3, 5, 8, 13, 21])
async def a_port_that_stopped_lets_all_end_and_gets_no_half_tlp(dut: Any, how: str, at: int) -> None:
    """In any place of a TLP; what comes behind `clear` passes again."""
    bench = GuardBench(dut)
    await bench.reset()
    dut.limit_i.value = LIMIT if how == "limit" else 0
    sent = bench.send(20)
    await bench.until(lambda: len(bench.out.items) >= at, 200)
    bench.stopped = True
    if how != "limit":
        dut.link_up_i.value, dut.drain_i.value = int(how != "link"), int(how == "drain")
    start = bench.cycle
    await bench.until(lambda: bool(now(dut.failed_o)), 200)
    assert bench.cycle - start <= (LIMIT << UNIT_W) + 6
    await bench.until(lambda: not bench.tlps.items, 1000)
    held = now(dut.m_axis_tlp_tvalid)
    for _ in range(100):
        await bench.step()
        assert now(dut.m_axis_tlp_tvalid) >= held, "what was on offer is not any more"
    bench.stopped = False
    dut.link_up_i.value, dut.drain_i.value = 1, 0
    got = await bench.taken()
    bench.check(got, sent)
    assert len(got) < 20
    if how != "drain":
        assert now(dut.failed_o), "it is for software to say that all is well"
        lost = bench.send(3)
        assert await bench.taken() == got
        bench.check(got, [*sent, *lost])
    dut.clear_i.value = 1
    await bench.step()
    dut.clear_i.value = 0
    again = bench.send(5)
    assert (await bench.taken())[len(got) :] == again


@cocotb.test()
async def what_was_left_on_offer_is_completed_before_what_comes_behind_a_clear(dut: Any) -> None:
    bench = GuardBench(dut)
    await bench.reset()
    long = Sent(some_tlp(bench.random).tlp, b"")
    while len(long.data) < 500 or long.fence is not None:
        long = some_tlp(bench.random)
    bench.tlps.items.extend(beats(long, bench.width))
    await bench.until(lambda: len(bench.out.items) >= 2, 100)
    bench.stopped = True
    dut.link_up_i.value = 0
    await bench.until(lambda: not bench.tlps.items, 100)
    for _ in range(5):
        await bench.step()
    dut.link_up_i.value, dut.clear_i.value = 1, 1
    await bench.step()
    dut.clear_i.value = 0
    again = bench.send(3)
    for _ in range(20):
        await bench.step()
    bench.stopped = False
    got = await bench.taken()
    assert got[0].poisoned
    assert got[0].tlp == long.tlp
    assert got[1:] == again


@cocotb.test()
async def a_link_that_is_down_with_nothing_to_send_is_no_failure(dut: Any) -> None:
    bench = GuardBench(dut)
    await bench.reset()
    dut.link_up_i.value = 0
    for _ in range(100):
        await bench.step()
    assert not now(dut.failed_o)
    dut.link_up_i.value = 1
    sent = bench.send(3)
    assert await bench.taken() == sent


@pytest.mark.parametrize("width", some_widths("tlp_guard", (128, 256, 512)))
def test_tlp_guard(width: int) -> None:
    run("tlp_guard", DataW=width, UnitW=UNIT_W)
