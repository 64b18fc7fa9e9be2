"""registers: counts, errors, the first refusal as in docs/reference/registers.md; errors stay until cleared."""

from typing import Any

import cocotb
import pytest

from bench import run
from counter_ports import counter, pulses
from framelane.driver.registers._register_map import REGISTERS
from registers_bench import BUILD, EVENTS, RC, SIZES, RegistersBench

ERRORS = (
    *("frames_lost", "bad_qp", "bad_length", "too_short", "too_long", "bad_payload", "read_errors", "frames_bad"),
    *("mismatches", "constant_errors", "mac_timeouts", "memory_timeouts"),
)
"""Counters of events each of which sets a bit of `errors`, from bit 3 on."""


@cocotb.test()
async def every_counter_is_where_the_map_says(dut: Any) -> None:
    bench = RegistersBench(dut)
    await bench.start()
    for index, name in enumerate(EVENTS[1:], 1):
        await bench.pulses(pulses(**{name: 1}), cycles=index)
    names = ("flow_counters[].selected", "flow_counters[].refused")
    for flow in range(SIZES["Flows"]):
        for k in range(len(names)):
            await bench.count(counter(names[k], flow), 100 * flow + k + (1 << 32))
    for destination in range(SIZES["Destinations"]):
        for k, name in enumerate(("sent", "dropped", "skipped", "failed")):
            place = counter(f"destination_counters[].{name}", destination)
            await bench.count(place, 1000 * destination + k + (1 << 40))
    before = await bench.counters()
    assert before[1 : len(EVENTS)] == [*range(1, len(EVENTS))]
    for flow in range(SIZES["Flows"]):
        for k, name in enumerate(names):
            assert await bench.get(name, flow) == 100 * flow + k + (1 << 32)
    for destination in range(SIZES["Destinations"]):
        for k, name in enumerate(("sent", "dropped", "skipped", "failed")):
            found = await bench.get(f"destination_counters[].{name}", destination)
            assert found == 1000 * destination + k + (1 << 40)
    global_names = [r.name for r in REGISTERS if r.name.startswith("counters.")]
    assert [await bench.get(name) for name in global_names] == before[: len(EVENTS)]
    assert before[0] < bench.cycle


@cocotb.test()
async def reading_a_counter_does_not_move_it(dut: Any) -> None:
    bench = RegistersBench(dut)
    await bench.start()
    first = await bench.counters()
    cycles = bench.cycle
    assert await bench.get("counters.cycles") == first[0]
    await bench.wait(100)
    again = await bench.counters()
    assert again[0] - first[0] >= bench.cycle - cycles - 1000
    assert again[0] > first[0] + 100


@cocotb.test()
async def each_error_stays_until_it_is_cleared_and_only_it(dut: Any) -> None:
    bench = RegistersBench(dut)
    await bench.start()
    assert await bench.get("errors") == 0
    for bit, pulse in enumerate(ERRORS, 3):
        await bench.pulses(pulses(**{pulse: 1}))
        await bench.wait(2)
        assert await bench.get("errors") == 1 << bit, pulse
        await bench.put("errors", (1 << 32) - 1 ^ 1 << bit)
        assert await bench.get("errors") == 1 << bit, pulse
        await bench.put("errors", 1 << bit)
        assert await bench.get("errors") == 0, pulse
    await bench.pulses(pulses(**{name: 1 for name in EVENTS if name not in ERRORS}))
    quiet = ("flow_counters[].selected", "flow_counters[].refused")
    for name in (*quiet, "destination_counters[].sent", "destination_counters[].failed"):
        await bench.count(counter(name), 1)
    assert await bench.get("errors") == 0
    await bench.count(counter("destination_counters[].dropped", 1), 1)
    assert await bench.get("errors") == 0b001
    await bench.count(counter("destination_counters[].skipped", 1), 1)
    assert await bench.get("errors") == 0b011


@cocotb.test()
async def an_error_in_the_cycle_of_its_clearing_is_not_lost(dut: Any) -> None:
    bench = RegistersBench(dut)
    await bench.start()
    dut.pulses_i.value = pulses(frames_lost=1)
    await bench.wait(2)
    await bench.put("errors", 0xFFFF_FFFF)
    assert await bench.get("errors") == 1 << 3


@cocotb.test()
async def the_first_refusal_is_kept_until_it_is_cleared(dut: Any) -> None:
    bench = RegistersBench(dut)
    await bench.start()
    await bench.refuse(0x1122_3344_5566_7788, 2, 200, 4)
    await bench.refuse(1, 1, 1, 1)
    assert await bench.get("errors") == 1 << 2
    assert await bench.get("refusal") == 4 | 2 << 8 | 200 << 16
    assert await bench.get("refusal_frame") == 0x1122_3344_5566_7788
    await bench.put("errors", 1 << 2)
    await bench.refuse(5, 1, 3, 2)
    assert await bench.get("refusal") == 2 | 1 << 8 | 3 << 16
    assert await bench.get("refusal_frame") == 5


@pytest.mark.parametrize("network", [{}, RC])
def test_registers_counters(network: dict[str, Any]) -> None:
    run("registers_counters", top="registers", flat=True, **SIZES, **BUILD, **network)
