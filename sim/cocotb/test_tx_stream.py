"""tx_stream: a detector that does not wait, a memory, a link; what that is too slow for is lost whole, and counted.

It runs inside framelane_top, of one clock: its packets pass a mac_port, and have no gap there; or there is none.
"""

import logging
from collections import Counter
from dataclasses import replace
from typing import Any

import cocotb
import numpy as np
import pytest
from cocotbext.axi import AxiBus, AxiRam, AxiRamWrite, AxiWriteBus

from axi_lite import AxiLite
from bench import ALL_STALLS, STALL_SHARE, Bench, Stalls, assert_same_packets, run
from detector import CONSTANTS, Frame, StreamPlan
from framelane.driver.simulated.ports import frame_info_t
from framelane.models.jungfrau import jf_constants
from framelane.models.jungfrau.jf_fixed import FixedCalibration
from framelane.models.memory.frame_store import FrameInfo
from framelane.models.placement import trailer
from framelane.models.roce_tx import wire
from gap_rule import GapRule
from late_reads import MOST, LateReads
from plane_memory import PlaneMemory
from receive_bench import line
from signals import now
from tx_bench import session
from tx_registers import (
    ABORT,
    ARM,
    COMMAND,
    CONTROL,
    COPYING,
    MAP,
    MEMORY_STUCK,
    RESET,
    RESETTING,
    SENT,
    SKIPPED,
    SNAPSHOT,
    STATUS,
)
from widths import some_widths

IMAGES = [f"counters.{name}" for name in ("frames", "frames_bad", "mismatches", "constant_errors")]
STORED = [f"counters.{name}" for name in ("frames", "frames_lost", "frames_bad")]
MEMORY = 1 << 20
RESET_CYCLES = 4
"""The least that a reset lasts (docs/integrating/README.md)."""


class StreamBench(Bench, StreamPlan):
    """The transmitter between a detector, cocotbext-axi's memory, and a sink that may be slow."""

    def __init__(self, dut: Any, stalls: Stalls, slots: int = 4) -> None:
        Bench.__init__(self, dut, stalls)
        StreamPlan.__init__(self, session(rows=12, columns=101, mtu=1024).tx_config(), slots)
        self.width = len(dut.m_axis_tdata)
        self.pixels, self.out = self.source("s_axis_pixel"), self.sink("m_axis")
        self.registers = AxiLite(self)
        self.has_port = bool(int(dut.MacPort.value))
        self.rule, self.core = GapRule(self, asserts=self.has_port), GapRule(self, "core", asserts=False)
        """At the MAC, where a gap fails the test, and in front of the mac_port; without one both are the same."""
        self.line = line(self, stalls, "s_axis_rx")
        dut.link_up_i.value = 0
        dut.s_axis_frame_tvalid.value = 1
        for prefix in ("m_axi", "m_axi_corrected"):
            logging.getLogger(f"cocotb.{dut._name}.{prefix}").setLevel(logging.ERROR)
        self.ram = AxiRam(AxiBus.from_prefix(dut, "m_axi"), dut.clk, dut.rst, size=MEMORY)
        bus = AxiWriteBus.from_prefix(dut, "m_axi_corrected")
        corrected = AxiRamWrite(bus, dut.clk, dut.rst, size=MEMORY, mem=self.ram.write_if.mem)
        self.planes = PlaneMemory(self, "m_axi_constant", self.width, CONSTANTS, b"", stalls.source)
        self.reads = LateReads(self, "m_axi", self.ram.read_if.r_channel)
        self.writers = (self.ram.write_if, corrected)
        self.memory_stands = False
        if stalls.source:
            for writes in self.writers:
                for channel in (writes.w_channel, writes.b_channel):
                    channel.set_pause_generator(iter(lambda: self.random.random() < STALL_SHARE, None))
            self.reads.pauses = iter(lambda: self.random.random() < STALL_SHARE, None)

    def correct(self) -> bytes:
        """Also what is in the memory of the constants."""
        constants = super().correct()
        self.planes.data = bytearray(constants)
        return constants

    async def write(self, offset: int, *words: int) -> None:
        for k, word in enumerate(words):
            await self.registers.write(offset + 4 * k, word)

    async def ended(self, reads: int) -> None:
        """Run until a reset has ended; fail where so many reads of the status do not see it."""
        for _ in range(reads):
            if not await self.registers.read(STATUS) & RESETTING:
                return
        raise AssertionError("a reset does not end")

    async def ready(self) -> None:
        await self.ended(10_000)
        await self.drained()

    async def drained(self) -> None:
        """Run until the MAC has had all that has left the core."""
        quiet = 0
        while quiet < 60:
            await self.step()
            quiet = 0 if now(self.dut.m_axis_tvalid) else quiet + 1

    async def start(self) -> None:
        await self.reset()
        await self.ready()
        await self.configure()

    async def configure(self) -> None:
        self.restart()
        for offset, word in self.writes():
            await self.registers.write(offset, word)

    def detect(self, count: int) -> None:
        """Frames of the detector, one behind the other without a pause."""
        for _ in range(count):
            frame = self.next_frame(self.random)
            self.pixels.send(frame.pixels, self.width, tuser=frame_info_t(frame.info))

    async def counters(self, *names: str) -> list[int]:
        await self.write(COMMAND, SNAPSHOT)
        while await self.registers.read(STATUS) & COPYING:
            pass
        read, places = self.registers.read, [MAP[name].offset for name in names]
        return [await read(place) | await read(place + 4) << 32 for place in places]

    async def finish(self) -> list[bytes]:
        """Run until all has left; the packets."""
        await self.until(lambda: not self.pixels.items, 200_000)
        for _ in range(100):
            await self.step()
        await self.until(lambda: bool(now(self.dut.idle_o)), 200_000)
        await self.drained()
        assert not any(item["tuser"] for item in self.out.items), "a packet is marked as wrong"
        assert not now(self.dut.s_axis_frame_tready), "a frame of another source than the store is taken"
        return self.out.packets(self.width)


