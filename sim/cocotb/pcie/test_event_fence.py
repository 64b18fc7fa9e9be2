"""event_fence: an event waits for the completion of its own fence, so long at most, and has its status."""

from typing import Any

import cocotb

from bench import Bench, run
from framelane.models.pcie.tlp_split import Status
from signals import now

LIMIT = 40


class FenceBench(Bench):
    """One event after the other, whose fence is on its way at once."""

    def __init__(self, dut: Any, fence: bool = True) -> None:
        super().__init__(dut)
        dut.fence_i.value, dut.limit_i.value = int(fence), LIMIT
        for name in ("ready", "sent", "ended", "ended_status", "over", "completion", "completion_tag"):
            getattr(dut, f"{name}_i").value = 0
        dut.completion_bad_i.value = 0
        self.pulses = {"unanswered": 0, "refused": 0, "unexpected": 0}
        self.watch(self._count)

    def _count(self) -> None:
        for name in self.pulses:
            self.pulses[name] += now(getattr(self.dut, f"{name}_o"))

    async def pulse(self, name: str, **values: int) -> None:
        """One cycle of an input, with others beside it."""
        for key, value in ({name: 1} | values).items():
            getattr(self.dut, f"{key}_i").value = value
        await self.step()
        getattr(self.dut, f"{name}_i").value = 0

    async def ask(self) -> int:
        """An event is ready: its fence goes; its tag."""
        self.dut.ready_i.value = 1
        await self.until(lambda: bool(now(self.dut.asks_o)), 10)
        assert not now(self.dut.passes_o)
        tag = now(self.dut.tag_o)
        await self.pulse("sent")
        return tag

    async def end(self, status: Status = Status.OK) -> None:
        """The fence ends as a descriptor."""
        await self.pulse("ended", ended_status=status)

    async def complete(self, tag: int, bad: bool = False) -> None:
        await self.pulse("completion", completion_tag=tag, completion_bad=int(bad))

    async def passes(self) -> Status:
        """The event may go, and goes."""
        await self.until(lambda: bool(now(self.dut.passes_o)), 2 * LIMIT)
        status = Status(now(self.dut.status_o))
        await self.pulse("over")
        self.dut.ready_i.value = 0
        await self.step()
        return status


@cocotb.test()
async def an_event_waits_for_its_own_completion(dut: Any) -> None:
    bench = FenceBench(dut)
    await bench.reset()
    seen = []
    for _ in range(40):  # tags come again
        tag = await bench.ask()
        await bench.end()
        for _ in range(5):
            await bench.step()
            assert now(dut.waits_o)
            assert not now(dut.passes_o)
        await bench.complete(tag)
        seen.append(tag)
        assert await bench.passes() is Status.OK
    assert seen == [k % 32 for k in range(40)]
    assert set(bench.pulses.values()) == {0}


@cocotb.test()
async def a_completion_may_come_before_the_fence_has_ended_as_a_descriptor(dut: Any) -> None:
    bench = FenceBench(dut)
    await bench.reset()
    await bench.complete(await bench.ask())
    assert await bench.passes() is Status.OK
    dut.ready_i.value = 1
    for _ in range(5):
        await bench.step()
        assert not now(dut.asks_o), "a second fence while the first has not ended"
    await bench.end()
    tag = await bench.ask()
    await bench.end()
    await bench.complete(tag)
    assert await bench.passes() is Status.OK


@cocotb.test()
async def a_completion_of_another_tag_is_counted_and_passed_over(dut: Any) -> None:
    bench = FenceBench(dut)
    await bench.reset()
    await bench.complete(0)
    tag = await bench.ask()
    await bench.end()
    for other in (tag + 1, tag ^ 16):
        await bench.complete(other, bad=True)
        assert now(dut.waits_o)
    await bench.complete(tag)
    assert await bench.passes() is Status.OK
    assert bench.pulses == {"unanswered": 0, "refused": 0, "unexpected": 3}


@cocotb.test()
async def an_error_as_completion_is_the_events_status(dut: Any) -> None:
    bench = FenceBench(dut)
    await bench.reset()
    for bad in (True, False):
        tag = await bench.ask()
        await bench.end()
        await bench.complete(tag, bad)
        assert await bench.passes() is (Status.FENCE_REFUSED if bad else Status.OK)
    assert bench.pulses == {"unanswered": 0, "refused": 1, "unexpected": 0}


@cocotb.test()
async def time_is_over_once_and_what_comes_later_is_not_the_nexts(dut: Any) -> None:
    bench = FenceBench(dut)
    await bench.reset()
    late = await bench.ask()
    start = bench.cycle
    await bench.end()
    assert await bench.passes() is Status.UNANSWERED
    assert LIMIT <= bench.cycle - start <= LIMIT + 4
    tag = await bench.ask()
    await bench.end()
    await bench.complete(late)
    assert now(dut.waits_o)
    await bench.complete(tag)
    assert await bench.passes() is Status.OK
    assert bench.pulses == {"unanswered": 1, "refused": 0, "unexpected": 1}


@cocotb.test()
async def a_fence_that_was_not_sent_is_not_waited_for(dut: Any) -> None:
    bench = FenceBench(dut)
    await bench.reset()
    await bench.ask()
    await bench.end(Status.NO_PAGE)
    start = bench.cycle
    assert await bench.passes() is Status.NO_PAGE
    assert bench.cycle - start < 5
    assert bench.pulses["unanswered"] == 0


@cocotb.test()
async def without_fences_events_pass_at_once_also_behind_one_that_waited(dut: Any) -> None:
    bench = FenceBench(dut)
    await bench.reset()
    await bench.ask()
    await bench.end()
    dut.fence_i.value = 0
    for _ in range(3):
        dut.ready_i.value = 1
        start = bench.cycle
        assert await bench.passes() is Status.OK
        assert bench.cycle - start <= 3
    for _ in range(2 * LIMIT):
        await bench.step()
    assert bench.pulses["unanswered"] == 0


def test_event_fence() -> None:
    run("event_fence")
