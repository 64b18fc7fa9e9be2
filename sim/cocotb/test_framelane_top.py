"""framelane_top: every side with a clock of its own that drifts; what the MAC gets is whole, and has no gap."""

import logging
import random
from collections import deque
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import cocotb
import pytest
from cocotb.triggers import with_timeout
from cocotbext.axi import AxiBus, AxiLiteBus, AxiLiteMaster, AxiRam, AxiRamWrite, AxiResp, AxiWriteBus
from scapy.layers.l2 import ARP, Ether

from bench import STALL_SHARE, Stalls, assert_same_packets, run
from clocks_bench import JITTER, Side
from detector import CONSTANTS, StreamPlan
from framelane.driver.simulated.ports import frame_info_t
from framelane.models.cells import axis
from framelane.models.framelane_top import FramelaneTop
from framelane.models.mac.mac_port import MacPort
from framelane.models.rc.rc_protocol import RcLimits, RcState
from framelane.models.rc.rc_responder import RcResponder, Region
from framelane.models.registers import registers
from framelane.models.roce_tx import wire
from framelane.models.roce_tx.roce_qp import AckPolicy, Service
from framelane.models.station.roce_rx import FIRST_QPN, Event
from gap_rule import GapRule
from plane_memory import PlaneMemory
from receive_bench import acknowledge, ethernet, ip, line
from signals import now
from tx_bench import RECEIVER, SOURCE, session
from tx_registers import COMMAND, COPYING, MAP, RESETTING, SENT, SNAPSHOT, STATUS
from widths import some_of

MEMORY = 1 << 20
CLOCK_HZ = 10_000_000
"""As the registers have it: the time-outs of RC are short then."""

PERIODS = (
    {"": 4000, "pixel": 5200, "memory": 3300, "register": 10_000, "tx": 3103, "rx": 3106},
    {"": 3100, "pixel": 3104, "memory": 5000, "register": 4100, "tx": 4800, "rx": 4803},
)
"""Of all clocks, in ps: a line faster than the core, and a slower one beside a slow memory."""


class TopBench(StreamPlan):
    """Six clocks: a detector, cocotbext-axi's memory and master of the registers, and a MAC."""

    def __init__(self, dut: Any, periods: dict[str, int], stalls: Stalls, *, slots: int = 8, rows: int = 12) -> None:
        super().__init__(session(rows=rows, columns=101, mtu=1024, n_slots=16).tx_config(), slots)
        self.dut, self.stalls = dut, stalls
        self.side = {name: Side(dut, name, period, stalls) for name, period in periods.items()}
        self.random: random.Random = self.side[""].random
        self.width, self.mac_width = len(dut.s_axis_pixel_tdata), len(dut.m_axis_tdata)
        self.pixels = self.side["pixel"].source("s_axis_pixel")
        self.out = self.side["tx"].sink("m_axis")
        self.rule = GapRule(self.side["tx"])
        self.line = line(self.side["rx"], Stalls.NONE, "s_axis_rx")
        dut.link_up_i.value = 0
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
        for name in ("pixel", "memory", "tx", "rx"):
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
        late = [(frame, frame.info.number not in sent) for frame in self.frames]
        return [packet for frame, is_late in late for packet in self.top.frame(frame.info, frame.pixels, late=is_late)]

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


@cocotb.test()
@cocotb.parametrize(periods=PERIODS, corrected=[False, True])
async def packets_at_the_mac_are_the_models(dut: Any, periods: dict[str, int], corrected: bool) -> None:
    """Both images of each frame, or the raw ones."""
    bench = TopBench(dut, periods, Stalls.BOTH)
    if corrected:
        bench.planes.data = bytearray(bench.correct())
    await bench.start()
    bench.detect(6)
    assert len(await bench.check()) >= 3
    assert await bench.counters("counters.mac_underruns", "counters.mac_too_long") == [0, 0]


class RcTopBench(TopBench):
    """With a receiver by RC at the MAC, which is a model."""

    def __init__(self, dut: Any, periods: dict[str, int], stalls: Stalls) -> None:
        super().__init__(dut, periods, stalls)
        (qp,), flow = self.config.qps, replace(self.config.flows[0], max_length=700)
        self.config = replace(
            self.config, qps=(replace(qp, service=Service.RC, ack_policy=AckPolicy.LAST),), flows=(flow,)
        )
        ring = self.config.destinations[0]
        self.memory = bytearray(ring.n_slots * ring.slot_bytes)
        self.receiver = RcResponder(qp.psn, qp.mtu, Region(ring.base, qp.rkey, self.memory))
        self.others: list[bytes] = []
        self.lost: deque[int] = deque()
        """Packets that get lost on their way, by their place among all."""
        self._taken = self._packets = 0
        self.side["tx"].watch(self._network)

    def _network(self) -> None:
        items = self.out.items[self._taken :]
        if not items or not items[-1]["tlast"]:
            return
        self._taken = len(self.out.items)
        beats = [axis.Beat(i["tdata"], i["tkeep"], bool(i["tlast"])) for i in items]
        for packet in axis.packets(beats, self.mac_width):
            self._packets += 1
            if self.lost and self.lost[0] == self._packets:
                self.lost.popleft()
            elif packet[12:14] == b"\x08\x00":
                for event in self.receiver.receive(*wire.parse(packet)):
                    self.line.send(self.answer(event), self.mac_width, tuser=0)
            else:
                self.others.append(packet)

    def answer(self, event: Event) -> bytes:
        code = 0x1F if event.kind.name == "ACK" else 0x60
        receiver, source = RECEIVER.endpoint(), SOURCE.endpoint()
        under = ethernet(receiver, source) / ip(receiver, source, flags="DF")
        return acknowledge(FIRST_QPN, event.psn, code, event.msn, under=under)

    async def arrived(self, frames: int) -> None:
        await self.side["tx"].wait_until(lambda: len(self.receiver.immediates) >= frames, 50_000)

    async def configure(self) -> None:
        await super().configure()
        limits = RcLimits(window=40, timeout=4, backoff=2, retries=7)
        await self.put("qp[].limits", registers.limits_word(limits))
        await self.put("rc_start", self.config.qps[0].psn)
        await self.put("rc_command", 1)
        for _ in range(3000):
            if await self.get("qp[].rc_state") & 3 == RcState.RUN:
                return
        raise AssertionError("the queue pair does not run")


