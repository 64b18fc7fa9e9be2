"""registers: words and tables as in docs/reference/registers.md, over AXI4-Lite from an independent master."""

from typing import Any

import cocotb
import numpy as np
import pytest

from bench import Stalls, run
from framelane.driver.registers._register_map import REGISTERS
from framelane.driver.simulated import ports
from framelane.driver.simulated.ports import CORRECTION_T, DESTINATION_T, FLOW_T
from framelane.models.jungfrau.jf_fixed import FixedCalibration
from framelane.models.memory.image_writer import Correction
from framelane.models.placement.flow import Destination
from framelane.models.registers.registers import destination_words, flow_words, qp_words
from framelane.models.roce_tx.roce_qp import QpContext
from framelane.models.roce_tx.wire import Endpoint
from registers_bench import BUILD, FLOW_1, QP, RC, SIZES, RegistersBench
from signals import now
from tx_registers import MAP

STATION_REGISTERS = range(0x80, 0x100)
RING = Destination(qp=2, base=0x1234_5678_9ABC_D000, slot_bytes=1 << 20, n_slots=33, trailer_offset=(1 << 20) - 64)


@cocotb.test()
@cocotb.parametrize(stalls=list(Stalls))
async def the_build_says_what_it_is(dut: Any, stalls: Stalls) -> None:
    bench = RegistersBench(dut, stalls)
    await bench.start()
    assert await bench.word(0) == int.from_bytes(b"FLTX", "little")
    assert await bench.get("version") == 1 << 24 | 3 << 16
    able = BUILD["DataW"] | BUILD["FrameStore"] << 16 | BUILD["Correct"] << 17 | BUILD["MacPort"] << 20
    assert await bench.get("capabilities") == able | (0b11 << 18 if bench.has_rc else 0)
    assert await bench.get("rc_sizes") == (RC["RcQps"] | RC["RcDepth"] << 16 if bench.has_rc else 0)
    assert await bench.get("sizes") == SIZES["NumQp"] | SIZES["Flows"] << 12 | SIZES["Destinations"] << 16 | 40 << 25
    assert (await bench.get("clock_hz"), await bench.get("build")) == (BUILD["ClockHz"], BUILD["Build"])


@cocotb.test()
@cocotb.parametrize(stalls=list(Stalls))
async def every_register_that_can_be_written_reads_back(dut: Any, stalls: Stalls) -> None:
    """The first and last entry of every table, with all bits that fields have, in random order."""
    bench = RegistersBench(dut, stalls)
    await bench.start()
    entries = {"flow": SIZES["Flows"], "destination": SIZES["Destinations"], "qp": SIZES["NumQp"]}
    places = [(r, i) for r in REGISTERS for i in {0, entries.get(r.name.partition("[")[0], 1) - 1}]
    places = [(r, i) for r, i in places if all(field.access == "rw" for field in r.fields)]
    if not bench.has_rc:
        places = [(r, i) for r, i in places if r.offset not in STATION_REGISTERS and r.name != "qp[].limits"]
    assert len(places) > 50
    bench.random.shuffle(places)
    expected = {}
    for register, index in places:
        mask = sum(field.highest << field.lsb for field in register.fields)
        value = bench.random.getrandbits(register.width) & mask
        await bench.put(register.name, value, index)
        expected[register.name, index] = value
    for (name, index), value in expected.items():
        assert await bench.get(name, index) == value, (name, index)
    for name in ("local_mac", "local_ip", "store_base", "store_slot_bytes", "store_slots", "mac_threshold"):
        assert now(getattr(dut, f"{name}_o")) == expected[name, 0], name


