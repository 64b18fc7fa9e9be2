"""A simulated PCIe device with a session's ring and queue in its page table, at bus addresses in no order."""

import contextlib
import random
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from framelane.driver.pcie.engine import PcieEngine
from framelane.driver.pcie.engine_endpoint import EngineEndpoint
from framelane.driver.pcie.page_plan import PagePlan
from framelane.driver.simulated.verilated_pcie import PcieSimulator
from framelane.models.placement import trailer
from framelane.receiver.ring.memory import host_memory
from framelane.receiver.ring.ring import Ring
from framelane.receiver.transport.pcie.transport import PcieTransport
from framelane.session.session import Session
from transport_cases import Sent

BUS_PAGES = 1 << 20
"""Of the bus addresses that a page may have: above 4 GiB, so that TLPs need 64 bits of address."""


@dataclass(frozen=True, slots=True)
class Device:
    """What is at both ends: `ring` as the receiver has it, `pages` the bus address of each page of the table."""

    simulator: PcieSimulator
    engine: PcieEngine
    transport: PcieTransport
    ring: Ring
    plan: PagePlan
    pages: list[int]
    memory: NDArray[np.uint8]

    def send(self, sent: Sent) -> None:
        """What a packet of a network would have brought, as a write of this device."""
        ends = trailer.unpack(sent.payload) if sent.imm is not None else None
        assert (ends is None) == (sent.imm is None), "only trailers have events"
        self.simulator.give(sent.offset, sent.payload, ends)


@contextlib.contextmanager
def device(
    session: Session,
    width: int = 256,
    page_log2: int = 12,
    hole: int | None = None,
    fence_s: float | None = None,
    **options: Any,
) -> Iterator[Device]:
    """Open a device for `session`; the page `hole` of its table is not mapped."""
    plan = PagePlan.of(session.layout, page_log2)
    memory = host_memory(plan.total_bytes)
    drawn = random.Random(session.base).sample(range(BUS_PAGES), plan.pages)
    pages = [(1 << 32) + number * plan.page_bytes for number in drawn]
    with PcieSimulator(width, mps=128, **options) as simulator:
        for index, address in enumerate(pages):
            if index != hole:
                simulator.map(memory[index * plan.page_bytes : (index + 1) * plan.page_bytes], address)
        engine = PcieEngine(simulator)
        queue = memory[plan.event_offset : plan.event_offset + plan.queue_bytes]
        ring = Ring(session, memory[: plan.ring_bytes])
        engine.open(plan, pages, fence_s=fence_s)
        with PcieTransport(queue, EngineEndpoint(engine, simulator.unmap), session) as transport:
            yield Device(simulator, engine, transport, ring, plan, pages, memory)
