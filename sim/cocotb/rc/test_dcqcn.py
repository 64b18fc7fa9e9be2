"""dcqcn: every rate that it tells is the model's, after every notification, tick and packet."""

import random
from typing import Any

import cocotb
import pytest

from bench import SEED, Bench, run
from framelane.models.rc.dcqcn import Books, DcqcnSettings, visit, written
from signals import now

TURN = 10
"""Cycles of a QP's turn."""

QUICK = DcqcnSettings(alpha_period=3, rise_period=4, bytes_log2=10, additive=40_000, hyper=300_000)


class DcqcnBench(Bench):
    """The block beside the model's books: what happens is done while nothing is due, then all QPs have a turn."""

    def __init__(self, dut: Any, settings: DcqcnSettings = QUICK) -> None:
        super().__init__(dut)
        self.num_qp = int(dut.NumQp.value)
        self.settings = settings
        self.now = 0
        self.spent = [0] * self.num_qp
        self.own = [0] * self.num_qp
        self.told: dict[int, int] = {}
        for name in ("tick_i", "write_i", "cnp_i", "spend_i"):
            getattr(dut, name).value = 0
        dut.m_axis_rate_tready.value = 1
        self.enable(True)
        self.books = [written(0, settings, 0, 0) for _ in range(self.num_qp)]

    def enable(self, on: bool) -> None:
        s = self.settings
        fields = [(int(on), 1), (s.line, 24), (s.minimum, 24), (s.additive, 24), (s.hyper, 24), (s.alpha_period, 16)]
        fields += [(s.rise_period, 16), (s.bytes_log2, 5), (s.gain_log2, 4), (s.fast_rounds, 4)]
        word = 0
        for value, bits in fields:
            word = word << bits | value
        self.dut.settings_i.value = word

    async def cycle_once(self) -> None:
        """One cycle; a rate that is told is kept."""
        dut = self.dut
        await self.step()
        if now(dut.m_axis_rate_tvalid) and now(dut.m_axis_rate_tready):
            self.told[now(dut.m_axis_rate_index)] = now(dut.m_axis_rate_tdata)

    async def scan(self, cycles: int | None = None) -> None:
        """Let every QP have its turn."""
        for _ in range(cycles or 2 * TURN * (self.num_qp + 1)):
            await self.cycle_once()

    async def pulse(self, name: str, **values: int) -> None:
        for field, value in values.items():
            getattr(self.dut, field).value = value
        getattr(self.dut, name).value = 1
        await self.cycle_once()
        getattr(self.dut, name).value = 0

    async def tick(self) -> None:
        self.now = (self.now + 1) % (1 << 16)
        await self.pulse("tick_i")

    async def spend(self, qp: int, size: int) -> None:
        self.spent[qp] = (self.spent[qp] + size) % (1 << 32)
        await self.pulse("spend_i", spend_index_i=qp, spend_bytes_i=size)

    async def write(self, qp: int, rate: int) -> None:
        self.own[qp] = rate
        await self.pulse("write_i", write_index_i=qp, write_rate_i=rate)
        await self.scan()
        self.books[qp] = written(rate, self.settings, self.now, self.spent[qp])

    async def notify(self, qp: int) -> None:
        await self.pulse("cnp_i", cnp_index_i=qp)

    async def look(self, *notified: int) -> None:
        """All QPs have turns, and so have the model's: until nothing is due any more."""
        await self.scan(4 * TURN * (self.num_qp + 1))
        for qp in range(self.num_qp):
            self.books[qp] = self._visit(qp, qp in notified)
            for _ in range(4):
                self.books[qp] = self._visit(qp, False)

    def _visit(self, qp: int, notified: bool) -> Books:
        return visit(self.books[qp], self.settings, notified, self.now, self.spent[qp])

    def expected(self, qp: int) -> int:
        books = self.books[qp]
        return books.current if books.cut else self.own[qp]

    def check(self) -> None:
        assert self.told == {qp: self.expected(qp) for qp in range(self.num_qp)}


async def started(dut: Any, settings: DcqcnSettings = QUICK) -> DcqcnBench:
    bench = DcqcnBench(dut, settings)
    await bench.reset()
    await bench.scan()
    return bench


