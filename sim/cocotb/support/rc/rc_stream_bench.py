"""tx_stream with RC: a detector that does not wait, the frame store, and 4 receivers, one silent, dying, or slow.

It runs inside framelane_top, of one clock: its packets pass a mac_port, and have no gap there. No model of the
transmitter takes part.
"""

import logging
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any

import numpy as np
from cocotbext.axi import AxiBus, AxiRam

from axi_lite import AxiLite
from axi_ports import nobody_behind
from bench import Bench, Stalls
from detector import StreamPlan
from framelane.driver.simulated.ports import frame_info_t
from framelane.models.placement import trailer
from framelane.models.rc.lossy_network import LinkImpairments
from framelane.models.rc.rc_protocol import RcLimits, RcReason, RcState
from framelane.models.rc.rc_responder import Manner
from framelane.models.rc.rc_timer import timeout_ticks
from framelane.models.roce_tx.roce_qp import AckPolicy, Service
from gap_rule import GapRule
from late_reads import LateReads
from rc_receivers import RcReceivers
from receive_bench import line
from signals import now
from tx_bench import session
from tx_registers import COMMAND, COPYING, DROPPED, FAILED, MAP, RESETTING, SENT, SNAPSHOT, STATUS

QPS = 4
TICK = 11
"""Cycles of a tick of 1.024 us, as the registers have it: the time-outs of RC are short then."""
CLOCK_HZ = 10_000_000
ROWS, BEATS = 8, 128
"""Lines of a frame, and beats of it at any width: 4 packets and a trailer."""
LATENCY = 12
"""Cycles by which memory answers later than cocotbext-axi's does: without a mac_port packets have gaps then."""
SLOT_LOG2 = 14
"""Bytes of memory for a slot of the store, more than a frame of 512 bits takes."""
LINE = 200
"""Cycles that a frame takes the line, at most."""
PERIOD = 300
"""Cycles from one frame of the detector to the next. They go to the receivers in turn."""
TROUBLED = 2
LIVE = tuple(k for k in range(QPS) if k != TROUBLED)
PACKETS = 5
"""Packets of a frame, its trailer among them."""
LIMITS = {
    4: RcLimits(window=PACKETS, timeout=1, backoff=0, retries=1),
    8: RcLimits(window=PACKETS, timeout=2, backoff=0, retries=2),
    16: RcLimits(window=PACKETS, timeout=3, backoff=1, retries=2),
    64: RcLimits(window=PACKETS, timeout=5, backoff=1, retries=2),
    1024: RcLimits(window=PACKETS, timeout=9, backoff=1, retries=2),
}
"""By the slots of the store: most of them fill until a queue pair gives up.

The window is a frame: what is sent again takes the line as long as one.
"""
FILLED = 0.7
"""The share of the slots that are in use then, at least."""
BUILD: dict[str, Any] = {
    **{"NumQp": QPS, "RcQps": QPS, "ClockHz": CLOCK_HZ, "Station": 1, "Rc": 1, "Correct": 0, "MinBytes": 0},
    **dict.fromkeys(("PixelClock", "MemoryClock", "RegisterClock", "MacClock"), 0),
}
"""Beside its width, the slots of the store and the depth of RC's rings."""


@dataclass(frozen=True)
class Counts:
    """Frames lost at the store; of the receiver in trouble those sent, failed, dropped."""

    lost: int
    sent: int
    failed: int
    dropped: int


class Trouble(Enum):
    """What one receiver does."""

    SILENT = "silent from the start"
    DIES = "answers no more, in the middle"
    SLOW = "answers late"