@cocotb.test()
@cocotb.parametrize(stalls=ALL_STALLS)
async def what_leaves_equals_the_model_and_what_does_not_is_counted(dut: Any, stalls: Stalls) -> None:
    bench = StreamBench(dut, stalls)
    await bench.start()
    bench.detect(12)
    packets = await bench.finish()
    sent = bench.sent(packets)
    assert_same_packets(packets, bench.expected(sent))
    lost = 12 - len(sent)
    assert await bench.counters(*STORED, SENT) == [len(sent), lost, 0, len(sent)]


@cocotb.test()
@cocotb.parametrize(latency=[0, 1, 20, 300, 1000], stalls=[Stalls.NONE, Stalls.BOTH])
async def the_core_stops_inside_packets_and_no_packet_has_a_gap_at_the_mac(
    dut: Any, latency: int, stalls: Stalls
) -> None:
    """The corrected image beside the raw one: it lies behind what memory has read ahead."""
    bench = StreamBench(dut, stalls, slots=8)
    bench.reads.latency = lambda: latency
    bench.correct()
    await bench.start()
    bench.detect(3)
    packets = await bench.finish()
    assert bench.sent(packets) == {0, 1, 2}
    assert_same_packets(packets, bench.expected({0, 1, 2}))
    assert bench.rule.gaps == (0 if bench.has_port else bench.core.gaps)
    if latency >= 20 or stalls.source:
        assert bench.core.gaps > latency, "the core never stopped for long: nothing is shown"


@cocotb.test()
@cocotb.parametrize(stalls=[Stalls.SINK, Stalls.BOTH])
async def a_latency_that_is_drawn_for_each_burst_makes_no_gap_at_the_mac(dut: Any, stalls: Stalls) -> None:
    """Frame memory has that latency. The MAC pauses at random."""
    bench = StreamBench(dut, stalls, slots=8)
    bench.reads.any_latency()
    bench.correct()
    await bench.start()
    for _ in range(4):
        bench.detect(4)
        packets = await bench.finish()
    everything = set(range(16))
    assert bench.sent(packets) == everything
    assert_same_packets(packets, bench.expected(everything))
    assert bench.rule.gaps == (0 if bench.has_port else bench.core.gaps)
    assert bench.reads.longest > 0.9 * MOST, "no burst was late: nothing is shown"
    assert bench.core.gaps > MOST, "the core never stopped for long: nothing is shown"


def by_frame(packets: list[bytes]) -> dict[int, list[bytes]]:
    """Packets by the detector's number of their frame, which the trailer behind them tells."""
    found: dict[int, list[bytes]] = {}
    before: list[bytes] = []
    for packet in packets:
        headers, payload = wire.parse(packet)
        before.append(packet)
        end = trailer.unpack(payload) if headers.imm is not None else None
        if end:
            found.setdefault(end.detector_frame, []).extend(before)
            before = []
    return found


