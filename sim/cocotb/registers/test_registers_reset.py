"""registers: a reset waits until the core is idle, then forgets all but entries of tables."""

from typing import Any

import cocotb
import pytest

from bench import run
from counter_ports import pulses
from framelane.driver.simulated import ports
from framelane.models.registers.registers import flow_words, qp_words
from framelane.models.registers.tx_control import IDLE_CYCLES
from registers_bench import BUILD, EVENTS, FLOW_1, QP, RC, SIZES, RegistersBench
from signals import now
from tx_registers import MAP
from waves import Waves, check


@cocotb.test()
async def a_queue_pair_written_during_a_reset_stays_out_of_force(dut: Any) -> None:
    bench = RegistersBench(dut)
    await bench.start()
    dut.idle_i.value = 0
    await bench.command("reset")
    await bench.entry("qp", qp_words(QP), 1)
    dut.idle_i.value = 1
    await bench.ready()
    assert not bench.qps.items
    await bench.put("qp[].control", qp_words(QP)[0], 1)
    await bench.wait(20)
    assert [item["tdata"] for item in bench.qps.items] == [ports.qp_write_t(1, QP)]


@cocotb.test()
async def a_reset_waits_for_the_queue_pair_that_is_on_its_way(dut: Any) -> None:
    bench = RegistersBench(dut)
    await bench.start()
    bench._sinks.clear()
    dut.m_axis_qp_tready.value = 0
    await bench.entry("qp", qp_words(QP), 0)
    resets: list[int] = []
    bench.watch(lambda: resets.append(now(dut.core_rst_o) & 1))
    await bench.command("reset")
    await bench.wait(50)
    assert not any(resets)
    assert now(dut.m_axis_qp_tvalid)
    dut.m_axis_qp_tready.value = 1
    await bench.ready()
    assert any(resets)


@cocotb.test()
async def a_reset_disarms_waits_and_forgets_counts_and_errors_but_no_entries(dut: Any) -> None:
    bench = RegistersBench(dut)
    await bench.start()
    await bench.entry("flow", flow_words(FLOW_1), 0)
    await bench.put("control", 1)
    await bench.wait(3)
    assert now(dut.armed_o)
    assert await bench.get("status") == 0b00011
    await bench.pulses(pulses(**dict.fromkeys(EVENTS, 1)))
    await bench.refuse(99, 1, 2, 3)
    dut.idle_i.value = 0
    resets: list[int] = []
    bench.watch(lambda: resets.append(now(dut.core_rst_o) & 1))
    await bench.command("reset")
    await bench.put("control", 1)
    assert not now(dut.armed_o), "armed during a reset"
    assert await bench.get("control") == 0
    assert await bench.field("status", "resetting")
    await bench.wait(200)
    assert not any(resets)
    assert await bench.get("errors")
    dut.idle_i.value = 1
    await bench.ready()
    assert sum(resets) == 4
    assert await bench.get("control") == 0
    assert await bench.get("errors") == 0
    assert (await bench.get("refusal"), await bench.get("refusal_frame")) == (0, 0)
    counts = await bench.counters()
    assert counts[0] < 1000
    assert not any(counts[1:])
    assert [await bench.word(0x1000 + 4 * k) for k in range(16)] == list(flow_words(FLOW_1))
    await bench.put("control", 1)
    await bench.wait(3)
    assert now(dut.armed_o)


@cocotb.test()
async def arming_right_behind_a_reset_does_not_arm(dut: Any) -> None:
    bench = RegistersBench(dut)
    await bench.start()
    armed: list[int] = []
    bench.watch(lambda: armed.append(now(dut.armed_o)))
    await bench.command("reset")
    await bench.put("control", 1)
    await bench.ready()
    assert await bench.get("control") == 0
    assert not any(armed)


@cocotb.test()
async def a_core_that_is_idle_for_short_times_only_is_not_reset(dut: Any) -> None:
    bench = RegistersBench(dut)
    await bench.start(idle=True)
    dut.idle_i.value = 0
    await bench.command("reset")
    resets: list[int] = []
    bench.watch(lambda: resets.append(now(dut.core_rst_o) & 1))
    for _ in range(20):
        dut.idle_i.value = 1
        await bench.wait(IDLE_CYCLES - 1)
        dut.idle_i.value = 0
        await bench.wait(1)
    assert not any(resets)
    assert await bench.field("status", "resetting")


@cocotb.test()
async def an_abort_is_a_reset_that_says_so_until_its_end(dut: Any) -> None:
    bench = RegistersBench(dut)
    await bench.start()
    dut.idle_i.value = 0
    await bench.command("reset")
    await bench.wait(50)
    assert not now(dut.aborting_o)
    assert await bench.field("status", "resetting")
    await bench.command("abort")
    await bench.wait(50)
    assert now(dut.aborting_o)
    dut.idle_i.value = 1
    await bench.ready()
    await bench.wait(2)
    assert not now(dut.aborting_o)


