"""time_unit with its own controller: pulses per second keep the clock, until software says that it does."""

from typing import Any

import cocotb

from axi_lite import AxiLite
from bench import Bench, run
from framelane.driver.registers._time_register_map import REGISTERS
from framelane.models.time.time_counter import NS

CLOCK_HZ = 250_000_000
CYCLE_NS = 4
MANUAL = 1 << 4
TIME = {each.name.removeprefix("time."): each for each in REGISTERS}


class UnitBench(Bench):
    """The unit by its registers. A second passes by setting the clock: the controller sees times alone."""

    def __init__(self, dut: Any) -> None:
        super().__init__(dut)
        self.registers = AxiLite(self)

    async def start(self) -> None:
        dut = self.dut
        for port in ("trigger_i", "pps_i", "m_axis_tready", "pixel_tvalid_i", "pixel_tready_i", "pixel_tlast_i"):
            getattr(dut, port).value = 0
        for side in ("tx", "rx"):
            for port in ("clk", "rst", "tdata_i", "tkeep_i", "tlast_i", "tuser_i", "taken_i"):
                getattr(dut, f"{side}_{port}").value = 0
        dut.pixel_clk.value, dut.pixel_rst.value, dut.pixel_info_i.value = 0, 0, 0
        await self.reset(4)

    async def put(self, name: str, value: int) -> None:
        register = TIME[name]
        for k in range(0, register.width, 32):
            await self.registers.write(register.offset + k // 8, value >> k & 0xFFFF_FFFF)

    async def get(self, name: str) -> int:
        register = TIME[name]
        words = [await self.registers.read(register.offset + k // 8) for k in range(0, register.width, 32)]
        return sum(word << k * 32 for k, word in enumerate(words))

    async def wait(self, cycles: int) -> None:
        for _ in range(cycles):
            await self.step()

    async def look(self) -> tuple[int, int]:
        """The clock's time in 2^-32 ns, and the cycle in which it was that, from one look to the next."""
        await self.put("command", 1)
        cycle = self.cycle
        rest = await self.get("now")
        return ((await self.get("now_seconds")) * 10**9 + (rest >> 32)) * NS + rest % NS, cycle

    async def pulse(self, seconds: int, ahead_ns: int) -> int:
        """Set the clock so that a pulse finds it ahead by that, to some cycles; how far it is then, by its stamp."""
        ns = seconds * 10**9 + ahead_ns - 4000
        await self.put("value_seconds", ns // 10**9)
        await self.put("value", (ns % 10**9) << 32)
        await self.put("command", 1 << 1)
        while await self.get("status") & 1:
            pass
        time, cycle = await self.look()
        await self.wait(cycle + (ns + 4000 - time // NS) // CYCLE_NS - self.cycle)
        self.dut.pps_i.value = 1
        await self.wait(300)
        self.dut.pps_i.value = 0
        await self.wait(10)
        return await self.get("pps_tai") - seconds * 10**9

    async def rate_ppb(self) -> float:
        """By how much the clock is faster than nominal."""
        first, began = await self.look()
        await self.wait(4000)
        last, ended = await self.look()
        return (last - first) / ((ended - began) * CYCLE_NS * NS) * 1e9 - 1e9


@cocotb.test()
async def the_first_pulse_steps_the_clock_the_second_gives_its_rate_and_later_ones_keep_it(dut: Any) -> None:
    bench = UnitBench(dut)
    await bench.start()
    assert await bench.get("sizes") >> 2 & 1
    ahead = await bench.pulse(5, 400_000)
    assert abs(ahead - 400_000) < 100
    time, _ = await bench.look()
    assert 0 < time - 5 * 10**9 * NS < 4000 * NS, "the clock is where the pulse says that it is"
    assert await bench.rate_ppb() == 0
    assert await bench.get("servo") == 0
    ahead = await bench.pulse(6, -30_000)
    offset = await bench.get("servo_offset")
    assert abs((offset - (1 << 32)) / 256 - ahead) <= 1
    assert abs(await bench.rate_ppb() + ahead) < 100
    for k in range(3):
        assert await bench.get("servo") == 0
        ahead = await bench.pulse(7 + k, 10)
        assert abs(ahead) < 128
    assert await bench.get("servo") == 1


@cocotb.test()
async def software_that_keeps_the_clock_has_its_rate_to_itself(dut: Any) -> None:
    bench = UnitBench(dut)
    await bench.start()
    await bench.pulse(5, 0)
    await bench.pulse(6, 50_000)
    assert abs(await bench.rate_ppb() + 50_000) < 500
    await bench.put("adjust", 1_717_987)  # 100 ppm of 4 ns
    assert abs(await bench.rate_ppb() + 50_000) < 500
    await bench.put("control", MANUAL)
    assert abs(await bench.rate_ppb() - 100_000) < 300
    await bench.pulse(7, 70_000)
    time, _ = await bench.look()
    assert time // NS - 7 * 10**9 > 70_000, "no pulse steps it"
    assert (await bench.get("servo"), await bench.get("servo_offset")) == (0, 0)


def test_time_unit_servo() -> None:
    run(
        "time_unit_servo",
        top="time_unit",
        flat=True,
        DataW=64,
        MacW=64,
        ClockHz=CLOCK_HZ,
        MacClock=0,
        PixelClock=0,
        Servo=1,
    )
