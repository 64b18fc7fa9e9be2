"""tx_control: frames are sent while armed, and a reset waits until nothing is under way."""

from typing import Any

import cocotb

from bench import Bench, run
from framelane.models.registers.tx_control import IDLE_CYCLES, RESET_CYCLES, TxControl
from signals import now

INPUTS = ("arm", "reset", "idle", "clear_busy")


class ControlBench(Bench):
    """The block beside its model, compared in every cycle."""

    async def start(self) -> None:
        self.inputs = dict.fromkeys(INPUTS, False)
        self.set()
        await self.reset()
        self.model = TxControl()
        self.resets = self.clears = 0
        self.watch(self._compare)

    def set(self, **inputs: bool) -> None:
        self.inputs |= inputs
        for name, value in self.inputs.items():
            getattr(self.dut, f"{name}_i").value = int(value)

    def _compare(self) -> None:
        arm, reset, idle, clear_busy = (self.inputs[name] for name in INPUTS)
        expected = self.model.outputs(arm, reset)
        got = [bool(now(getattr(self.dut, f"{name}_o"))) for name in expected._fields]
        assert got == list(expected), f"cycle {self.cycle}: {got}, expected {expected}"
        self.model = self.model.after(reset, idle, clear_busy)
        self.resets += expected.core_rst
        self.clears += expected.clear

    async def steps(self, cycles: int, **inputs: bool) -> None:
        self.set(**inputs)
        for _ in range(cycles):
            await self.step()

    def is_armed(self) -> bool:
        return bool(now(self.dut.armed_o))


@cocotb.test()
async def the_core_is_reset_and_counters_cleared_at_power_up(dut: Any) -> None:
    bench = ControlBench(dut)
    await bench.start()
    await bench.steps(30, idle=True)
    assert (bench.resets, bench.clears) == (RESET_CYCLES, 1)
    await bench.steps(1, arm=True)
    assert bench.is_armed()


@cocotb.test()
async def a_reset_disarms_at_once_and_waits_for_the_last_transfer(dut: Any) -> None:
    bench = ControlBench(dut)
    await bench.start()
    await bench.steps(30, arm=True)
    assert bench.is_armed()
    bench.resets = bench.clears = 0
    bench.set(reset=True)
    await bench.step()
    assert not bench.is_armed()
    await bench.steps(200, reset=False)
    await bench.steps(IDLE_CYCLES - 1, idle=True)
    await bench.steps(1, idle=False)
    await bench.steps(IDLE_CYCLES - 1, idle=True)
    await bench.steps(100, idle=False)
    assert (bench.resets, bench.clears) == (0, 0)
    await bench.steps(40, idle=True)
    assert (bench.resets, bench.clears) == (RESET_CYCLES, 1)


@cocotb.test()
async def arming_during_a_reset_counts_only_when_counters_are_clear(dut: Any) -> None:
    bench = ControlBench(dut)
    await bench.start()
    await bench.steps(200, idle=True, arm=True, clear_busy=True)
    assert not bench.is_armed()
    await bench.steps(2, clear_busy=False)
    assert bench.is_armed()


@cocotb.test()
async def a_reset_during_a_reset_does_nothing(dut: Any) -> None:
    bench = ControlBench(dut)
    await bench.start()
    await bench.steps(30, idle=True)
    bench.resets = bench.clears = 0
    await bench.steps(IDLE_CYCLES + RESET_CYCLES, reset=True)
    await bench.steps(30, reset=False)
    assert (bench.resets, bench.clears) == (RESET_CYCLES, 1)


@cocotb.test()
async def any_commands_give_what_the_model_gives(dut: Any) -> None:
    bench = ControlBench(dut)
    await bench.start()
    chance = bench.random.random
    for _ in range(5000):
        await bench.steps(1, arm=chance() < 0.7, reset=chance() < 0.02, idle=chance() < 0.9, clear_busy=chance() < 0.8)
    assert bench.clears > 10


def test_tx_control() -> None:
    run("tx_control")