@cocotb.test()
@cocotb.parametrize(stalls=ALL_STALLS)
async def each_flow_has_the_raw_or_the_corrected_image_as_it_says(dut: Any, stalls: Stalls) -> None:
    bench = StreamBench(dut, stalls)
    bench.correct()
    await bench.start()
    bench.detect(8)
    packets = await bench.finish()
    sent = bench.sent(packets)
    assert len(sent) > 2
    assert_same_packets(packets, bench.expected(sent))
    assert {wire.parse(packet)[0].dest_qpn for packet in packets} == {0x11, 0x22}
    assert await bench.counters(*IMAGES) == [len(sent), 0, 0, 0]
    await bench.write(COMMAND, RESET)
    await bench.ready()
    bench.out.clear()
    bench.correction = None
    await bench.configure()
    bench.detect(2)
    packets = await bench.finish()
    raw = [[p for p in side if wire.parse(p)[0].dest_qpn == 0x11] for side in (packets, bench.expected({0, 1}))]
    assert raw[1]
    assert_same_packets(*raw)


@cocotb.test()
@cocotb.parametrize(stalls=[Stalls.NONE, Stalls.SOURCE])
async def frames_that_have_begun_are_corrected_to_their_end_after_disarming(dut: Any, stalls: Stalls) -> None:
    bench = StreamBench(dut, stalls, slots=8)
    bench.correct()
    await bench.start()
    bench.detect(5)
    await bench.until(lambda: len(bench.pixels.accepted) > 2.5 * len(bench.pixels.items))
    await bench.write(CONTROL, 0)
    packets = await bench.finish()
    sent = bench.sent(packets)
    assert {0, 1} <= sent
    assert 4 not in sent
    bench.frames = bench.frames[: max(sent) + 1]
    assert_same_packets(packets, bench.expected(sent))


@cocotb.test()
async def a_reset_waits_for_the_reads_of_constants_and_the_next_run_has_its_own(dut: Any) -> None:
    bench = StreamBench(dut, Stalls.NONE)
    bench.correct()
    bench.planes.delay = 97
    await bench.start()
    for seed in (6, 7):
        await bench.write(COMMAND, RESET)
        await bench.ready()
        assert not any(port.beats for port in bench.planes.ports), "a read of constants is outstanding"
        assert bench.correction
        fixed = bench.correction.fixed
        words = np.random.default_rng(seed).integers(0, 0x10000, (2, *fixed.pedestal.shape), np.uint16)
        bench.correction = replace(bench.correction, fixed=FixedCalibration(words[0], words[1], fixed.shift))
        bench.planes.data = bytearray(jf_constants.pack(bench.correction.fixed, bench.correction.pitch))
        await bench.configure()
        for _ in range(bench.random.randrange(40, 400)):
            await bench.step()
    bench.planes.delay = 0
    bench.detect(3)
    packets = await bench.finish()
    assert_same_packets(packets, bench.expected(bench.sent(packets)))


@cocotb.test()
async def idle_waits_for_constants_that_memory_owes_behind_an_abort(dut: Any) -> None:
    bench = StreamBench(dut, Stalls.NONE)
    bench.correct()
    bench.planes.delay = 98
    await bench.start()

    def owed() -> bool:
        return any(port.beats for port in bench.planes.ports)

    quiet: list[bool] = []
    """Whether it was idle, of each cycle behind the start."""
    bench.watch(lambda: quiet.append(bool(now(dut.idle_o) and owed())))
    await bench.until(owed)
    await bench.write(COMMAND, ABORT)
    await bench.ended(400)
    assert owed(), "the abort has waited for them"
    bench.planes.delay = 0
    await bench.until(lambda: bool(now(dut.idle_o)), 4000)
    assert not any(quiet), "idle while memory owes constants"
    await bench.configure()
    bench.detect(2)
    packets = await bench.finish()
    assert_same_packets(packets, bench.expected(bench.sent(packets)))


@cocotb.test()
@cocotb.parametrize(correct=[False, True])
async def an_abort_waits_for_no_write_and_idle_for_all_that_memory_owes(dut: Any, correct: bool) -> None:
    """The rules of AXI hold for what the memory gets behind it, too."""
    bench = StreamBench(dut, Stalls.NONE)
    if correct:
        bench.correct()
    await bench.start()
    for writes in bench.writers:
        for channel in (writes.w_channel, writes.b_channel):
            channel.set_pause_generator(iter(lambda: bench.memory_stands, None))
    bench.detect(4)
    await bench.until(lambda: bool(now(dut.m_axi_wvalid)))
    bench.memory_stands = True
    for _ in range(1500):
        await bench.step()
    assert not now(dut.idle_o)
    await bench.write(COMMAND, ABORT)
    await bench.ended(400)
    assert await bench.registers.read(STATUS) & MEMORY_STUCK
    assert not now(dut.idle_o)
    bench.memory_stands = False
    await bench.until(lambda: bool(now(dut.idle_o)) and not bench.pixels.items, 4000)
    assert not await bench.registers.read(STATUS) & MEMORY_STUCK
    await bench.drained()
    bench.out.clear()
    await bench.configure()
    bench.detect(3)
    packets = await bench.finish()
    assert len(bench.sent(packets)) > 1
    assert_same_packets(packets, bench.expected(bench.sent(packets)))


