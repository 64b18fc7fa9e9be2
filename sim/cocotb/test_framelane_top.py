"""framelane_top: every side with a clock of its own that drifts; what the MAC gets is whole, and has no gap."""

from collections import deque
from dataclasses import replace
from typing import Any

import cocotb
import pytest
from scapy.layers.l2 import ARP, Ether

from bench import Stalls, assert_same_packets, run
from clocks_bench import JITTER
from framelane.models.cells import axis
from framelane.models.rc.rc_protocol import RcLimits, RcState
from framelane.models.rc.rc_responder import RcResponder, Region
from framelane.models.registers import registers
from framelane.models.roce_tx import wire
from framelane.models.roce_tx.roce_qp import AckPolicy, Service
from framelane.models.station.roce_rx import FIRST_QPN, Event
from receive_bench import acknowledge, ethernet, ip
from signals import now
from top_bench import BUILDS, SMALL, TopBench
from tx_bench import RECEIVER, SOURCE
from tx_registers import RESETTING, SENT, STATUS
from widths import some_of

FRAME_BAD = 1 << 10
"""Bit of errors: a frame was longer than its slot."""

PERIODS = (
    {"": 4000, "pixel": 5200, "memory": 3300, "register": 10_000, "tx": 3103, "rx": 3106},
    {"": 3100, "pixel": 3104, "memory": 5000, "register": 4100, "tx": 4800, "rx": 4803},
)
"""Periods of all clocks in ps: a line faster than the core, and a slower line beside a slow memory."""


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


@cocotb.test()
async def the_interrupt_stands_in_the_clock_of_the_registers_while_an_error_is_asked_for(dut: Any) -> None:
    bench = TopBench(dut, PERIODS[0], Stalls.NONE)
    levels: list[int] = []
    """Each level that it had, from the start on."""

    def note() -> None:
        level = now(dut.interrupt_o)
        if levels[-1:] != [level]:
            levels.append(level)

    async def settled(level: int) -> None:
        await bench.side["register"].wait_until(lambda: now(dut.interrupt_o) == level, 2000)
        await bench.side["register"].wait(30)

    def too_long() -> None:
        bench.pixels.send(bench.random.randbytes(bench.slot + 256), bench.width, tuser=0)

    await bench.start()
    bench.side["register"].watch(note)
    too_long()
    await bench.finish()
    assert await bench.get("errors") == FRAME_BAD
    await settled(0)
    await bench.put("interrupt_mask", FRAME_BAD)
    await settled(1)
    assert await bench.get("interrupt") == FRAME_BAD
    await bench.put("errors", FRAME_BAD)
    await settled(0)
    too_long()
    await settled(1)
    await bench.put("interrupt_mask", 0)
    await settled(0)
    assert levels == [0, 1, 0, 1, 0]


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


@cocotb.test()
async def a_frame_that_is_read_from_beyond_the_memory_is_an_error(dut: Any) -> None:
    """The first two slots are the memory's last ones; all three ports have bursts of MaxBurst, and none is longer."""
    bits, longest = len(dut.m_axi_araddr), int(dut.MaxBurst.value)
    if bits == 64:
        return
    bench = TopBench(dut, PERIODS[0], Stalls.NONE)
    bench.planes.data = bytearray(bench.correct())
    bench.base = (1 << bits) - 2 * bench.slot
    await bench.start()
    assert await bench.get("sizes") >> 25 == bits
    bench.detect(2)
    await bench.finish()
    assert await bench.get("errors") == 0
    bench.detect(1)
    assert await bench.check() == {0, 1, 2}
    assert await bench.get("errors") == 1 << 15  # bad_address
    found = {rules.prefix: max(rules.longest.values()) for rules in bench.rules if not rules.is_lite}
    assert found == dict.fromkeys(("m_axi", "m_axi_corrected", "m_axi_constant"), longest)


@pytest.mark.parametrize("build", some_of("framelane_top", BUILDS))
def test_framelane_top(build: dict[str, Any]) -> None:
    run("framelane_top", build_args=JITTER, **build, **SMALL)