@cocotb.test()
async def rates_are_the_models_whatever_happens(dut: Any) -> None:
    bench = await started(dut)
    draw = random.Random(SEED)
    cuts = full = 0
    for n in range(600):
        qp = draw.randrange(bench.num_qp)
        notified: tuple[int, ...] = ()
        match draw.choices(("tick", "spend", "cnp", "write"), (50, 40, 4 if n % 200 < 60 else 0.5, 0.5))[0]:
            case "tick":
                await bench.tick()
            case "spend":
                await bench.spend(qp, draw.randrange(1, 8192))
            case "cnp":
                await bench.notify(qp)
                notified = (qp,)
            case _:
                await bench.write(qp, draw.choice((0, draw.randrange(1, 1 << 24), 20_000)))
        await bench.look(*notified)
        bench.check()
        cuts += sum(books.cut for books in bench.books)
        full += sum(not books.cut for books in bench.books)
    assert cuts > 200
    assert full > 200


@cocotb.test()
async def notifications_between_two_turns_of_a_qp_count_as_one(dut: Any) -> None:
    bench = await started(dut)
    while now(dut.index_q) != 0:
        await bench.cycle_once()
    for _ in range(3):
        await bench.notify(1)
    await bench.look(1)
    bench.check()
    assert bench.told[1] == QUICK.line // 2


@cocotb.test()
async def a_rate_falls_by_half_at_once_then_recovers_to_the_full_rate(dut: Any) -> None:
    bench = await started(dut)
    await bench.notify(1)
    await bench.look(1)
    assert bench.told[1] == QUICK.line // 2
    for _ in range(2000):
        await bench.tick()
        await bench.look()
        if not bench.books[1].cut:
            break
    assert bench.told[1] == 0, "no limit any more"
    bench.check()


@cocotb.test()
async def rounds_of_time_and_of_bytes_together_rise_fast(dut: Any) -> None:
    bench = await started(dut)
    for _ in range(8):
        await bench.notify(1)
        await bench.look(1)
    for rounds in range(1, 13):
        for _ in range(QUICK.rise_period):
            await bench.tick()
        await bench.look()
        bench.check()
        await bench.spend(1, 1 << QUICK.bytes_log2)
        await bench.look()
        bench.check()
        assert bench.books[1].time_rounds == bench.books[1].byte_rounds == rounds
        assert bench.books[1].cut


@cocotb.test()
async def no_notification_takes_a_rate_below_the_minimum(dut: Any) -> None:
    bench = await started(dut)
    await bench.write(0, QUICK.minimum // 2)  # slower of itself
    for _ in range(20):
        await bench.notify(1)
        await bench.notify(0)
        await bench.look(0, 1)
        bench.check()
    assert bench.told[1] == QUICK.minimum
    assert bench.told[0] == QUICK.minimum // 2


@cocotb.test()
async def switched_off_all_have_their_own_rates_again_and_notifications_do_nothing(dut: Any) -> None:
    bench = await started(dut)
    await bench.write(0, 1_000_000)
    for qp in (0, 1):
        await bench.notify(qp)
    await bench.look(0, 1)
    bench.check()
    bench.enable(False)
    await bench.scan(4 * TURN * (bench.num_qp + 1))
    assert (bench.told[0], bench.told[1]) == (1_000_000, 0)
    await bench.notify(0)
    await bench.scan()
    assert bench.told[0] == 1_000_000
    bench.enable(True)
    await bench.scan()
    assert bench.told[0] == 1_000_000, "a notification from before is forgotten"


@cocotb.test()
async def a_rate_waits_until_it_is_taken_and_none_is_lost(dut: Any) -> None:
    bench = await started(dut)
    bench.told.clear()
    dut.m_axis_rate_tready.value = 0
    for qp in range(bench.num_qp):
        await bench.notify(qp)
    await bench.scan()
    held = now(dut.m_axis_rate_tdata), now(dut.m_axis_rate_index)
    await bench.scan()
    assert (now(dut.m_axis_rate_tdata), now(dut.m_axis_rate_index)) == held
    assert not bench.told
    dut.m_axis_rate_tready.value = 1
    await bench.scan(4 * TURN * (bench.num_qp + 1))
    assert bench.told == dict.fromkeys(range(bench.num_qp), QUICK.line // 2)


@cocotb.test()
async def a_qp_outside_the_table_changes_nothing(dut: Any) -> None:
    bench = await started(dut)
    told = dict(bench.told)
    for name, field in (("cnp_i", "cnp_index_i"), ("write_i", "write_index_i"), ("spend_i", "spend_index_i")):
        await bench.pulse(name, **{field: 200})
    await bench.look()
    assert bench.told == told


@pytest.mark.parametrize("num_qp", [2, 16])
def test_dcqcn(num_qp: int) -> None:
    run("dcqcn", NumQp=num_qp)
