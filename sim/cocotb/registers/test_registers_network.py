"""registers of the station and of RC: what is written reaches the blocks, and what they say is read."""

from dataclasses import asdict
from typing import Any

import cocotb

from bench import run
from counter_ports import STATION_PULSES_T
from framelane.driver.registers._register_map import REGISTERS
from framelane.driver.simulated.neighbour_ports import RESOLVED_T, NeighbourConfig
from framelane.models.rc.rc_protocol import RcLimits
from framelane.models.registers.registers import limits_word
from framelane.models.roce_tx.wire import Endpoint
from rc_ports import COMMAND_T, DCQCN_T, LIMITS_T, STATUS_T
from registers_bench import BUILD, RC, SIZES, RegistersBench
from signals import now


@cocotb.test()
async def the_station_reaches_the_core_as_its_struct(dut: Any) -> None:
    bench = RegistersBench(dut)
    await bench.start()
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
    assert now(dut.neighbour_o) == config.pack()
    announced: list[int] = []
    bench.watch(lambda: announced.append(now(dut.announce_o)))
    await bench.put("station_command", 2)
    assert sum(announced) == 1


@cocotb.test()
async def an_address_is_resolved_once_a_command(dut: Any) -> None:
    bench = RegistersBench(dut)
    await bench.start()
    await bench.put("resolve_ip", 0x0A000042)
    await bench.put("station_command", 1)
    await bench.put("station_command", 1)
    assert now(dut.m_axis_resolve_tvalid)
    assert now(dut.m_axis_resolve_tdata) & 0xFFFF_FFFF == 0x0A000042
    dut.m_axis_resolve_tready.value = 1
    await bench.wait(3)
    assert not now(dut.m_axis_resolve_tvalid)
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
    limits = RcLimits(window=999, timeout=11, backoff=3, retries=5, rnr_retries=6)
    written: list[tuple[int, int]] = []

    def look() -> None:
        if now(dut.limits_write_o):
            written.append((now(dut.limits_qp_o), now(dut.limits_o)))

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
        fields = COMMAND_T.unpack(now(dut.m_axis_command_tdata))
        assert now(dut.m_axis_command_tvalid)
        assert (fields["arm"], fields["qp"], fields["psn"]) == (command == 1, 1, 0xFEDC)
        await bench.put("rc_start", 0)
        await bench.put("rc_command", command)
        assert COMMAND_T.unpack(now(dut.m_axis_command_tdata)) == fields
        dut.command_refused_i.value, dut.m_axis_command_tready.value = refused, 1
        await bench.wait(1)
        dut.m_axis_command_tready.value = 0
        assert await bench.get("rc_status") == refused << 1


@cocotb.test()
async def congestion_control_is_told_its_parameters(dut: Any) -> None:
    bench = RegistersBench(dut)
    await bench.start()
    await bench.put("dcqcn", 1 | 9 << 4 | 3 << 8 | 21 << 12)
    await bench.put("dcqcn_period", 0x1234 | 0x5678 << 16)
    for k, name in enumerate(("line", "minimum", "additive", "hyper", "burst")):
        await bench.put(f"dcqcn_{name}", 0x10000 * (k + 1) + k)
    await bench.wait(3)
    found = DCQCN_T.unpack(now(dut.dcqcn_o))
    rates = {name: 0x10000 * (k + 1) + k for k, name in enumerate(("line", "minimum", "additive", "hyper"))}
    others = {"enabled": 1, "alpha_period": 0x1234, "rise_period": 0x5678, "bytes_log2": 21}
    assert found == rates | others | {"gain_log2": 9, "fast_rounds": 3}
    assert now(dut.dcqcn_burst_o) == 0x50004


@cocotb.test()
async def every_counter_of_the_receive_path_is_where_the_map_says(dut: Any) -> None:
    bench = RegistersBench(dut)
    await bench.start()
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


def test_registers_network() -> None:
    run("registers_network", top="registers", flat=True, **SIZES, **BUILD, **RC)
