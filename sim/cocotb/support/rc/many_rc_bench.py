"""tx with RC and a receiver on each of 4 queue pairs, behind a network: what arrives is compared with what was offered.

No model of the transmitter takes part.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import cocotb
import numpy as np
from cocotb.triggers import ClockCycles, FallingEdge, ReadOnly, RisingEdge
from cocotb.utils import get_sim_time

from bench import Stalls
from framelane.driver.simulated import ports
from framelane.models.cells import axis
from framelane.models.placement.flow import Flow, FrameEvent
from framelane.models.rc.lossy_network import LinkImpairments
from framelane.models.rc.rc_protocol import RcLimits, RcState
from framelane.models.rc.rc_responder import Manner
from framelane.models.registers import registers
from framelane.models.roce_tx.roce_qp import AckPolicy, Segmentation, Service
from rc_receivers import RcReceivers
from signals import now
from tx_bench import TxBench, session
from tx_registers import FLOW

FLOWS = 4
"""On the queue pairs from 1 on."""
IN_FLIGHT = 3
LINES, PITCH = 12, 800
STRIDE = SLOT = LINES * PITCH + 64 + 31 & ~63
LIMITS = RcLimits(window=24, timeout=4, backoff=1, retries=7)
LONG = 40_000
"""Cycles of silence after which a queue pair has spent its retries."""
PATIENCE = 200_000
"""Cycles in which a row of frames ends."""
STEP = 8
"""Cycles between two looks at what has left."""
MANNERS = (Manner.IBA, Manner.RXE, Manner.CHATTY, Manner.IBA)


@dataclass(frozen=True, slots=True)
class Trouble:
    """What one receiver does in a row of frames, for so many cycles: `silent`, or else not ready."""

    flow: int
    silent: bool
    cycles: int


class ManyBench(TxBench, RcReceivers):
    """The transmitter, and a receiver of every frame on each of 4 queue pairs, flow k on QP 1 + k."""

    axi_left_out: ClassVar = {"": "the memory works on while nothing steps; test_tx_with_rc looks at the same port"}

    def __init__(
        self,
        dut: Any,
        impairments: LinkImpairments,
        segmentation: Segmentation,
        slots: int,
        manners: Sequence[Manner] = MANNERS,
    ) -> None:
        TxBench.__init__(self, dut, Stalls.NONE, session(mtu=256, n_slots=slots), latency=20)
        qp = replace(self.qp, service=Service.RC, ack_policy=AckPolicy.LAST, segmentation=segmentation)
        psns = (0xFFFFF0, 0, 0x7FFFFF, self.random.getrandbits(24))
        qps = (qp, *(replace(qp, dest_qpn=0x11 + k, psn=psn, rkey=0xCAFE + k) for k, psn in enumerate(psns)))
        ring = replace(self.config.destinations[0], slot_bytes=SLOT, n_slots=slots, trailer_offset=SLOT - 64)
        rings = tuple(replace(ring, qp=1 + k, base=ring.base + (k << 32)) for k in range(FLOWS))
        flow = Flow(source=1, first_destination=0, width=1, height=1, source_pitch=PITCH, destination_pitch=PITCH)
        flows = tuple(replace(flow, source=1 + k, first_destination=k) for k in range(FLOWS))
        self.plan(replace(self.config, qps=qps, destinations=rings, flows=flows))
        RcReceivers.__init__(self, qps, rings, impairments, manners)
        self.flows = list(flows)
        self.sent: list[tuple[bytes, tuple[Flow, ...]]] = []
        """Each frame's bytes, and the flows that it goes to."""
        self.queue: list[int] = []
        dut.link_up_i.value = 0
        dut.s_axis_rx_tvalid.value = 0
        dut.s_axis_rx_tuser.value = 0

    async def configure(self) -> None:
        await super().configure()
        await self.arm_all(LIMITS)
        cocotb.start_soon(self._feed())
        cocotb.start_soon(self._count_releases())

    async def rest(self) -> None:
        """Faster than steps."""
        await ClockCycles(self.dut.clk, 100)

    async def until_error(self, k: int) -> None:
        """Wait until a queue pair has spent its retries."""
        start = self.now
        while (await self.state(k))[0] is not RcState.ERROR:
            assert self.now - start < LONG
            await self.turn()

    async def reshape(self, flows: list[Flow]) -> None:
        """Give the flows other rectangles, while no frame is under way."""
        self.flows = flows
        for k, flow in enumerate(flows):
            await self.write(FLOW + 0x40 * k, 0)
            await self.write(FLOW + 0x40 * k + 4, *registers.flow_words(flow)[1:])
            await self.write(FLOW + 0x40 * k, registers.flow_words(flow)[0])

    @property
    def now(self) -> int:
        """Clock cycles since the start."""
        return int(get_sim_time("ns")) // 2

    async def _feed(self) -> None:
        """Offer the frames of the queue, one after the other."""
        valid, data, ready = (getattr(self.dut, f"s_axis_frame_t{name}") for name in ("valid", "data", "ready"))
        while True:
            await RisingEdge(self.dut.clk)
            if self.queue:
                valid.value, data.value = 1, self.queue.pop(0)
                taken = False
                while not taken:
                    await ReadOnly()
                    taken = bool(now(ready))
                    await RisingEdge(self.dut.clk)
                valid.value = 0

    async def _count_releases(self) -> None:
        while True:
            await RisingEdge(self.dut.release_o)
            start = get_sim_time("ns")
            await FallingEdge(self.dut.release_o)
            self.released += int(get_sim_time("ns") - start) // 2

    def offer_next(self) -> None:
        """Put a frame of random bytes into the memory, and offer it."""
        number = len(self.sent)
        image = self.random.randbytes(LINES * PITCH)
        self.sent.append((image, tuple(self.flows)))
        self.board.board_write(number * STRIDE, image, len(image))
        self.queue.append(ports.frame_t(FrameEvent(number, 0, 0, number * STRIDE)))

    async def turn(self) -> None:
        """A few cycles: what has left goes on its way, what has come is handed over."""
        if self.board.board_packet_count():
            self.remote.send(self.now, self.take())
        frames = self.remote.due(self.now)
        if frames:
            for frame in frames:
                for beat in axis.beats(frame, self.width):
                    self.dut.s_axis_rx_tdata.value, self.dut.s_axis_rx_tkeep.value = beat.data, beat.keep
                    self.dut.s_axis_rx_tlast.value, self.dut.s_axis_rx_tvalid.value = int(beat.last), 1
                    await RisingEdge(self.dut.clk)
            self.dut.s_axis_rx_tvalid.value = 0
        await ClockCycles(self.dut.clk, STEP)

    async def stream(self, frames: int, flows: range) -> int:
        """Offer frames as those flows' receivers get them, whatever the others do. How many cycles that took."""
        start, before = self.now, len(self.sent)
        begun = [len(self.of(k).immediates) for k in flows]
        while (done := min(len(self.of(k).immediates) - n for k, n in zip(flows, begun, strict=True))) < frames:
            if len(self.sent) - before < min(frames, done + IN_FLIGHT + 1):
                self.offer_next()
            await self.turn()
            assert self.now - start < PATIENCE, f"frames hang: {done} of {frames} have arrived"
        return self.now - start

    async def all_released(self) -> None:
        """Wait until the memory of all frames is free."""
        start = self.now
        while self.released < len(self.sent):
            assert self.now - start < PATIENCE, f"{self.released} of {len(self.sent)} frames are free"
            await self.turn()

    async def row(self, frames: int, trouble: Trouble | None = None) -> None:
        """Offer frames as memory becomes free, until all of it is; a receiver makes trouble from the middle on."""
        start, last, until = self.now, len(self.sent) + frames, 0
        while self.released < last:
            while len(self.sent) < min(last, self.released + IN_FLIGHT):
                self.offer_next()
            if trouble and not until and last - len(self.sent) <= frames // 2:
                until = self.now + trouble.cycles
                self._trouble(trouble)
            if trouble and until and self.now >= until:
                self._restore(trouble)
                trouble = None
            await self.turn()
            assert self.now - start < PATIENCE, f"frames hang: {self.released} of {last} are free"
        if trouble:
            self._restore(trouble)

    def _trouble(self, trouble: Trouble) -> None:
        if trouble.silent:
            self.remote.silent.add(self.number(trouble.flow))
        else:
            self.of(trouble.flow).receives = 0

    def _restore(self, trouble: Trouble) -> None:
        self.remote.silent.clear()
        self.of(trouble.flow).receives = 1 << 30

    def check_memory(self, k: int) -> int:
        """Frames of a flow that have arrived: in place, all their bytes once, no byte twice or anywhere else."""
        receiver, ring = self.of(k), self.rings[k]
        arrived = Counter(receiver.immediates)
        assert max(arrived.values(), default=1) == 1, "a frame has ended twice"
        expected = np.zeros_like(receiver.writes)
        for number, (image, flows) in enumerate(self.sent):
            flow, at = flows[k], number * ring.slot_bytes
            pixels = np.frombuffer(image, np.uint8).reshape(LINES, PITCH)
            sent = pixels[flow.y0 : flow.y0 + flow.height, 2 * flow.x0 : 2 * (flow.x0 + flow.width)]
            slot = expected[at : at + LINES * PITCH].reshape(LINES, PITCH)
            slot[: flow.height, : flow.row_bytes] = 1
            expected[at + ring.trailer_offset :][:64] = 1
            if flow.source << 24 | number in arrived:
                got = np.frombuffer(self.memories[k], np.uint8)[at : at + LINES * PITCH].reshape(LINES, PITCH)
                assert np.array_equal(got[: flow.height, : flow.row_bytes], sent), f"frame {number} of flow {k}"
                whole = slice(at, at + ring.slot_bytes)
                assert np.array_equal(receiver.writes[whole], expected[whole]), f"frame {number} of flow {k}"
        assert np.all(receiver.writes <= expected), f"flow {k}: bytes were written twice, or in a wrong place"
        return len(arrived)

    @property
    def messages(self) -> int:
        """Messages of all frames that were offered, trailers among them."""
        return sum(flow.descriptors for _, flows in self.sent for flow in flows)