@cocotb.test()
async def the_correction_reaches_the_core_as_its_struct(dut: Any) -> None:
    bench = RegistersBench(dut)
    await bench.start()
    planes = np.zeros((3, 7, 100), np.uint16)
    fixed = FixedCalibration(planes, planes, (26, 21, 18), high_gain=True)
    correction = Correction(fixed, 0x1800, 0x1234_5678_9000, 0x7000)
    values = {f"shift{stage}": bits for stage, bits in enumerate(fixed.shift)} | {
        "enabled": 1,
        "high_gain": 1,
        "guard": 1,
    }
    await bench.put("correction", sum(values[field.name] << field.lsb for field in MAP["correction"].fields))
    await bench.put("corrected_offset", correction.offset)
    await bench.put("constants_base", correction.base)
    await bench.put("constants_pitch", correction.pitch)
    await bench.put("constants_bytes", correction.image_bytes)
    await bench.wait(3)
    expected = CORRECTION_T.unpack(ports.correction_t(correction))
    assert CORRECTION_T.unpack(now(dut.correction_o)) == expected


@cocotb.test()
async def half_of_an_address_is_never_in_force(dut: Any) -> None:
    bench = RegistersBench(dut)
    await bench.start()
    await bench.put("store_base", 0x1111_1111_2222_2222)
    await bench.write_word(MAP["store_base"].offset, 0x4444_4444)
    await bench.wait(5)
    assert now(dut.store_base_o) == 0x1111_1111_2222_2222
    await bench.write_word(MAP["store_base"].offset + 4, 0x3333_3333)
    await bench.wait(5)
    assert now(dut.store_base_o) == 0x3333_3333_4444_4444


@cocotb.test()
async def flows_and_destinations_reach_the_core_as_its_structs(dut: Any) -> None:
    bench = RegistersBench(dut)
    await bench.start()
    await bench.entry("flow", flow_words(FLOW_1), 2)
    await bench.entry("destination", destination_words(RING, 1 << 35 | 7), 4)
    dut.flow_index_i.value, dut.destination_index_i.value = 0x0202, 4
    await bench.wait(3)
    assert FLOW_T.unpack(now(dut.flow_o)) == FLOW_T.unpack(ports.flow_t(FLOW_1))
    expected = ports.destination_t(RING, 1 << 35 | 7)
    assert DESTINATION_T.unpack(now(dut.destination_o)) == DESTINATION_T.unpack(expected)
    dut.flow_index_i.value, dut.destination_index_i.value = SIZES["Flows"] * 0x0101, SIZES["Destinations"]
    await bench.wait(3)
    assert not now(dut.flow_o)
    assert not now(dut.destination_o)


@cocotb.test()
async def credit_moves_at_once_though_two_words_are_written(dut: Any) -> None:
    """Also where the credits of two destinations are written in turn."""
    bench = RegistersBench(dut)
    await bench.start()
    for index in (0, 1):
        await bench.entry("destination", destination_words(RING, 0xFFFF_FFFF), index)
    seen: set[int] = set()
    dut.destination_index_i.value = 1
    await bench.wait(3)
    bench.watch(lambda: seen.add(DESTINATION_T.unpack(now(dut.destination_o))["window_end"]))
    low = [MAP["destination[].window_end"].offset_of(index) for index in (0, 1)]
    await bench.write_word(low[1], 5)
    await bench.write_word(low[0], 6)
    await bench.write_word(low[0] + 4, 7)
    await bench.write_word(low[1] + 4, 1)
    await bench.wait(5)
    assert seen == {0xFFFF_FFFF, 1 << 32 | 5}


@cocotb.test()
async def entries_that_this_build_has_not_read_zero_and_take_nothing(dut: Any) -> None:
    bench = RegistersBench(dut)
    await bench.start()
    for name, table in (("flow[].bunch", "Flows"), ("destination[].n_slots", "Destinations"), ("qp[].rkey", "NumQp")):
        size = SIZES[table]
        for index in range(size):
            await bench.put(name, index + 1, index)
        for index in (size, MAP[name].count - 1):
            await bench.put(name, 0xFFFF_FFFF, index)
            assert await bench.get(name, index) == 0, (name, index)
        assert [await bench.get(name, index) for index in range(size)] == [*range(1, size + 1)], name
    await bench.put("qp[].control", 1, SIZES["NumQp"])
    await bench.wait(20)
    assert not bench.qps.items
    last = MAP["destination_counters[].failed"].offset_of(255)
    names = ("qp[].rc_state", "qp[].rc_una", "qp[].rc_next")
    beyond = [MAP[name].offset_of(SIZES["NumQp"] - 1) for name in names]
    beyond += [0x9C, 0xDC] if bench.has_rc else [*STATION_REGISTERS[::4], MAP["qp[].limits"].offset, 0xB000, 0xB200]
    for address in (0x100, 0x818, 0x1200, 0x4038, last, 0xA200, 0xB800, 0xC000, 0xFFFC, *beyond):
        await bench.write_word(address, 0xFFFF_FFFF)
        assert await bench.word(address) == 0, hex(address)


