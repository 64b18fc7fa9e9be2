"""det_registers, in detector_tx: each register is where the map says, commands do what it says, counters count."""

from dataclasses import replace
from typing import Any

import cocotb
import numpy as np
import pytest

from bench import Stalls, run
from core_bench import BYTES, MODULES, PACKETS, PARAMETERS
from correct_bench import break_beat
from detector_tx_bench import TxBench
from framelane.driver.registers._detector_register_map import REGISTERS
from widths import WIDTHS, some_of


@cocotb.test()
async def every_register_is_where_the_map_says(dut: Any) -> None:
    bench = TxBench(dut)
    await bench.reset(cycles=4)
    while await bench.get("status.resetting"):
        pass
    assert await bench.get("identity") == int.from_bytes(b"FLDT", "little")
    assert await bench.get("sizes.data_width") == bench.width
    assert (await bench.get("sizes.modules"), await bench.get("sizes.packets")) == (MODULES, PACKETS)
    assert await bench.get("packet_bytes") == BYTES
    assert await bench.get("clock_hz") == 250_000_000
    seen: dict[str, int] = {}
    built = await bench.get("correction.present")
    assert built == (bench.correct is not None)
    for register in REGISTERS:
        absent = register.name.startswith("correction.") and not built
        if absent or register.name.startswith("link_counters"):
            for offset in range(register.offset, register.offset + register.width // 8, 4):
                await bench.registers.write(offset, 0xFFFF_FFFF)
                assert await bench.registers.read(offset) == 0, register.name
            continue
        # Of the queue pair's words the first alone is reset: it says whether the others are in force.
        is_reset = register.name == "qp.control" or not register.name.startswith("qp.")
        for field in register.fields:
            if (is_reset and field.access == "rw") or (field.reset and field.access != "pulse"):
                assert await bench.get(f"{register.name}.{field.name}") == field.reset, (register.name, field.name)
        values = {f.name: bench.random.getrandbits(f.width) for f in register.fields if f.access == "rw"}
        if register.name in ("control", "det_counters") or not values:
            continue
        await bench.put(register.name, **values)
        seen |= {f"{register.name}.{name}": value for name, value in values.items()}
        if register.name == "qp.control":
            while await bench.get("status.qp_busy"):
                pass
    assert len(seen) > 25
    for name, value in seen.items():
        assert await bench.get(name) == value, name
    for offset in (0x6C, 0x7C, 0x80, 0x1028, 0x1080, 0x2088, 0x2100, 0x301C, 0x3084, 0x4018, 0x4200, 0xFFFC):
        await bench.registers.write(offset, 0xFFFF_FFFF)
        assert await bench.registers.read(offset) == 0, hex(offset)
    assert await bench.get("identity") == int.from_bytes(b"FLDT", "little")


@cocotb.test()
async def counters_say_what_became_of_packets(dut: Any) -> None:
    bench = TxBench(dut, Stalls.SOURCE)
    await bench.begin()
    whole = [bench.packet(1, packet, 0) for packet in range(PACKETS)]
    others = [bench.packet(2, 3, 1), bench.packet(2, 3, 1), bench.packet(2, 4, 1)[:-2], bench.packet(5000, 0, 2)]
    foreign = bytearray(bench.packet(2, 5, 1))
    foreign[42 + 32] ^= 0xFF  # module_id
    for frame in (*whole, bytes(whole[0]), *others, bytes(foreign), bench.packet(2, PACKETS, 2)):
        bench.send(frame)
    bench.send(bench.packet(2, 6, 1), bad=True)
    await bench.check()
    counters = await bench.counters()
    model = {fate.name.lower(): count for fate, count in bench.model.core.fates.items()}
    model |= {"module_number": model.pop("module", 0), "ahead": model.pop("number", 0)}
    assert {name: count for name, count in counters.items() if name in model} == model
    assert {"placed", "late", "duplicate", "bad", "foreign", "packet"} <= {name for name in model if model[name]}
    assert counters["frames"] == 1
    assert counters["messages"] == counters["placed"] + 2 * counters["bad"] + 2 * counters["frames"]
    assert (counters["full"], counters["bad_qp"], counters["credit"]) == (0, 0, 0)
    assert counters["cycles"] > 1000


@cocotb.test()
async def disarming_ends_frames_and_a_reset_forgets_their_numbers(dut: Any) -> None:
    bench = TxBench(dut)
    await bench.begin()
    bench.send(bench.packet(700, 1, 0))
    await bench.check()
    assert not await bench.get("status.idle")
    bench.expected += bench.model.flush()
    await bench.put("control", arm=0)
    await bench.check()
    assert await bench.get("status.idle")
    before = len(bench.out.items)
    bench.line.send(bench.packet(701, 1, 0), bench.width, tuser=0)
    await bench.until(lambda: not bench.line.items)
    assert await bench.get("status.idle")
    assert len(bench.out.items) == before, "a packet was placed while it was not armed"
    assert (await bench.counters())["frames"] == 1
    await bench.put("control", arm=1)
    bench.send(bench.packet(5, 1, 0))  # late
    await bench.check()
    await bench.put("command", reset=1)
    await bench.configure()
    assert (await bench.counters())["frames"] == 0
    bench.send(bench.packet(5, 1, 0))
    await bench.check()
    assert len(bench.expected) == 1
    await bench.put("command", reset=1)
    assert await bench.get("control.arm") == 0
    while await bench.get("status.resetting"):
        pass
    await bench.put("control", arm=1)
    bench.line.send(bench.packet(1, 1, 0), bench.width, tuser=0)
    await bench.until(lambda: not bench.line.items)
    for _ in range(200):
        await bench.step()
    assert (await bench.counters())["bad_qp"] == 1


@cocotb.test()
async def without_credit_nothing_is_placed_and_silence_ends_a_frame(dut: Any) -> None:
    bench = TxBench(dut)
    await bench.begin()
    await bench.put("window_end", value=0)
    bench.model.core.place.window_end = 0
    bench.send(bench.packet(1, 0, 0))
    await bench.check()
    assert (await bench.counters())["credit"] == 1
    await bench.put("window_end", value=5)
    bench.model.core.place.window_end = 5
    bench.send(bench.packet(2, 0, 0))
    await bench.check()
    bench.expected += bench.model.flush()
    await bench.put("timeout", value=1)
    for _ in range(3 * 4096):
        await bench.step()
    await bench.check()
    assert await bench.get("status.idle")


@cocotb.test()
async def pixels_without_constants_are_masked_and_their_packets_count(dut: Any) -> None:
    """A memory that refuses a beat, then one that stands still, and comes back."""
    bench = TxBench(dut)
    await bench.begin()
    if bench.correct is None:
        return
    correct = bench.correct
    broken = break_beat(bench.constants, correct, 5, 1, bench.width)
    bench.model.core.correct = broken
    for packet in (4, 5, 6):
        bench.send(bench.packet(1, packet, 0))
    await bench.check()
    assert await bench.get("correction.errors") == 1
    await bench.put("correction.timeout", value=1)
    bench.constants.delay = 100
    nothing = replace(correct.fixed, mantissa=np.zeros_like(correct.fixed.mantissa))
    bench.model.core.correct = replace(correct, fixed=nothing)
    for packet in (7, 8):
        bench.send(bench.packet(1, packet, 0))
    await bench.until(lambda: len(bench.out.items) >= 5 * BYTES * 8 // bench.width, 200_000)
    await bench.check()
    assert await bench.get("correction.errors") == 3
    bench.constants.delay = 0
    for _ in range(300):
        await bench.step()
    bench.model.core.correct = broken
    for packet in (9, 10):
        bench.send(bench.packet(1, packet, 0))
    await bench.check()
    assert await bench.get("correction.errors") == 3
    await bench.put("command", reset=1)
    await bench.configure()
    assert await bench.get("correction.errors") == 0


CASES = [(width, correct) for width in WIDTHS for correct in (0, 1)]


@pytest.mark.parametrize(("width", "correct"), some_of("det_registers", CASES))
def test_det_registers(width: int, correct: int) -> None:
    run("det_registers", top="detector_tx", DataW=width, ClockHz=250_000_000, Correct=correct, **PARAMETERS)
