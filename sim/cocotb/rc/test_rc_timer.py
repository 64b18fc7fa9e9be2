"""rc_timer: every timer that is started ends once, in its time, unless it is stopped or started anew."""

from typing import Any

import cocotb

from bench import Bench, run
from signals import now

QPS, CLOCKS = 16, 40


class TimerBench(Bench):
    """The block with what is known of each timer: when it may end first, and must end at last."""

    def __init__(self, dut: Any, patience: float = 1.0) -> None:
        super().__init__(dut)
        dut.write_i.value = dut.expired_ready_i.value = 0
        self.patience = patience
        self.span: dict[int, tuple[int, int]] = {}
        self.ended: list[int] = []
        self.answer(self._take)
        self.watch(self._sample)

    def _take(self) -> None:
        self.dut.expired_ready_i.value = self.random.random() < self.patience

    def _sample(self) -> None:
        for qp, (_, last) in self.span.items():
            assert self.cycle <= last, f"the timer of QP {qp} has not ended"
        if now(self.dut.expired_valid_o):
            qp = now(self.dut.expired_qp_o)
            assert qp in self.span, f"the timer of QP {qp} has ended and does not run"
            assert self.cycle >= self.span[qp][0], "too early"
            if now(self.dut.expired_ready_i):
                del self.span[qp]
                self.ended.append(qp)

    async def write(self, qp: int, ticks: int | None) -> None:
        self.dut.write_i.value, self.dut.write_qp_i.value = 1, qp
        self.dut.run_i.value, self.dut.ticks_i.value = ticks is not None, ticks or 0
        at = self.cycle
        await self.step()
        self.dut.write_i.value = 0
        self.span.pop(qp, None)
        if ticks is not None:
            late = 4 * QPS / self.patience
            self.span[qp] = (at + ticks * CLOCKS, at + int((ticks + 2) * CLOCKS + late * 3))


@cocotb.test()
@cocotb.parametrize(patience=[1.0, 0.3])
async def timers_end_in_their_time_and_once(dut: Any, patience: float) -> None:
    bench = TimerBench(dut, patience)
    await bench.reset()
    draw = bench.random.randrange
    for _ in range(1500):
        await bench.write(draw(QPS), draw(12) if draw(5) else None)
        for _ in range(draw(60)):
            await bench.step()
    await bench.until(lambda: not bench.span)
    for _ in range(200):
        await bench.step()
    assert len(bench.ended) > 300


@cocotb.test()
async def all_may_end_at_once(dut: Any) -> None:
    bench = TimerBench(dut)
    await bench.reset()
    for qp in range(QPS):
        await bench.write(qp, 3)
    await bench.until(lambda: not bench.span)
    assert sorted(bench.ended) == list(range(QPS))


@cocotb.test()
async def an_end_that_is_on_offer_is_withdrawn_when_the_timer_is_started_or_stopped(dut: Any) -> None:
    for ticks in (None, 5):
        bench = TimerBench(dut, patience=1e-9)
        await bench.reset()
        await bench.write(3, 0)
        await bench.until(lambda: bool(now(dut.expired_valid_o)))
        await bench.write(3, ticks)
        await bench.step()
        assert not now(dut.expired_valid_o)


@cocotb.test()
async def a_reset_stops_all(dut: Any) -> None:
    bench = TimerBench(dut)
    await bench.reset()
    for qp in range(QPS):
        await bench.write(qp, 1)
    await bench.reset(cycles=1)
    bench.span.clear()
    for _ in range(10 * CLOCKS):
        await bench.step()


def test_rc_timer() -> None:
    run("rc_timer", RcQps=QPS, TickClocks=CLOCKS)