@cocotb.test()
async def frames_arrive_by_rc_though_packets_are_lost_and_arp_is_answered(dut: Any) -> None:
    bench = RcTopBench(dut, PERIODS[1], Stalls.BOTH)
    bench.lost.extend((3, 11, 14))
    await bench.start()
    await bench.put("station", 0b001)
    request = Ether(src=RECEIVER.mac, dst="ff:ff:ff:ff:ff:ff") / ARP(
        op=1, hwsrc=RECEIVER.mac, psrc=str(RECEIVER.ip), pdst=str(SOURCE.ip)
    )
    frames = 5
    for k in range(frames):
        bench.detect(1)
        if k == 3:
            bench.line.send(bytes(request).ljust(60, b"\0"), bench.mac_width, tuser=0)
        await bench.arrived(k + 1)
        start = k * bench.config.destinations[0].slot_bytes
        pixels = bench.frames[k].pixels
        assert bench.memory[start : start + len(pixels)] == pixels
    assert bench.receiver.writes.max() == 1
    await bench.finish()
    (reply,) = bench.others
    assert len(reply) == 60
    assert Ether(reply)[ARP].hwsrc == SOURCE.mac
    names = ("frames_lost", "mac_underruns", "mac_bad", "mac_lost")
    assert await bench.counters(*(f"counters.{name}" for name in names), SENT) == [0, 0, 0, 0, frames]
    assert await bench.get("station_counters.rc_again") > 0


@cocotb.test()
async def what_the_mac_port_loses_is_in_the_registers(dut: Any) -> None:
    """A threshold that memory does not keep up with; frames of the line that are wrong; and the next packets pass."""
    bench = TopBench(dut, PERIODS[0], Stalls.NONE)
    await bench.start()
    assert await bench.get("capabilities") >> 20 & 1 == 1
    await bench.put("mac_threshold", 1)
    bench.slow_reads(200)
    for _ in range(3):
        bench.line.send(bench.random.randbytes(64), bench.mac_width, tuser=1)
    bench.detect(2)
    await bench.finish()
    marked = sum(item["tuser"] for item in bench.out.items if item["tlast"])
    assert marked
    assert await bench.counters("counters.mac_underruns", "counters.mac_bad") == [marked, 3]
    await bench.put("mac_threshold", 0)
    await bench.side[""].wait(50)
    bench.out.clear()
    bench.detect(2)
    packets = await bench.finish()
    assert_same_packets(packets, bench.at_the_mac({0, 1, 2, 3})[-len(packets) :])
    assert bench.sent(packets) == {2, 3}


@cocotb.test()
async def behind_a_reset_of_core_and_memory_the_first_frame_that_begins_is_sent(dut: Any) -> None:
    """The rest of the one that the reset broke off is swallowed by the crossing, and by nobody else."""
    bench = TopBench(dut, PERIODS[0], Stalls.NONE)
    await bench.start()
    bench.detect(3)
    await bench.side["pixel"].wait_until(lambda: 20 < len(bench.pixels.items) < 40)
    memory = cocotb.start_soon(bench.side["memory"].reset(20))
    await bench.side[""].reset(20)
    await memory
    await bench.side["register"].wait(60)
    while await bench.read(STATUS) & RESETTING:
        pass
    await bench.side["pixel"].wait_until(lambda: not bench.pixels.items)
    await bench.side["tx"].wait(600)
    await bench.configure()
    bench.out.clear()
    bench.detect(4)
    assert await bench.check() == {0, 1, 2, 3}


@cocotb.test()
async def a_reset_of_the_detector_or_of_the_mac_costs_what_is_on_its_way_alone(dut: Any) -> None:
    bench = TopBench(dut, PERIODS[1], Stalls.NONE)
    await bench.start()
    bench.detect(2)
    await bench.side["pixel"].wait_until(lambda: not bench.pixels.items)
    bench.detect(1)
    await bench.side["pixel"].wait_until(lambda: len(bench.pixels.items) < 12)
    await bench.side["pixel"].reset(3)
    await bench.side[""].wait(200)
    bench.detect(2)
    packets = await bench.finish()
    assert bench.sent(packets) == {0, 1, 3, 4}
    names = ("frames", "frames_bad", "frames_lost")
    assert await bench.counters(*(f"counters.{name}" for name in names)) == [4, 1, 0]
    bench.detect(3)
    await bench.side["tx"].wait_until(lambda: now(dut.m_axis_tvalid) == 1)
    bench.rule.forget()
    await bench.side["tx"].reset(4)
    await bench.side["tx"].wait(200)
    await bench.finish()
    bench.out.clear()
    bench.detect(2)
    assert bench.sent(await bench.finish()) == {8, 9}


@pytest.mark.parametrize(("width", "mac_width"), some_of("framelane_top", [(128, 64), (64, 512)]))
def test_framelane_top(width: int, mac_width: int) -> None:
    parameters: dict[str, Any] = {"NumQp": 4, "RcQps": 2, "RcDepth": 32, "MaxSlots": 16, "ClockHz": CLOCK_HZ}
    run("framelane_top", build_args=JITTER, DataW=width, MacW=mac_width, **parameters)
