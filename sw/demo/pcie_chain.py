"""The closed loop over PCIe: Verilated transmitter, root complex, ring and events in this process."""

import contextlib
from collections.abc import Iterator
from dataclasses import replace
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from framelane.base.errors import SimulationError
from framelane.demo.chain import Traffic
from framelane.demo.losses import Loss
from framelane.driver.board.board import Board
from framelane.driver.pcie.engine import PcieEngine
from framelane.driver.pcie.engine_endpoint import EngineEndpoint
from framelane.driver.pcie.over_pcie import over_pcie
from framelane.driver.pcie.page_plan import PagePlan
from framelane.driver.registers.entries import FrameRing
from framelane.driver.simulated.pcie_host import LinkCounts
from framelane.driver.simulated.verilated_pcie import PcieSimulator
from framelane.driver.simulated.verilated_pcie_stream import PcieStreamSimulator
from framelane.models.memory.frame_store import FrameInfo
from framelane.models.memory.image_writer import Correction
from framelane.receiver.ring.memory import host_memory
from framelane.receiver.ring.receiver import ReceivedFrame, Receiver
from framelane.receiver.ring.ring import Ring
from framelane.receiver.transport.pcie.transport import PcieTransport
from framelane.receiver.transport.transport import Counters
from framelane.session.session import Session

_PAGE_LOG2 = 16
_BUS = 1 << 32
"""Bus address of the ring's first page; the others lie behind it, in reverse order."""
_HEADER_BYTES = 24
"""Bytes of a TLP with a 64-bit address beside its payload: header, sequence number, LCRC, framing."""


class PcieTransmitter(Protocol):
    """One that takes raw images, and writes into memory."""

    board: Board
    cycles: int

    @property
    def counts(self) -> LinkCounts: ...

    def frame(self, info: FrameInfo, image: NDArray[np.uint16]) -> None: ...

    def run(self) -> None: ...


class PcieChain:
    """Sends frame after frame; nothing is lost on the way. `traffic` counts TLPs as `Chain` does packets."""

    def __init__(
        self, simulator: PcieTransmitter, engine: PcieEngine, transport: PcieTransport, ring: Ring, width: int
    ) -> None:
        self.receiver = Receiver(ring, transport)
        self.traffic = Traffic()
        self._simulator, self._engine, self._transport, self._ring = simulator, engine, transport, ring
        self._beat_bytes = width // 8
        self._offered = 0
        self._placed = np.zeros((ring.image(0).shape), np.bool_)

    @property
    def counters(self) -> Counters:
        """What the transport has seen, with what the device says that nobody was told."""
        counters = self._transport.counters
        counters.refused.update(self._engine.faults().keys())
        return counters

    @property
    def cycles(self) -> int:
        """Clock cycles of the gateware."""
        return self._simulator.cycles

    def send(self, info: FrameInfo, image: NDArray[np.uint16]) -> tuple[Loss, list[ReceivedFrame]]:
        """Send one frame: that it loses nothing, and the frames that are over, each to be given back by `release`."""
        before = self._simulator.counts
        self._simulator.board.publish_credit(0, self._ring.window_end)
        self._simulator.frame(info, image)
        self._simulator.run()
        now, counters = self._simulator.counts, self._simulator.board.counters()
        here, flow = counters.destinations[0], counters.flows[0]
        wrong = (here.failed, flow.refused, counters.frames_bad, counters.mismatches, counters.constant_errors)
        if any(wrong) or now.faults or now.nullified:
            raise SimulationError(f"frame {info.number} did not leave as it should: {counters}, {now}")
        self._offered += 1
        tlps, payload = now.tlps - before.tlps, now.payload_bytes - before.payload_bytes
        self.traffic.packets += tlps
        self.traffic.payload_bytes += payload
        self.traffic.wire_bytes += payload + _HEADER_BYTES * tlps
        self.traffic.ideal_beats += -(-payload // self._beat_bytes)
        frames = self.receiver.poll(0)
        frames += self.receiver.settle(self._offered, here.dropped + here.skipped)
        return Loss((), tlps, self._placed, trailer=False), frames


@contextlib.contextmanager
def open_pcie(
    session: Session, width: int, store: tuple[FrameRing, Correction] | None = None, mps: int = 256
) -> Iterator[PcieChain]:
    """A simulated endpoint on a link of Max_Payload_Size `mps`, with its pages in memory of this process.

    With `store`, frames pass the transmitter's frame store there, and are corrected on their way into it.
    """
    plan = PagePlan.of(session.layout, _PAGE_LOG2)
    memory = host_memory(plan.total_bytes)
    pages = [_BUS + (plan.pages - 1 - index) * plan.page_bytes for index in range(plan.pages)]
    config = over_pcie(session.tx_config())
    if store:
        flows = tuple(replace(flow, source_offset=store[1].offset) for flow in config.flows)
        config = replace(config, flows=flows)
    with PcieStreamSimulator(*store, width, mps=mps) if store else PcieSimulator(width, mps=mps) as simulator:
        for index, address in enumerate(pages):
            simulator.map(memory[index * plan.page_bytes : (index + 1) * plan.page_bytes], address)
        ring = Ring(session, memory[: plan.ring_bytes])
        engine = PcieEngine(simulator)
        engine.open(plan, pages)
        simulator.start(config, session.window_end)
        queue = memory[plan.event_offset : plan.event_offset + plan.queue_bytes]
        with PcieTransport(queue, EngineEndpoint(engine), session) as transport:
            yield PcieChain(simulator, engine, transport, ring, width)
            simulator.board.disarm()