def slowness(slots: int) -> int:
    """Cycles after which the slow receiver answers: nearly half the store fills."""
    return (slots // 2 - 1) * PERIOD


def slow_limits(slots: int) -> RcLimits:
    """Limits by which a queue pair can wait for the slow receiver, and sends as many frames as come for it."""
    timeout = next(exponent for exponent in range(20) if timeout_ticks(exponent) * TICK > slowness(slots) + PERIOD)
    return RcLimits(PACKETS * (slowness(slots) // (QPS * PERIOD) + 2), timeout, backoff=0, retries=1)


class RcStreamBench(Bench, StreamPlan, RcReceivers):
    """The transmitter between a detector, cocotbext-axi's memory, and receivers of RC behind a network."""

    def __init__(self, dut: Any, slots: int) -> None:
        Bench.__init__(self, dut)
        self.width = len(dut.m_axis_tdata)
        scale = self.width // 64
        columns = BEATS * 4 * scale // ROWS
        ring_slots = max(64, slots)  # of a receiver: more than frames come for it, so that none is written twice
        config = session(rows=ROWS, columns=columns, mtu=256 * scale, n_slots=ring_slots).tx_config()
        known, ring, flow = config.qps[0], config.destinations[0], config.flows[0]
        known = replace(known, service=Service.RC, ack_policy=AckPolicy.LAST)
        numbers = [(0x11 + k, self.random.getrandbits(24), 0xCAFE + k) for k in range(QPS)]
        qps = tuple(replace(known, dest_qpn=qpn, psn=psn, rkey=rkey) for qpn, psn, rkey in numbers)
        rings = tuple(replace(ring, qp=k, base=ring.base + (k << 32)) for k in range(QPS))
        flow = replace(flow, destinations=QPS, max_length=flow.payload_bytes // 2)
        config = replace(config, qps=qps, destinations=rings, flows=(flow,))
        StreamPlan.__init__(self, config, slots)
        self.pixels, self.out, self.registers = self.source("s_axis_pixel"), self.sink("m_axis"), AxiLite(self)
        self.line = line(self, Stalls.NONE, "s_axis_rx")
        GapRule(self)
        for name in ("link_up_i", "s_axis_frame_tvalid"):
            getattr(dut, name).value = 0
        for prefix in ("m_axi_corrected", "m_axi_constant"):
            nobody_behind(dut, prefix)
        logging.getLogger(f"cocotb.{dut._name}.m_axi").setLevel(logging.ERROR)
        self.ram = AxiRam(AxiBus.from_prefix(dut, "m_axi"), dut.clk, dut.rst, size=slots << SLOT_LOG2)
        LateReads(self, "m_axi", self.ram.read_if.r_channel).latency = lambda: LATENCY
        self.patience = 50_000 + 2 * slots * PERIOD
        """Cycles in which anything that is waited for happens."""
        self.fresh()
        self.watch(self._world)

    def fresh(self) -> None:
        """Receivers that have heard nothing, and a detector that stands."""
        RcReceivers.__init__(
            self, self.config.qps, self.config.destinations, LinkImpairments(delay=10), [Manner.IBA] * QPS
        )
        self.arrived: list[list[int]] = [[] for _ in range(QPS)]
        """For each receiver, the cycles in which frames were whole, behind the start."""
        self.dead: set[int] = set()
        """Receivers that do not get all frames."""
        self.runs, self.began = False, self.cycle

    async def start(self, limits: RcLimits) -> None:
        """Reset, configure, and let the detector run."""
        await self.reset(4)
        self.fresh()
        while await self.registers.read(STATUS) & RESETTING:
            pass
        self.restart()
        for offset, word in self.writes():
            await self.registers.write(offset, word)
        await self.arm_all(limits)
        self.runs, self.began = True, self.cycle

    def _world(self) -> None:
        """One cycle of the detector, of the network and of the receivers."""
        if self.runs and self.cycle - self.began >= len(self.frames) * PERIOD:
            frame = self.next_frame(self.random)
            self.pixels.send(frame.pixels, self.width, tuser=frame_info_t(frame.info))
        if self.out.items and self.out.items[-1]["tlast"]:
            self.remote.send(self.cycle, self.out.packets(self.width))
            self.out.items.clear()
        for packet in self.remote.due(self.cycle):
            self.line.send(packet, self.width, tuser=0)
        for k, arrived in enumerate(self.arrived):
            arrived += [self.cycle - self.began] * (len(self.of(k).immediates) - len(arrived))

    async def detected(self, frames: int) -> None:
        """Run until the detector has begun to send so many more frames."""
        wanted = len(self.frames) + frames
        await self.until(lambda: len(self.frames) >= wanted, self.patience)

    async def finish(self) -> None:
        """The detector stops; run until no slot is in use."""
        self.runs = False
        await self.until(lambda: not self.pixels.items, self.patience)
        for _ in range(100):
            await self.step()
        await self.until(lambda: bool(now(self.dut.idle_o)), self.patience)

    @property
    def begun(self) -> int:
        """Frames of which the store has had a beat."""
        return -(-len(self.pixels.accepted) // BEATS)

    def silence(self) -> int:
        """The receiver in trouble answers no more from now on. The number of the first frame that it does not get."""
        self.dead.add(TROUBLED)
        self.remote.silent.add(self.number(TROUBLED))
        return len(self.of(TROUBLED).immediates) * QPS + TROUBLED

    async def until_error(self) -> int:
        """Run until the queue pair of the one in trouble gives up: how many cycles behind the start."""
        start = self.cycle
        while (await self.state(TROUBLED))[0] is not RcState.ERROR:
            assert self.cycle - start < self.patience
        return self.cycle - self.began

    async def counters(self, *names: str, index: int = 0) -> list[int]:
        """Counters of this moment; of entry `index` where they are in a table."""
        await self.registers.write(COMMAND, SNAPSHOT)
        while await self.registers.read(STATUS) & COPYING:
            pass
        read, places = self.registers.read, [MAP[name].offset_of(index) for name in names]
        return [await read(place) | await read(place + 4) << 32 for place in places]

    def whole(self, k: int) -> list[int]:
        """The detector's numbers of the frames that receiver k has whole, in the order of their ends.

        They lie in place with all their bytes, each of which was written once. No other byte was, but of the frame that
        was under way when k died.
        """
        receiver, ring, size = self.of(k), self.rings[k], self.config.flows[0].payload_bytes
        expected = np.zeros_like(receiver.writes)
        numbers = []
        for immediate in receiver.immediates:
            at = (immediate & 0xFFFFFF) % ring.n_slots * ring.slot_bytes
            end = at + ring.trailer_offset
            found = trailer.unpack(bytes(self.memories[k][end : end + trailer.TRAILER_BYTES]))
            assert found
            assert self.memories[k][at : at + size] == self.frames[found.detector_frame].pixels
            numbers.append(found.detector_frame)
            expected[at : at + size] = expected[end : end + trailer.TRAILER_BYTES] = 1
        others = receiver.writes.astype(int) - expected
        if k in self.dead:
            under_way = others[len(numbers) % ring.n_slots * ring.slot_bytes :][: ring.slot_bytes]
            assert set(under_way) <= {0, 1}
            under_way[:] = 0
        assert not others.any(), "bytes were written twice, or in a wrong place"
        assert numbers == sorted(set(numbers)), "frames came twice, or not in order"
        assert all(number % QPS == k for number in numbers)
        return numbers

    async def check(self) -> Counts:
        """Every frame is accounted for, by the counters and by what the receivers have; those that live have all."""
        late = max(self.pixels.accepted[::BEATS][n] - self.began - n * PERIOD for n in range(len(self.frames)))
        assert late < PERIOD - BEATS, "the detector waited"
        names = ("counters.frames", "counters.frames_lost", "counters.frames_bad")
        frames, lost, bad = await self.counters(*names)
        counts = [await self.counters(SENT, FAILED, DROPPED, index=k) for k in range(QPS)]
        assert (frames + lost, bad) == (len(self.frames), 0)
        assert sum(map(sum, counts)) == frames
        for k, (sent, failed, dropped) in enumerate(counts):
            numbers = self.whole(k)
            if k in self.dead:
                assert sent <= len(numbers) <= sent + failed
            else:
                assert (len(numbers), failed, dropped) == (sent, 0, 0), "a live receiver lacks frames that were taken"
            if not lost:
                own = range(k, len(self.frames), QPS)
                assert sent + failed + dropped == len(own)
                assert numbers == [*own[: len(numbers)]]
        return Counts(lost, *counts[TROUBLED])

    def live_arrivals(self, until: int = 1 << 62) -> list[int]:
        """Cycles in which live receivers had frames whole, up to a cycle."""
        return sorted(cycle for k in LIVE for cycle in self.arrived[k] if cycle <= until)


ALONE: dict[int, list[int]] = {}
"""By the slots of the store, the cycles in which those that stay live had frames whole while all were."""


async def alone(bench: RcStreamBench) -> list[int]:
    """What is in `ALONE`; the first test of so many slots measures it."""
    if bench.slots not in ALONE:
        frames = 2 * bench.slots + 8
        await bench.start(LIMITS[bench.slots])
        await bench.detected(frames)
        await bench.finish()
        assert await bench.check() == Counts(0, frames // QPS, 0, 0)
        ALONE[bench.slots] = bench.live_arrivals()
    return ALONE[bench.slots]


def assert_as_soon_as_alone(bench: RcStreamBench, reference: list[int], until: int) -> None:
    """As many frames came to those that stay live up to a cycle as came while all were, and none much later.

    The line takes what is sent again, too, so a frame may come as much later as one takes the line. Those that came so
    shortly before the end while all were live may be missing.
    """
    arrivals = bench.live_arrivals(until)
    late = max(came - before for came, before in zip(arrivals, reference, strict=False))
    alone, surely = (sum(cycle <= end for cycle in reference) for end in (until, until - LINE))
    bench.dut._log.info(f"{len(arrivals)} live frames in {until} cycles, alone {alone}, {late} cycles late at most")
    assert late <= LINE, "a live receiver waits for another"
    assert len(arrivals) >= surely > 0, "a live receiver waits for another"


async def beside_a_dead_receiver(dut: Any, slots: int, trouble: Trouble) -> None:
    """It costs the live ones no frame and no time, and its slots come back.

    Behind the error as many frames are taken as there are slots, and more.
    """
    bench = RcStreamBench(dut, slots)
    reference = await alone(bench)
    await bench.start(LIMITS[slots])
    if trouble is Trouble.DIES:
        await bench.detected(slots // 2 + 4)
    first = bench.silence()
    error = await bench.until_error()
    begun, held = bench.begun, bench.begun - first
    assert_as_soon_as_alone(bench, reference, error)
    assert await bench.state(TROUBLED) == (RcState.ERROR, RcReason.TIMEOUT)
    await bench.detected(slots + 8)
    assert await bench.counters("counters.frames_lost") == [0], "slots that it held have not come back"
    await bench.finish()
    counts = await bench.check()
    dut._log.info(
        f"{slots} slots, {trouble.value}: in error after {error} cycles, {held} slots in use, "
        f"{counts}, {len(bench.frames)} frames"
    )
    assert FILLED * slots <= held <= slots, "the limits do not fit the store: nothing is shown"
    assert counts.lost == 0
    assert counts.sent == len(bench.of(TROUBLED).immediates) == first // QPS
    own = len(range(TROUBLED, begun, QPS))
    assert counts.sent + counts.failed in (own - 1, own), "the last one may have come whole behind the error"
    assert counts.failed


async def beside_a_slow_receiver(dut: Any, slots: int) -> None:
    """It gets all its frames, and costs the others no frame and no time."""
    bench = RcStreamBench(dut, slots)
    reference = await alone(bench)
    await bench.start(slow_limits(slots))
    bench.remote.slowness[bench.number(TROUBLED)] = slowness(slots)
    await bench.detected(2 * slots + 8)
    end = bench.cycle - bench.began
    await bench.finish()
    waited = bench.cycle - bench.began - bench.arrived[TROUBLED][-1]
    assert waited > slowness(slots) > 2 * PERIOD, "it is not slow"
    assert_as_soon_as_alone(bench, reference, end)
    dut._log.info(f"{slots} slots, slow by {slowness(slots)} cycles")
    assert await bench.check() == Counts(0, len(bench.frames) // QPS, 0, 0)
    assert bench.of(TROUBLED).counts["duplicate"] == 0, "it was asked again: it is not slow, but too slow"