@cocotb.test()
async def a_write_of_less_than_a_word_changes_no_entry(dut: Any) -> None:
    bench = RegistersBench(dut)
    await bench.start()
    for name in ("flow[].bunch", "destination[].n_slots", "qp[].control"):
        await bench.put(name, 0x11223344, 1)
        await bench.axil.write(MAP[name].offset_of(1), b"\xff")
        assert await bench.get(name, 1) == 0x11223344, name
    await bench.wait(20)
    assert len(bench.qps.items) == 1


@cocotb.test()
@cocotb.parametrize(stalls=list(Stalls))
async def a_queue_pair_comes_into_force_whole_when_its_control_is_written(dut: Any, stalls: Stalls) -> None:
    """The next one is written while the table is still busy with it."""
    bench = RegistersBench(dut, stalls)
    await bench.start()
    expected = []
    for turn in range(12):
        index = turn % SIZES["NumQp"]
        qp = QpContext(Endpoint(turn, 1), dest_qpn=bench.random.getrandbits(24), rkey=turn, psn=turn, vlan=turn)
        before = len(bench.qps.items)
        words = qp_words(qp, set_psn=turn % 3 != 0)
        for word in range(len(words) - 1, 0, -1):
            await bench.write_word(MAP["qp[].control"].offset_of(index) + 4 * word, words[word])
        if turn == 0:
            assert len(bench.qps.items) == before, "in force before its control was written"
        await bench.write_word(MAP["qp[].control"].offset_of(index), words[0])
        expected.append(ports.qp_write_t(index, qp, turn % 3 != 0))
    while await bench.field("status", "qp_busy"):
        pass
    assert [item["tdata"] for item in bench.qps.items] == expected


@cocotb.test()
async def a_queue_pair_is_busy_until_the_table_has_it_and_its_writes_wait(dut: Any) -> None:
    bench = RegistersBench(dut)
    await bench.start()
    bench._sinks.clear()
    dut.m_axis_qp_tready.value = 0
    await bench.entry("qp", qp_words(QP), 1)
    assert await bench.field("status", "qp_busy")
    later = cocotb.start_soon(bench.put("qp[].rkey", 0x5555_5555, 1))
    await bench.wait(100)
    assert not later.done(), "the entry changed while it was offered"
    assert now(dut.m_axis_qp_tdata) == ports.qp_write_t(1, QP)
    dut.m_axis_qp_tready.value = 1
    await later
    assert not await bench.field("status", "qp_busy")
    assert await bench.get("qp[].rkey", 1) == 0x5555_5555


@cocotb.test()
@cocotb.parametrize(stalls=list(Stalls))
async def many_accesses_at_once_are_all_answered_in_order(dut: Any, stalls: Stalls) -> None:
    """Reads and writes under way together, of registers, tables and counters."""
    bench = RegistersBench(dut, stalls)
    await bench.start()
    bases = [MAP[name].offset for name in ("scratch", "flow[].bunch", "destination[].base", "qp[].rkey")]
    expected = dict.fromkeys(bases, 0)
    writes = []
    for turn in range(40):
        address = bases[turn % len(bases)]
        expected[address] = bench.random.getrandbits(32)
        writes.append(bench.axil.init_write(address, expected[address].to_bytes(4, "little")))
        bench.axil.init_read(bench.random.choice((0, 0x20, 0x4000, 0x8000, 0x2000)), 4)
    for event in writes:
        await event.wait()
    for address, value in expected.items():
        assert await bench.word(address) == value


@pytest.mark.parametrize("network", [{}, RC])
def test_registers(network: dict[str, Any]) -> None:
    run("registers", flat=True, **SIZES, **BUILD, **network)
