"""A simulated PCIe device with a session's ring and queue in its page table, at bus addresses in no order."""

import contextlib
import random
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from framelane.driver.pcie.engine import PcieEngine
from framelane.driver.pcie.engine_endpoint import EngineEndpoint
from framelane.driver.pcie.page_plan import PagePlan
from framelane.driver.simulated.pcie_host import PcieHost
from framelane.driver.simulated.verilated_pcie import PcieSimulator
from framelane.driver.simulated.verilated_pcie_lane import PcieLaneSimulator
from framelane.receiver.ring.memory import host_memory
from framelane.receiver.ring.ring import Ring
from framelane.receiver.transport.pcie.transport import PcieTransport
from framelane.session.session import Session

BUS_PAGES = 1 << 20
"""How many bus addresses a page may have: they go beyond 4 GiB, so that TLPs need 64-bit addresses."""
Simulated = TypeVar("Simulated", bound=PcieHost)


@dataclass(frozen=True, slots=True)
class Device(Generic[Simulated]):
    """What is at both ends: `ring` as the receiver has it, `pages` the bus address of each page of the table."""

    simulator: Simulated
    engine: PcieEngine
    transport: PcieTransport
    ring: Ring
    plan: PagePlan
    pages: list[int]
    memory: NDArray[np.uint8]


@contextlib.contextmanager
def opened(
    simulator: Simulated,
    session: Session,
    page_log2: int = 12,
    hole: int | None = None,
    fence_s: float | None = None,
    engine: int = 0,
) -> Iterator[Device[Simulated]]:
    """Open an engine of `simulator` for `session`; the page `hole` of its table is not mapped."""
    plan = PagePlan.of(session.layout, page_log2)
    memory = host_memory(plan.total_bytes)
    drawn = random.Random(session.base).sample(range(BUS_PAGES), plan.pages)
    pages = [(1 << 32) + (engine << 52) + number * plan.page_bytes for number in drawn]
    for index, address in enumerate(pages):
        if index != hole:
            simulator.map(memory[index * plan.page_bytes : (index + 1) * plan.page_bytes], address)
    driven = PcieEngine(simulator, engine)
    queue = memory[plan.event_offset : plan.event_offset + plan.queue_bytes]
    ring = Ring(session, memory[: plan.ring_bytes])
    driven.open(plan, pages, fence_s=fence_s)
    with PcieTransport(queue, EngineEndpoint(driven, simulator.unmap), session) as transport:
        yield Device(simulator, driven, transport, ring, plan, pages, memory)


@contextlib.contextmanager
def lane(session: Session, width: int = 128, **options: Any) -> Iterator[Device[PcieLaneSimulator]]:
    """Open an engine that writes what it is told. `options` of `opened`."""
    with PcieLaneSimulator(width, mps=128) as simulator, opened(simulator, session, **options) as device:
        yield device


@contextlib.contextmanager
def transmitter(session: Session, **options: Any) -> Iterator[Device[PcieSimulator]]:
    """Open the first engine of a transmitter, which is not configured. `options` of `opened`, and of `PcieHost`."""
    own = {name: options.pop(name) for name in ("link_stall", "memory_stall") if name in options}
    with PcieSimulator(128, mps=128, **own) as simulator, opened(simulator, session, **options) as device:
        yield device
