"""framelane_top with its six clocks, registers written by cocotbext-axi, and its golden model."""

import logging
import random
from collections.abc import Iterator
from typing import Any

import cocotb
from cocotb.triggers import with_timeout
from cocotbext.axi import AxiBus, AxiLiteBus, AxiLiteMaster, AxiRam, AxiRamWrite, AxiResp, AxiWriteBus

from bench import STALL_SHARE, Stalls, assert_same_packets
from clocks_bench import Side
from detector import CONSTANTS, StreamPlan
from framelane.driver.simulated.ports import frame_info_t
from framelane.models.framelane_top import FramelaneTop
from framelane.models.mac.mac_port import MacPort
from gap_rule import GapRule
from plane_memory import PlaneMemory
from receive_bench import line
from signals import now
from tx_bench import session
from tx_registers import COMMAND, COPYING, MAP, RESETTING, SENT, SNAPSHOT, STATUS

MEMORY = 1 << 20
CLOCK_HZ = 10_000_000
"""As the registers have it: the time-outs of RC are short then."""

BUILDS: tuple[dict[str, Any], ...] = (
    {"DataW": 128, "MacW": 64},
    {"DataW": 64, "MacW": 512, "AddrW": 40, "MaxBurst": 16, "IdW": 3},
)
"""A line that is narrower than the core, and a wider one beside a memory as HBM is. Benches share them."""
SMALL: dict[str, Any] = {"NumQp": 4, "RcQps": 2, "RcDepth": 32, "MaxSlots": 16, "ClockHz": CLOCK_HZ}


class TopBench(StreamPlan):
    """Six clocks: a detector, cocotbext-axi's memory and master of the registers, and a MAC."""

    kind_of_side: type[Side] = Side

    def __init__(self, dut: Any, periods: dict[str, int], stalls: Stalls, *, slots: int = 8, rows: int = 12) -> None:
        super().__init__(session(rows=rows, columns=101, mtu=1024, n_slots=16).tx_config(), slots)
        self.dut, self.stalls = dut, stalls
        self.side = {name: self.kind_of_side(dut, name, period, stalls) for name, period in periods.items()}
        self.random: random.Random = self.side[""].random
        self.width, self.mac_width = len(dut.s_axis_pixel_tdata), len(dut.m_axis_tdata)
        self.pixels = self.side["pixel"].source("s_axis_pixel")
        self.out = self.side["tx"].sink("m_axis")
        self.rule = GapRule(self.side["tx"])
        self.line = line(self.side["rx"], Stalls.NONE, "s_axis_rx")
        for name in ("link_up_i", "trigger_i", "pps_i"):
            getattr(dut, name).value = 0
        for name in ("s_axil", "m_axi", "m_axi_corrected"):
            logging.getLogger(f"cocotb.{dut._name}.{name}").setLevel(logging.ERROR)
        self.registers = AxiLiteMaster(AxiLiteBus.from_prefix(dut, "s_axil"), dut.register_clk, dut.register_rst)
        clock = (dut.memory_clk, dut.memory_rst)
        self.ram = AxiRam(AxiBus.from_prefix(dut, "m_axi"), *clock, size=MEMORY)
        bus = AxiWriteBus.from_prefix(dut, "m_axi_corrected")
        corrected = AxiRamWrite(bus, *clock, size=MEMORY, mem=self.ram.write_if.mem)
        self.planes = PlaneMemory(self.side["memory"], "m_axi_constant", self.width, CONSTANTS, b"", stalls.source)
        if stalls.source:
            for channel in (self.ram.write_if.w_channel, corrected.w_channel, self.ram.write_if.b_channel):
                channel.set_pause_generator(self._pauses(1))
        self.slow_reads(300 if stalls.source else 1)
        self.rules = [rules for side in self.side.values() for rules in side.rules]

    def _pauses(self, longest: int) -> Iterator[bool]:
        """Cycle by cycle, pauses of any length up to that."""
        chance = random.Random(self.random.random())
        while True:
            if chance.random() < STALL_SHARE / longest:
                yield from [True] * chance.randrange(longest)
            yield longest == 1 and chance.random() < STALL_SHARE

    def slow_reads(self, longest: int) -> None:
        """Let the memory of frames pause, for as long as this."""
        self.ram.read_if.r_channel.set_pause_generator(self._pauses(longest))

    async def write(self, offset: int, word: int) -> None:
        answer = await with_timeout(self.registers.write(offset, word.to_bytes(4, "little")), 100, "us")
        assert answer.resp == AxiResp.OKAY

    async def read(self, offset: int) -> int:
        answer = await with_timeout(self.registers.read(offset, 4), 100, "us")
        assert answer.resp == AxiResp.OKAY
        return int.from_bytes(answer.data, "little")

    async def put(self, name: str, value: int, index: int = 0) -> None:
        register = MAP[name]
        for k in range(0, register.width, 32):
            await self.write(register.offset_of(index) + k // 8, value >> k & 0xFFFF_FFFF)

    async def get(self, name: str, index: int = 0) -> int:
        register = MAP[name]
        words = [await self.read(register.offset_of(index) + k // 8) for k in range(0, register.width, 32)]
        return sum(word << 32 * k for k, word in enumerate(words))

    async def counters(self, *names: str) -> list[int]:
        await self.write(COMMAND, SNAPSHOT)
        while await self.read(STATUS) & COPYING:
            pass
        return [await self.get(name) for name in names]

    async def start(self) -> None:
        resets = [cocotb.start_soon(side.reset(self.random.randint(2, 9))) for side in self.side.values()]
        for reset in resets:
            await reset
        for name in ("pixel", "memory", "register", "tx", "rx"):
            self.side[name].start()
        await self.side["register"].wait(60)  # until then the crossing answers with errors
        while await self.read(STATUS) & RESETTING:
            pass
        await self.configure()

    async def configure(self) -> None:
        self.restart()
        self.top = FramelaneTop(self.model, MacPort(width=self.width, mac_width=self.mac_width))
        for offset, word in self.writes():
            await self.write(offset, word)

    def detect(self, count: int) -> None:
        for _ in range(count):
            frame = self.next_frame(self.random)
            self.pixels.send(frame.pixels, self.width, tuser=frame_info_t(frame.info))

    def at_the_mac(self, sent: set[int]) -> list[bytes]:
        """What the MAC gets, where those of the detector's frames were sent."""
        return [
            packet
            for frame in self.frames
            for packet in self.top.frame(self.told(frame.info), frame.pixels, late=frame.info.number not in sent)
        ]

    async def finish(self) -> list[bytes]:
        """Run until all has left; the packets."""
        await self.side["pixel"].wait_until(lambda: not self.pixels.items, 200_000)
        await self.side[""].wait(100)
        await self.side["tx"].wait_until(lambda: bool(now(self.dut.idle_o)), 200_000)
        quiet = 0
        while quiet < 100:
            await self.side["tx"].wait(1)
            quiet = 0 if now(self.dut.m_axis_tvalid) else quiet + 1
        return self.out.packets(self.mac_width)

    async def check(self) -> set[int]:
        """All that was sent is what the model says, and the frames that were not are counted."""
        packets = await self.finish()
        sent = self.sent(packets)
        assert_same_packets(packets, self.at_the_mac(sent))
        assert not any(item["tuser"] for item in self.out.items if item["tlast"])
        lost = len(self.frames) - len(sent)
        assert await self.counters("counters.frames", "counters.frames_lost", SENT) == [len(sent), lost, len(sent)]
        return sent