@cocotb.test()
async def an_address_beyond_the_memory_does_not_arm_and_raises_the_interrupt_where_it_is_asked_for(dut: Any) -> None:
    bench = RegistersBench(dut)
    await bench.start()
    bad_address = 1 << 15
    for name in ("store_base", "constants_base"):
        await bench.put(name, 1 << BUILD["AddrW"])
        await bench.put("control", 1)
        await bench.wait(3)
        assert not now(dut.armed_o)
        assert await bench.get("errors") == bad_address
        assert (await bench.get("interrupt"), now(dut.interrupt_o)) == (0, 0)
        await bench.put("interrupt_mask", bad_address | 1)
        await bench.wait(2)
        assert (await bench.get("interrupt"), now(dut.interrupt_o)) == (bad_address, 1)
        await bench.put(name, (1 << BUILD["AddrW"]) - 4096)
        await bench.put("errors", bad_address)
        await bench.wait(3)
        assert now(dut.armed_o)
        assert (await bench.get("interrupt"), now(dut.interrupt_o)) == (0, 0)
        await bench.put("interrupt_mask", 0)
        await bench.put("control", 0)


@cocotb.test()
async def what_stands_still_is_said_with_its_limits(dut: Any) -> None:
    bench = RegistersBench(dut)
    await bench.start()
    await bench.put("watchdog", 0x1234 | 0x5678 << 16)
    assert (now(dut.mac_limit_o), now(dut.memory_limit_o)) == (0x1234, 0x5678)
    for mac, memory in ((1, 0), (0, 1)):
        dut.mac_stuck_i.value, dut.memory_stuck_i.value = mac, memory
        await bench.wait(2)
        assert await bench.field("status", "mac_stuck") == mac
        assert await bench.field("status", "memory_stuck") == memory


WRITE = ("s_axil_awvalid", "s_axil_awready", "s_axil_wvalid", "s_axil_wready", "s_axil_bvalid", "s_axil_bready")
READ = ("s_axil_arvalid", "s_axil_arready", "s_axil_rvalid", "s_axil_rready")
BUSES = {
    "s_axil_awaddr": "s_axil_awvalid",
    "s_axil_wdata": "s_axil_wvalid",
    "s_axil_araddr": "s_axil_arvalid",
    "s_axil_rdata": "s_axil_rvalid",
}


REFUSED = 1 << next(field.lsb for field in MAP["errors"].fields if field.name == "refused")


@cocotb.test()
async def a_write_and_a_read_as_the_page_shows_them(dut: Any) -> None:
    bench = RegistersBench(dut)
    await bench.start()
    await bench.wait(5)
    waves = Waves(bench, *WRITE, *READ, buses=BUSES)
    await bench.wait(2)
    await bench.put("interrupt_mask", REFUSED)
    await bench.get("interrupt_mask")
    await bench.wait(2)
    check("register_access", ("registers", waves))


@cocotb.test()
async def an_interrupt_as_the_page_shows_it(dut: Any) -> None:
    bench = RegistersBench(dut)
    await bench.start()
    await bench.put("interrupt_mask", REFUSED)
    await bench.wait(5)
    waves = Waves(bench, "refusal_valid_i", "interrupt_o", WRITE[0], WRITE[4], READ[0], READ[2], buses=BUSES)
    await bench.wait(2)
    await bench.refuse(99, 1, 2, 3)
    await bench.wait(4)
    assert now(dut.interrupt_o)
    assert await bench.get("interrupt") == REFUSED
    await bench.put("errors", REFUSED)
    await bench.wait(4)
    assert not now(dut.interrupt_o)
    check("interrupt", ("registers", waves))


@cocotb.test()
async def a_reset_by_register_as_the_page_shows_it(dut: Any) -> None:
    bench = RegistersBench(dut)
    await bench.start()
    await bench.put("control", 1)
    await bench.wait(5)
    dut.idle_i.value = 0
    await bench.wait(2)
    written = {name: valid for name, valid in BUSES.items() if valid in WRITE}
    waves = Waves(bench, WRITE[0], "armed_o", "resetting_o", "idle_i", "core_rst_o", buses=written)
    await bench.wait(2)
    await bench.command("reset")
    await bench.wait(20)
    dut.idle_i.value = 1
    await bench.wait(400)
    assert not now(dut.resetting_o)
    check("reset", ("core", waves))


@pytest.mark.parametrize("network", [{}, RC])
def test_registers_reset(network: dict[str, Any]) -> None:
    run("registers_reset", top="registers", flat=True, **SIZES, **BUILD, **network)
