"""registers with an independent AXI4-Lite master, which finds them by the driver's names, and an idle core."""

import logging
from typing import Any

from cocotb.triggers import RisingEdge
from cocotbext.axi import AxiLiteBus, AxiLiteMaster

from bench import STALL_SHARE, Bench, Stalls
from counter_ports import PULSES_T, counter
from framelane.driver.simulated.ports import COUNT_T, REFUSAL_T
from framelane.models.placement.flow import Flow
from framelane.models.roce_tx.roce_qp import QpContext
from framelane.models.roce_tx.wire import Endpoint
from tx_registers import MAP

SIZES: dict[str, Any] = {"NumQp": 4, "Flows": 3, "Destinations": 5}
BUILD: dict[str, Any] = {
    "DataW": 256,
    "AddrW": 40,
    "ClockHz": 322_265_625,
    "Build": 77,
    "FrameStore": 1,
    "Correct": 1,
    "MacPort": 1,
}
RC: dict[str, Any] = {"Station": 1, "Rc": 1, "RcQps": 2, "RcDepth": 32}
FLOW_1 = Flow(
    source=3, first_destination=1, destinations=2, bunch=5, first=1 << 40 | 9, period=7, burst=6, count=1 << 33 | 1,
    kind=5, x0=10, y0=11, width=1024, height=512, source_pitch=4096, source_offset=64, wide=True, x1=12, y1=13,
    destination_pitch=8192, max_length=1 << 20,
)  # fmt: skip
QP = QpContext(Endpoint(0x0200_0000_0001, 0x0A00_0001), dest_qpn=0x123456, rkey=0xCAFE_F00D, psn=0xABCDEF, vlan=0x2FFF)
EVENTS = [*reversed(PULSES_T.fields)]
"""What `counters` counts, from bit 0 of the pulses on."""


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
        stuck = ("mac_stuck_i", "memory_stuck_i", "bad_address_i")
        rc = ("command_refused_i", "rc_status_i", "m_axis_command_tready")
        for name in (*core, *network, *stuck, *rc):
            getattr(self.dut, name).value = 0
        self.dut.idle_i.value = int(idle)
        await self.reset()
        self.keep_stepping()
        await self.ready()

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
