"""registers: all that docs/registers.md says, over AXI4-Lite from an independent master, by the driver's names."""

import logging
from dataclasses import asdict
from typing import Any

import cocotb
import numpy as np
import pytest
from cocotb.triggers import RisingEdge
from cocotbext.axi import AxiLiteBus, AxiLiteMaster

from bench import STALL_SHARE, Bench, Stalls, run
from counter_ports import PULSES_T, STATION_PULSES_T, counter, pulses
from framelane.driver.registers._register_map import REGISTERS
from framelane.driver.simulated import ports
from framelane.driver.simulated.neighbour_ports import RESOLVED_T, NeighbourConfig
from framelane.driver.simulated.ports import CORRECTION_T, COUNT_T, DESTINATION_T, FLOW_T, REFUSAL_T
from framelane.models.jungfrau.jf_fixed import FixedCalibration
from framelane.models.memory.image_writer import Correction
from framelane.models.placement.flow import Destination, Flow
from framelane.models.rc.rc_protocol import RcLimits
from framelane.models.registers.registers import destination_words, flow_words, limits_word, qp_words
from framelane.models.registers.tx_control import IDLE_CYCLES
from framelane.models.roce_tx.roce_qp import QpContext
from framelane.models.roce_tx.wire import Endpoint
from rc_ports import COMMAND_T, DCQCN_T, LIMITS_T, STATUS_T

SIZES: dict[str, Any] = {"NumQp": 4, "Flows": 3, "Destinations": 5}
BUILD: dict[str, Any] = {"DataW": 256, "ClockHz": 322_265_625, "Build": 77, "FrameStore": 1, "Correct": 1}
RC: dict[str, Any] = {"Station": 1, "Rc": 1, "RcQps": 2, "RcDepth": 32}
STATION_REGISTERS = range(0x80, 0x100)
MAP = {register.name: register for register in REGISTERS}
FLOW_1 = Flow(
    source=3, first_destination=1, destinations=2, bunch=5, first=1 << 40 | 9, period=7, burst=6, count=1 << 33 | 1,
    kind=5, x0=10, y0=11, width=1024, height=512, source_pitch=4096, source_offset=64, wide=True, x1=12, y1=13,
    destination_pitch=8192, max_length=1 << 20,
)  # fmt: skip
RING = Destination(qp=2, base=0x1234_5678_9ABC_D000, slot_bytes=1 << 20, n_slots=33, trailer_offset=(1 << 20) - 64)
QP = QpContext(Endpoint(0x0200_0000_0001, 0x0A00_0001), dest_qpn=0x123456, rkey=0xCAFE_F00D, psn=0xABCDEF, vlan=0x2FFF)
ERRORS = (
    *("frames_lost", "bad_qp", "bad_length", "too_short", "too_long", "bad_payload", "read_errors", "frames_bad"),
    *("mismatches", "constant_errors"),
)
"""Counters of events each of which sets a bit of `errors`, from bit 3 on."""
EVENTS = [*reversed(PULSES_T.fields)]


