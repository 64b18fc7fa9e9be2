"""frame_ledger: frames count as sent or failed when their trailer has ended, and are released when all has."""

from typing import Any

import cocotb

from bench import ALL_STALLS, Bench, Stalls, run
from counter_ports import counter
from framelane.driver.simulated.ports import BD_T, COUNT_T
from framelane.models.placement.frame_ledger import FrameLedger
from signals import now


class LedgerBench(Bench):
    """The block beside its model. Messages end at random, in order, some with an error."""

    def __init__(self, dut: Any, stalls: Stalls) -> None:
        super().__init__(dut, stalls)
        self.bds, self.overs, self.counts = (
            self.source("s_axis_bd"),
            self.source("s_axis_over"),
            self.sink("m_axis_count"),
        )
        dut.ended_i.value = dut.failed_i.value = 0
        self.model = FrameLedger()
        self.released = 0
        self.begun = 0
        self.watch(self._sample)

    def _sample(self) -> None:
        self.released += now(self.dut.release_o)
        ended = self.model.sent.total() + self.model.failed.total()
        assert ended == len(self.counts.items) or not now(self.dut.idle_o), "idle, and a frame is not counted yet"

    def message(self, last: bool, destination: int) -> None:
        fields = dict.fromkeys(BD_T.fields, 0) | {"last": last, "destination_index": destination}
        self.bds.items.append({"tdata": BD_T.pack(fields)})
        self.model.descriptor(last, destination)
        self.begun += 1

    def over(self) -> None:
        self.overs.items.append({"tdata": self.begun & 0xFFFF})
        self.model.over()

    async def end(self, failed: bool) -> None:
        self.dut.ended_i.value, self.dut.failed_i.value = 1, failed
        await self.step()
        self.dut.ended_i.value = 0
        self.model.ended(failed)

    async def check(self) -> None:
        for _ in range(200):
            await self.step()
        found: dict[int, int] = {}
        for item in self.counts.items:
            count = COUNT_T.unpack(item["tdata"])
            found[count["index"]] = found.get(count["index"], 0) + count["amount"]
        ends = (("sent", self.model.sent), ("failed", self.model.failed))
        assert found == {
            counter(f"destination_counters[].{name}", d): n for name, known in ends for d, n in known.items()
        }
        assert self.released == self.model.released


@cocotb.test()
@cocotb.parametrize(stalls=ALL_STALLS)
async def frames_are_counted_and_released_as_the_model_does(dut: Any, stalls: Stalls) -> None:
    bench = LedgerBench(dut, stalls)
    await bench.reset()
    draw = bench.random.randrange
    for _ in range(60):
        waiting = 0
        for _ in range(draw(3)):  # flows that take the frame
            destination = draw(256)
            messages = 1 + draw(5)
            for k in range(messages):
                bench.message(k == messages - 1, destination)
            waiting += messages
        bench.over()
        await bench.until(lambda: not bench.bds.items and not bench.overs.items)
        for _ in range(draw(4)):
            await bench.step()
        assert not waiting or bench.released < bench.model.released + 1
        for _ in range(waiting):
            for _ in range(draw(3)):
                await bench.step()
            await bench.end(draw(8) == 0)
    await bench.check()
    assert bench.model.released == 60
    assert bench.model.failed
    assert now(dut.idle_o)


@cocotb.test()
async def memory_is_held_while_a_message_of_the_frame_or_of_one_before_is_under_way(dut: Any) -> None:
    bench = LedgerBench(dut, Stalls.NONE)
    await bench.reset()
    for last in (False, False, True):
        bench.message(last, 0)
    bench.over()
    bench.over()  # a frame that no flow has taken
    for _ in range(30):
        await bench.step()
    assert bench.released == 0
    for ended in range(3):
        assert bench.released == 0, f"released after {ended} of 3 messages"
        assert not now(dut.idle_o)
        await bench.end(False)
    await bench.check()
    assert bench.released == 2


@cocotb.test()
async def the_count_of_messages_wraps(dut: Any) -> None:
    bench = LedgerBench(dut, Stalls.NONE)
    await bench.reset()
    for _ in range(0x10000 // 64 + 3):
        for k in range(64):
            bench.message(k == 63, 5)
        bench.over()
        await bench.until(lambda: not bench.bds.items and not bench.overs.items)
        await bench.step()
        before = bench.released
        for _ in range(64):
            assert bench.released == before
            await bench.end(False)
    await bench.check()


@cocotb.test()
async def an_error_fails_its_own_frame_only(dut: Any) -> None:
    bench = LedgerBench(dut, Stalls.NONE)
    await bench.reset()
    for frame, bad in enumerate((None, 0, 1, 2, None)):
        for k in range(3):
            bench.message(k == 2, frame)
        bench.over()
        await bench.until(lambda: not bench.bds.items and not bench.overs.items)
        await bench.step()
        for k in range(3):
            await bench.end(k == bad)
    await bench.check()
    assert dict(bench.model.failed) == {1: 1, 2: 1, 3: 1}


@cocotb.test()
async def it_is_not_idle_before_a_count_is_taken(dut: Any) -> None:
    """Also in the cycles in which the count of the only frame is on its way to the port."""
    bench = LedgerBench(dut, Stalls.NONE)
    idle: list[int] = []
    bench.watch(lambda: idle.append(now(dut.idle_o)))
    await bench.reset()
    bench.message(True, 7)
    bench.over()
    await bench.until(lambda: not bench.bds.items and not bench.overs.items)
    await bench.step()
    idle.clear()
    await bench.end(False)
    await bench.until(lambda: bool(bench.counts.items), 20)
    assert not any(idle), f"{idle} from the end of the message on"
    await bench.step()
    assert idle[-1]


@cocotb.test()
async def frames_are_not_lost_while_the_counters_are_busy(dut: Any) -> None:
    bench = LedgerBench(dut, Stalls.NONE)
    bench.counts._stall = lambda: bench.cycle < 1500
    await bench.reset()
    for _ in range(30):
        bench.message(True, 1)
        bench.over()
        await bench.until(lambda: not bench.bds.items and not bench.overs.items)
        await bench.step()
        await bench.end(False)
    await bench.until(lambda: bench.cycle > 1600)
    await bench.check()
    assert bench.model.sent[1] == 30


def test_frame_ledger() -> None:
    run("frame_ledger")
