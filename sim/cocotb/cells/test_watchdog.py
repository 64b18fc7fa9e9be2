"""watchdog: late after the limit without a move, once, until what is late has ended; the model beside it."""

from typing import Any

import cocotb

from bench import Bench, run
from framelane.models.cells.watchdog import Watchdog
from signals import now

UNIT = 8


@cocotb.test()
@cocotb.parametrize(limit=[0, 1, 3])
async def it_is_late_when_the_model_is(dut: Any, limit: int) -> None:
    bench = Bench(dut)
    model = Watchdog(limit * UNIT)
    dut.limit_i.value = limit
    dut.waits_i.value = dut.moves_i.value = dut.over_i.value = 0
    await bench.reset()
    chance, fired = bench.random, 0
    seen: list[tuple[int, int]] = []
    bench.watch(lambda: seen.append((now(dut.late_o), now(dut.fired_o))))
    for k in range(3000):
        busy = 0.02 if k % 400 < 200 else 0.3
        waits, moves, over = chance.random() > busy / 4, chance.random() < busy, chance.random() < 0.05
        dut.waits_i.value, dut.moves_i.value, dut.over_i.value = int(waits), int(moves), int(over)
        late = model.late
        await bench.step()
        fires = model.step(waits=waits, moves=moves, over=over)
        assert seen[-1] == (late, fires), f"cycle {k}"
        fired += fires
    assert bool(fired) == bool(limit)


def test_watchdog() -> None:
    run("watchdog", UnitW=UNIT.bit_length() - 1)