class RegistersBench(Bench):
    """The block, its AXI4-Lite master, and an idle core."""

    def __init__(self, dut: Any, stalls: Stalls = Stalls.NONE) -> None:
        super().__init__(dut, stalls)
        logging.getLogger(f"cocotb.{dut._name}.s_axil").setLevel(logging.WARNING)
        self.axil = AxiLiteMaster(AxiLiteBus.from_prefix(dut, "s_axil"), dut.clk, dut.rst)
        self.counts = self.source("s_axis_count", stalls=False)
        self.cnps = self.source("s_axis_cnp", stalls=False)
        self.qps = self.sink("m_axis_qp")
        self.has_rc = bool(int(dut.Rc.value))
        write, read = self.axil.write_if, self.axil.read_if
        paused = [write.aw_channel, write.w_channel, read.ar_channel] if stalls.source else []
        paused += [write.b_channel, read.r_channel] if stalls.sink else []
        for channel in paused:
            channel.set_pause_generator(iter(lambda: self.random.random() < STALL_SHARE, None))

    async def start(self, idle: bool = True) -> None:
        core = ("pulses_i", "refusal_valid_i", "refusal_i", "flow_index_i", "destination_index_i", "station_pulses_i")
        network = ("s_axis_resolved_tvalid", "link_up_i", "held_i", "conflict_mac_i", "m_axis_resolve_tready")
        rc = ("command_refused_i", "rc_status_i", "m_axis_command_tready")
        for name in (*core, *network, *rc):
            getattr(self.dut, name).value = 0
        self.dut.idle_i.value = int(idle)
        await self.reset()
        cocotb.start_soon(self._go())
        await self.ready()

    async def _go(self) -> None:
        while True:
            await self.step()

    async def wait(self, cycles: int) -> None:
        for _ in range(cycles):
            await RisingEdge(self.dut.clk)

    async def ready(self) -> None:
        """Until the reset of this block is over."""
        while await self.field("status", "resetting"):
            pass

    async def word(self, address: int) -> int:
        return int(await self.axil.read_dword(address))

    async def write_word(self, address: int, value: int) -> None:
        await self.axil.write_dword(address, value)

    async def get(self, name: str, index: int = 0) -> int:
        """All bits of a register, of element `index` where it is in a table."""
        register = MAP[name]
        offset = register.offset_of(index)
        return sum([await self.word(offset + k // 8) << k for k in range(0, register.width, 32)])

    async def put(self, name: str, value: int, index: int = 0) -> None:
        register = MAP[name]
        for k in range(0, register.width, 32):
            await self.write_word(register.offset_of(index) + k // 8, value >> k & 0xFFFF_FFFF)

    async def field(self, name: str, field: str) -> int:
        bits = await self.get(name)
        return next(f.of(bits) for f in MAP[name].fields if f.name == field)

    async def command(self, field: str) -> None:
        """Give one command."""
        bit = next(f.lsb for f in MAP["command"].fields if f.name == field)
        await self.put("command", 1 << bit)

    async def entry(self, name: str, words: tuple[int, ...], index: int) -> None:
        """Write an entry of a table, its control last."""
        start = MAP[f"{name}[].control"].offset_of(index)
        for k in (*range(1, len(words)), 0):
            await self.write_word(start + 4 * k, words[k])

    async def counters(self) -> list[int]:
        """All counters, of a new snapshot."""
        await self.command("snapshot")
        while await self.field("status", "snapshot_busy"):
            pass
        base = MAP["counters.cycles"].offset
        count = counter("destination_counters[].sent", SIZES["Destinations"])
        words = [await self.word(base + 4 * k) for k in range(2 * count)]
        return [words[2 * k] | words[2 * k + 1] << 32 for k in range(count)]

    async def pulses(self, bits: int, cycles: int = 1) -> None:
        self.dut.pulses_i.value = bits
        await self.wait(cycles)
        self.dut.pulses_i.value = 0

    async def count(self, index: int, amount: int) -> None:
        self.counts.items.append({"tdata": COUNT_T.pack({"index": index, "amount": amount})})
        while self.counts.items:
            await self.wait(1)

    async def refuse(self, number: int, flow: int, destination: int, reason: int) -> None:
        fields = {"number": number, "destination": destination, "flow": flow, "reason": reason}
        self.dut.refusal_i.value = REFUSAL_T.pack(fields)
        self.dut.refusal_valid_i.value = 1
        await self.wait(1)
        self.dut.refusal_valid_i.value = 0


@cocotb.test()
@cocotb.parametrize(stalls=list(Stalls))
async def the_build_says_what_it_is(dut: Any, stalls: Stalls) -> None:
    bench = RegistersBench(dut, stalls)
    await bench.start()
    assert await bench.word(0) == int.from_bytes(b"FLTX", "little")
    assert await bench.get("version") == 1 << 24 | 2 << 16
    able = BUILD["DataW"] | BUILD["FrameStore"] << 16 | BUILD["Correct"] << 17
    assert await bench.get("capabilities") == able | (0b11 << 18 if bench.has_rc else 0)
    assert await bench.get("rc_sizes") == (RC["RcQps"] | RC["RcDepth"] << 16 if bench.has_rc else 0)
    assert await bench.get("sizes") == SIZES["NumQp"] | SIZES["Flows"] << 12 | SIZES["Destinations"] << 16
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
    for name in ("local_mac", "local_ip", "store_base", "store_slot_bytes", "store_slots"):
        assert int(getattr(dut, f"{name}_o").value) == expected[name, 0], name


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
    assert CORRECTION_T.unpack(int(dut.correction_o.value)) == expected


@cocotb.test()
async def half_of_an_address_is_never_in_force(dut: Any) -> None:
    bench = RegistersBench(dut)
    await bench.start()
    await bench.put("store_base", 0x1111_1111_2222_2222)
    await bench.write_word(MAP["store_base"].offset, 0x4444_4444)
    await bench.wait(5)
    assert int(dut.store_base_o.value) == 0x1111_1111_2222_2222
    await bench.write_word(MAP["store_base"].offset + 4, 0x3333_3333)
    await bench.wait(5)
    assert int(dut.store_base_o.value) == 0x3333_3333_4444_4444


@cocotb.test()
async def flows_and_destinations_reach_the_core_as_its_structs(dut: Any) -> None:
    bench = RegistersBench(dut)
    await bench.start()
    await bench.entry("flow", flow_words(FLOW_1), 2)
    await bench.entry("destination", destination_words(RING, 1 << 35 | 7), 4)
    dut.flow_index_i.value, dut.destination_index_i.value = 2, 4
    await bench.wait(3)
    assert FLOW_T.unpack(int(dut.flow_o.value)) == FLOW_T.unpack(ports.flow_t(FLOW_1))
    expected = ports.destination_t(RING, 1 << 35 | 7)
    assert DESTINATION_T.unpack(int(dut.destination_o.value)) == DESTINATION_T.unpack(expected)
    dut.flow_index_i.value, dut.destination_index_i.value = SIZES["Flows"], SIZES["Destinations"]
    await bench.wait(3)
    assert not int(dut.flow_o.value)
    assert not int(dut.destination_o.value)


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
    bench.watch(lambda: seen.add(DESTINATION_T.unpack(int(dut.destination_o.value))["window_end"]))
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
    for address in (0x70, 0x100, 0x818, 0x1200, 0x4038, last, 0xA200, 0xB800, 0xC000, 0xFFFC, *beyond):
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
    assert int(dut.m_axis_qp_tdata.value) == ports.qp_write_t(1, QP)
    dut.m_axis_qp_tready.value = 1
    await later
    assert not await bench.field("status", "qp_busy")
    assert await bench.get("qp[].rkey", 1) == 0x5555_5555


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
    bench.watch(lambda: resets.append(int(dut.core_rst_o.value)))
    await bench.command("reset")
    await bench.wait(50)
    assert not any(resets)
    assert int(dut.m_axis_qp_tvalid.value)
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
    assert int(dut.armed_o.value)
    assert await bench.get("status") == 0b00011
    await bench.pulses(pulses(**dict.fromkeys(EVENTS, 1)))
    await bench.refuse(99, 1, 2, 3)
    dut.idle_i.value = 0
    resets: list[int] = []
    bench.watch(lambda: resets.append(int(dut.core_rst_o.value)))
    await bench.command("reset")
    await bench.put("control", 1)
    assert not int(dut.armed_o.value), "armed during a reset"
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
    assert int(dut.armed_o.value)


@cocotb.test()
async def arming_right_behind_a_reset_does_not_arm(dut: Any) -> None:
    bench = RegistersBench(dut)
    await bench.start()
    armed: list[int] = []
    bench.watch(lambda: armed.append(int(dut.armed_o.value)))
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
    bench.watch(lambda: resets.append(int(dut.core_rst_o.value)))
    for _ in range(20):
        dut.idle_i.value = 1
        await bench.wait(IDLE_CYCLES - 1)
        dut.idle_i.value = 0
        await bench.wait(1)
    assert not any(resets)
    assert await bench.field("status", "resetting")


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


@cocotb.test()
async def the_station_reaches_the_core_as_its_struct(dut: Any) -> None:
    bench = RegistersBench(dut)
    await bench.start()
    if not bench.has_rc:
        return
    config = NeighbourConfig(
        Endpoint(0x0200_0000_0099, 0x0A00_0063), 0xA123, echo_enabled=False, pause_honoured=True, data_priorities=0x5A,
        control_priorities=0xC3, quanta_per_clock=0x98765, clocks_per_ms=322_265, timeout_ms=0x1234, retries=9,
    )  # fmt: skip
    await bench.put("local_mac", config.local.mac)
    await bench.put("local_ip", config.local.ip)
    await bench.put("station", 1 | 1 << 2 | 1 << 3 | 0xA123 << 16)
    await bench.put("pause_priorities", config.data_priorities | config.control_priorities << 8)
    await bench.put("pause_quanta", config.quanta_per_clock)
    await bench.put("arp", config.timeout_ms | config.retries << 16)
    await bench.wait(3)
    assert int(dut.neighbour_o.value) == config.pack()
    announced: list[int] = []
    bench.watch(lambda: announced.append(int(dut.announce_o.value)))
    await bench.put("station_command", 2)
    assert sum(announced) == 1


@cocotb.test()
async def an_address_is_resolved_once_a_command(dut: Any) -> None:
    bench = RegistersBench(dut)
    await bench.start()
    if not bench.has_rc:
        return
    await bench.put("resolve_ip", 0x0A000042)
    await bench.put("station_command", 1)
    await bench.put("station_command", 1)
    assert int(dut.m_axis_resolve_tvalid.value)
    assert int(dut.m_axis_resolve_tdata.value) & 0xFFFF_FFFF == 0x0A000042
    dut.m_axis_resolve_tready.value = 1
    await bench.wait(3)
    assert not int(dut.m_axis_resolve_tvalid.value)
    assert await bench.get("station_status") == 1
    dut.s_axis_resolved_tdata.value = RESOLVED_T.pack({"found": 1, "ip": 0x0A000042, "mac": 0x0211_2233_4455})
    dut.s_axis_resolved_tvalid.value = 1
    await bench.wait(1)
    dut.s_axis_resolved_tvalid.value = 0
    dut.link_up_i.value, dut.conflict_mac_i.value = 1, 0x0266_7788_99AA
    await bench.wait(2)
    assert await bench.get("station_status") == 0b1010
    assert await bench.get("resolved_mac") == 0x0211_2233_4455
    assert await bench.get("conflict_mac") == 0x0266_7788_99AA
    await bench.put("station_command", 1)
    assert await bench.get("resolved_mac") == 0


@cocotb.test()
async def limits_commands_and_state_of_rc_are_passed_on(dut: Any) -> None:
    bench = RegistersBench(dut)
    await bench.start()
    if not bench.has_rc:
        return
    limits = RcLimits(window=999, timeout=11, backoff=3, retries=5, rnr_retries=6)
    written: list[tuple[int, int]] = []

    def look() -> None:
        if int(dut.limits_write_o.value):
            written.append((int(dut.limits_qp_o.value), int(dut.limits_o.value)))

    bench.watch(look)
    await bench.put("qp[].limits", limits_word(limits), 1)
    assert written == [(1, LIMITS_T.pack(asdict(limits)))]
    assert await bench.get("qp[].limits", 1) == limits_word(limits)
    dut.rc_status_i.value = STATUS_T.pack({"state": 3, "reason": 9, "una": 0xABCDEF, "nxt": 0x123456})
    assert await bench.get("qp[].rc_state", 1) == 3 | 9 << 4
    assert await bench.get("qp[].rc_una", 1) == 0xABCDEF
    assert await bench.get("qp[].rc_next", 1) == 0x123456
    assert await bench.get("qp[].rc_next", 2) == 0, "of no RC"
    for command, refused in ((1, 0), (2, 1), (1, 0)):
        await bench.put("rc_start", 0x00FEDC | 1 << 24)
        await bench.put("rc_command", command)
        assert await bench.get("rc_status") == 1
        fields = COMMAND_T.unpack(int(dut.m_axis_command_tdata.value))
        assert int(dut.m_axis_command_tvalid.value)
        assert (fields["arm"], fields["qp"], fields["psn"]) == (command == 1, 1, 0xFEDC)
        await bench.put("rc_start", 0)
        await bench.put("rc_command", command)
        assert COMMAND_T.unpack(int(dut.m_axis_command_tdata.value)) == fields
        dut.command_refused_i.value, dut.m_axis_command_tready.value = refused, 1
        await bench.wait(1)
        dut.m_axis_command_tready.value = 0
        assert await bench.get("rc_status") == refused << 1


@cocotb.test()
async def congestion_control_is_told_its_parameters(dut: Any) -> None:
    bench = RegistersBench(dut)
    await bench.start()
    if not bench.has_rc:
        return
    await bench.put("dcqcn", 1 | 9 << 4 | 3 << 8 | 21 << 12)
    await bench.put("dcqcn_period", 0x1234 | 0x5678 << 16)
    for k, name in enumerate(("line", "minimum", "additive", "hyper", "burst")):
        await bench.put(f"dcqcn_{name}", 0x10000 * (k + 1) + k)
    await bench.wait(3)
    found = DCQCN_T.unpack(int(dut.dcqcn_o.value))
    rates = {name: 0x10000 * (k + 1) + k for k, name in enumerate(("line", "minimum", "additive", "hyper"))}
    others = {"enabled": 1, "alpha_period": 0x1234, "rise_period": 0x5678, "bytes_log2": 21}
    assert found == rates | others | {"gain_log2": 9, "fast_rounds": 3}
    assert int(dut.dcqcn_burst_o.value) == 0x50004


@cocotb.test()
async def every_counter_of_the_receive_path_is_where_the_map_says(dut: Any) -> None:
    bench = RegistersBench(dut)
    await bench.start()
    if not bench.has_rc:
        return
    names = [r.name for r in REGISTERS if r.name.startswith("station_counters.")]
    assert len(names) == len(dut.station_pulses_i)
    nothing = dict.fromkeys(STATION_PULSES_T.fields, 0)
    for index, name in enumerate(names):
        event = name.partition(".")[2]
        dut.station_pulses_i.value = STATION_PULSES_T.pack(nothing | {event: 1})
        await bench.wait(index + 1)
    dut.station_pulses_i.value = 0
    bench.cnps.items.extend({"tdata": index} for index in (0, 3, 3, 1, 3))
    await bench.wait(300)
    await bench.counters()
    assert [await bench.get(name) for name in names] == [*range(1, len(names) + 1)]
    assert [await bench.get("qp_counters[].cnps", index) for index in range(5)] == [1, 1, 0, 3, 0]


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