@cocotb.test()
async def a_frame_of_another_length_than_its_constants_is_bad(dut: Any) -> None:
    bench = StreamBench(dut, Stalls.NONE, slots=16)
    bench.correct()
    await bench.start()
    bench.detect(3)
    size = bench.config.flows[0].payload_bytes
    for bytes_ in (size + bench.width // 8, size - bench.width // 8, size + 2, size - 2, 2):
        info = FrameInfo(len(bench.frames), 0, 0)
        bench.frames.append(Frame(info, bench.random.randbytes(bytes_)))
        bench.pixels.send(bench.frames[-1].pixels, bench.width, tuser=frame_info_t(info))
    bench.detect(2)
    packets = await bench.finish()
    assert bench.sent(packets) == {0, 1, 2, 8, 9}
    assert await bench.counters(*IMAGES) == [5, 5, 5, 0]
    assert_same_packets(packets, bench.expected(set(range(10))))
    assert (bench.model.store.bad, bench.model.store.mismatches) == (5, 5)


@cocotb.test()
@cocotb.parametrize(changes=[{"slot": -128}, {"offset": -128}, {"bytes": 0}])
async def a_slot_without_room_for_both_images_takes_no_frame(dut: Any, changes: dict[str, int]) -> None:
    """As no driver writes the registers: frames are bad, a reset is not held up, nothing outside slots is written."""
    bench = StreamBench(dut, Stalls.NONE)
    bench.correct()
    await bench.start()
    await bench.write(CONTROL, 0)
    assert bench.correction
    await bench.write(MAP["store_slot_bytes"].offset, bench.slot + changes.get("slot", 0))
    await bench.write(MAP["corrected_offset"].offset, bench.correction.offset + changes.get("offset", 0))
    if "bytes" in changes:
        await bench.write(MAP["constants_bytes"].offset, 0)
    before = bench.ram.read(0, MEMORY)
    await bench.write(CONTROL, ARM)
    bench.detect(6)
    assert await bench.finish() == []
    assert await bench.counters("counters.frames", "counters.frames_bad", "counters.mismatches") == [0, 6, 6]
    written = [k for k, (a, b) in enumerate(zip(before, bench.ram.read(0, MEMORY), strict=True)) if a != b]
    assert all(bench.base <= k < bench.base + bench.slots * bench.slot for k in written)
    await bench.write(COMMAND, RESET)
    await bench.ready()


@cocotb.test()
async def pixels_that_wait_for_constants_are_counted(dut: Any) -> None:
    bench = StreamBench(dut, Stalls.NONE)
    bench.correct()
    bench.planes.delay = 80
    await bench.start()
    bench.detect(3)
    await bench.finish()
    waited = bench.pixels.accepted[-1] - bench.pixels.accepted[0] + 1 - len(bench.pixels.accepted)
    counted = (await bench.counters("counters.pixel_stalls"))[0]
    assert waited > 20
    assert waited <= counted < waited + 50, "those before the first beat are counted too"


@cocotb.test()
async def a_link_that_is_too_slow_loses_whole_frames_and_the_counts_add_up(dut: Any) -> None:
    bench = StreamBench(dut, Stalls.NONE, slots=3)
    bench.out._stall = lambda: bench.random.random() < 0.9
    await bench.start()
    bench.detect(30)
    packets = await bench.finish()
    sent = bench.sent(packets)
    assert_same_packets(packets, bench.expected(sent))
    frames, lost, counted, skipped = await bench.counters("counters.frames", "counters.frames_lost", SENT, SKIPPED)
    assert (frames, lost, counted) == (len(sent), 30 - len(sent), len(sent))
    assert 3 <= len(sent) < 20
    assert skipped == max(sent) + 1 - len(sent), "the trailers say what is missing in front of them"
    last = [trailer.unpack(p) for h, p in map(wire.parse, packets) if h.imm is not None][-1]
    assert last
    assert last.frames_dropped == skipped
    bench.out._stall = lambda: False
    bench.detect(2)
    await bench.finish()
    assert (await bench.counters(SENT))[0] == len(sent) + 2, "and the next ones pass"


@cocotb.test()
@cocotb.parametrize(correct=[False, True])
async def a_detector_that_runs_all_the_time_does_not_disturb_a_reset(dut: Any, correct: bool) -> None:
    """Reset, configure, arm, while frames come: those of the new run are whole, and like those of a first one."""
    bench = StreamBench(dut, Stalls.NONE)
    if correct:
        bench.correct()
        bench.planes.delay = 30
    for cycles in (0, 55, 130):
        await bench.start() if cycles == 0 else await bench.configure()
        bench.detect(160 if correct else 40)
        for _ in range(cycles + 400):
            await bench.step()
        await bench.write(COMMAND, RESET)
        await bench.ready()
        bench.out.clear()
        frames = list(bench.frames)
        await bench.configure()
        bench.frames.extend(frames)
        packets = await bench.finish()
        sent = bench.sent(packets)
        assert len(sent) > 3
        bench.frames = [frame for frame in bench.frames if frame.info.number >= min(sent)]
        assert_same_packets(packets, bench.expected(sent))
        await bench.write(COMMAND, RESET)
        await bench.ready()
        bench.out.clear()


@cocotb.test()
@cocotb.parametrize(correct=[False, True])
async def a_detector_that_stops_in_mid_frame_does_not_hold_up_a_reset(dut: Any, correct: bool) -> None:
    bench = StreamBench(dut, Stalls.NONE)
    if correct:
        bench.correct()
        bench.planes.delay = 60
    await bench.start()
    bench.detect(2)
    rest = [bench.pixels.items.pop() for _ in range(5)][::-1]
    await bench.until(lambda: not bench.pixels.items)
    for _ in range(300):
        await bench.step()
    await bench.write(COMMAND, RESET)
    for _ in range(4000 if correct else 1000):
        await bench.step()
    assert not await bench.registers.read(STATUS) & RESETTING
    bench.out.clear()
    await bench.configure()
    bench.pixels.items.extend(rest)
    bench.detect(3)
    packets = await bench.finish()
    assert bench.sent(packets) == {0, 1, 2}
    assert_same_packets(packets, bench.expected({0, 1, 2}))
    assert await bench.counters(*STORED, SENT) == [3, 0, 0, 3]


@cocotb.test()
@cocotb.parametrize(correct=[False, True])
async def behind_the_shortest_reset_the_next_run_is_as_the_first_one(dut: Any, correct: bool) -> None:
    """In the middle of frames, packets and reads; memory is reset with the core, and owes nothing."""
    bench = StreamBench(dut, Stalls.NONE)
    bench.reads.latency = lambda: 40
    if correct:
        bench.correct()
        bench.planes.delay = 30
    await bench.start()
    cut = Counter[str]()
    for k in range(14):
        bench.detect(4)
        beats = len(bench.pixels.items) // 4
        for _ in range(beats // 2 + k * beats // 4 + bench.random.randrange(200)):
            await bench.step()
        cut["packets"] += bench.rule._inside
        cut["reads"] += bool(bench.reads._due)
        cut["constants"] += any(port.beats for port in bench.planes.ports)
        bench.planes._set(rvalid=0)  # in reset at once, as the other memory is
        await bench.reset(RESET_CYCLES)
        bench.rule.forget()
        bench.pixels.send(bench.random.randbytes(8), bench.width)  # the rest of the frame that had begun
        await bench.ready()
        await bench.configure()
        bench.out.clear()
        bench.detect(2)
        packets = await bench.finish()
        assert bench.sent(packets) == {0, 1}
        assert_same_packets(packets, bench.expected({0, 1}))
        assert await bench.counters(*STORED, SENT) == [2, 0, 0, 2]
    assert cut["packets"] > 1
    assert cut["reads"] > 1
    assert cut["constants"] > 1 or not correct


BUILD: dict[str, Any] = dict.fromkeys(("PixelClock", "MemoryClock", "RegisterClock", "MacClock", "Station", "Rc"), 0)


@pytest.mark.parametrize("width", some_widths("tx_stream"))
def test_tx_stream(width: int) -> None:
    run("tx_stream", top="framelane_top", DataW=width, MacW=width, MinBytes=0, **BUILD)


def test_tx_stream_without_a_mac_port() -> None:
    run("tx_stream", top="framelane_top", DataW=128, MacW=128, MacPort=0, **BUILD)
