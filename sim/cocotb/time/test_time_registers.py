"""time_registers: a lock that nobody says again lapses, and no other access is answered but with 0."""

from typing import Any

import cocotb

from axi_lite import AxiLite
from bench import Bench, run
from framelane.driver.registers._time_register_map import REGISTERS
from signals import now

CLOCK_HZ = 400
TIME = {each.name: each.offset for each in REGISTERS}
LOCKED, LAPSED = 1 << 1, 1 << 3


async def started(dut: Any) -> tuple[Bench, AxiLite]:
    bench = Bench(dut)
    registers = AxiLite(bench)
    dut.report_i.value = 0
    dut.servo_locked_i.value = dut.servo_holdover_i.value = dut.servo_offset_i.value = 0
    await bench.reset()
    return bench, registers


async def _locked(registers: AxiLite) -> tuple[bool, bool]:
    """Whether it is locked, whether it has lapsed."""
    quality = await registers.read(TIME["time.quality"])
    return bool(quality & LOCKED), bool(await registers.read(TIME["time.status"]) & LAPSED)


@cocotb.test()
async def a_lock_lapses_after_its_limit_and_not_while_it_is_said_again(dut: Any) -> None:
    bench, registers = await started(dut)
    quality = 37 << 16 | 0x21 << 8 | 1 << 4 | 1 << 2 | LOCKED
    await registers.write(TIME["time.quality_limit"], 3)
    for _ in range(3):
        await registers.write(TIME["time.quality"], quality)
        start = bench.cycle
        while bench.cycle - start < 2 * CLOCK_HZ:
            await bench.step()
        assert await _locked(registers) == (True, False)
    while bench.cycle - start < 3 * CLOCK_HZ - 20:
        await bench.step()
    assert await _locked(registers) == (True, False)
    for _ in range(30):
        await bench.step()
    assert await _locked(registers) == (False, True)
    assert await registers.read(TIME["time.quality"]) == quality & ~LOCKED
    await registers.write(TIME["time.quality"], quality)
    assert await _locked(registers) == (True, False)


@cocotb.test()
async def each_second_of_the_limit_has_as_many_cycles_as_the_clock(dut: Any) -> None:
    bench, registers = await started(dut)
    await registers.write(TIME["time.control"], 1 << 4)
    locked: list[int] = []
    bench.watch(lambda: locked.append(now(dut.quality_o) & LOCKED))
    lasted = []
    for seconds in (1, 3):
        await registers.write(TIME["time.quality_limit"], seconds)
        locked.clear()
        await registers.write(TIME["time.quality"], LOCKED)
        await bench.until(lambda: locked[-2:] == [LOCKED, 0], 4 * CLOCK_HZ)
        lasted.append(sum(map(bool, locked)))
    # Two cycles more: the limit is compared, then the lock is cleared.
    assert lasted == [CLOCK_HZ + 2, 3 * CLOCK_HZ + 2]


@cocotb.test()
async def without_a_limit_a_lock_stands(dut: Any) -> None:
    bench, registers = await started(dut)
    await registers.write(TIME["time.quality"], LOCKED)
    for _ in range(5 * CLOCK_HZ):
        await bench.step()
    assert await _locked(registers) == (True, False)


@cocotb.test()
async def what_is_told_stands_until_something_else_is(dut: Any) -> None:
    bench, registers = await started(dut)
    told = {"time.told_grandmaster": 0, "time.told_since": 0, "time.told_offset": 1 << 31, "time.told_delay": 1 << 31}
    assert {name: await registers.read(TIME[name]) for name in told} == told
    for name in told:
        told[name] = bench.random.getrandbits(32)
        await registers.write(TIME[name], told[name])
    high = bench.random.getrandbits(32)
    await registers.write(TIME["time.told_grandmaster"] + 4, high)
    assert {name: await registers.read(TIME[name]) for name in told} == told
    assert await registers.read(TIME["time.told_grandmaster"] + 4) == high


@cocotb.test()
async def what_is_elsewhere_reads_0_and_changes_nothing(dut: Any) -> None:
    bench, registers = await started(dut)
    before = {name: await registers.read(offset) for name, offset in TIME.items()}
    control = now(dut.control_o)
    for offset in (*range(0x0, 0xD000, 0x710 & ~3), 0xC010, 0xD110, 0xD280, 0xE010, 0xF010):
        await registers.write(offset, 0xFFFF_FFFF)
        assert await registers.read(offset) == 0
    assert {name: await registers.read(offset) for name, offset in TIME.items()} == before
    assert now(dut.control_o) >> 38 == control >> 38  # all but the word that was written last
    assert bench.cycle > 0


@cocotb.test()
async def where_pulses_keep_the_clock_their_lock_counts_until_software_keeps_it(dut: Any) -> None:
    bench, registers = await started(dut)
    await registers.write(TIME["time.quality"], 37 << 16 | 0x21 << 8 | 1 << 4 | 1 << 2 | LOCKED)
    kept = 37 << 16 | 0x21 << 8 | 1 << 4
    for locked, holdover in ((0, 0), (1, 0), (0, 1)):
        dut.servo_locked_i.value, dut.servo_holdover_i.value, dut.servo_offset_i.value = locked, holdover, 777
        await bench.step()
        assert now(dut.quality_o) == kept | holdover << 5 | 2 << 2 | locked << 1
        assert await registers.read(TIME["time.servo"]) == holdover << 1 | locked
        assert await registers.read(TIME["time.servo_offset"]) == 777
    await registers.write(TIME["time.control"], 1 << 4)
    assert now(dut.quality_o) == kept | 1 << 2 | LOCKED


def test_time_registers() -> None:
    run("time_registers", flat=True, ClockHz=CLOCK_HZ, Servo=1)
