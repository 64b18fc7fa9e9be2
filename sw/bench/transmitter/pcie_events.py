"""Events of many small frames to a GPU behind a switch that delays what goes there: none may come before its data."""

import random
from typing import Any

import numpy as np

from framelane.base.errors import SimulationError
from framelane.driver.pcie.engine import PcieEngine
from framelane.driver.pcie.page_plan import PagePlan
from framelane.driver.simulated.verilated_pcie_lane import PcieLaneSimulator
from framelane.models.placement.trailer import TRAILER_BYTES, Trailer
from framelane.receiver.ring.memory import host_memory
from framelane.receiver.transport.pcie.event_ring import EventRing

WIDTH, MPS = 128, 128
SLOT = 1024
SLOTS = 16
LONGEST = 300
"""Bytes of the largest frame: three TLPs; the smallest has 16, so that no two are alike."""
MOST_LATE = 100
"""Cycles that a TLP to the GPU waits at most; half of them do not wait."""
MOST_ANSWER = 40
"""Cycles that a completion waits at most, likewise."""
_PATIENCE = 100_000
_SOURCE = 1 << 20
"""Bytes of the memory that frames are taken from."""


def count_early(frames: int, *, fences: bool, seed: int = 1) -> dict[str, Any]:
    """Send so many frames, 16 at a time; look at each slot in the very cycle in which its event arrives at the host.

    Returns `frames`, `fences` (1 or 0), `early` (events that came before all bytes of their frame) and `cycles`.
    SimulationError where an event does not come, or says that something is wrong.
    """
    draw = random.Random(seed)
    plan = PagePlan(SLOTS * SLOT, SLOTS.bit_length(), 12)
    memory = host_memory(plan.total_bytes)
    pages = [(1 << 40) + index * plan.page_bytes for index in range(plan.pages)]
    source = np.frombuffer(draw.randbytes(_SOURCE), np.uint8)
    events = EventRing(memory[plan.event_offset : plan.event_offset + plan.queue_bytes])
    early = 0
    with PcieLaneSimulator(WIDTH, mps=MPS, seed=seed) as simulator:
        for index, address in enumerate(pages):
            page = memory[index * plan.page_bytes : (index + 1) * plan.page_bytes]
            simulator.map(page, address, late=index < plan.ring_pages)
        simulator.write_memory(0, source)
        simulator.delay(MOST_LATE, MOST_ANSWER)
        engine = PcieEngine(simulator)
        engine.open(plan, pages, fence_s=1e-3 if fences else None)
        for first in range(0, frames, SLOTS):
            sent = []
            for number in range(first, min(first + SLOTS, frames)):
                slot = number % SLOTS
                at, length = draw.randrange(_SOURCE - LONGEST), draw.randrange(16, LONGEST)
                trailer = Trailer(1, slot, number, number, number, length, 0, 0, number)
                simulator.queue(at, slot * SLOT, length)
                simulator.queue(0, (slot + 1) * SLOT - TRAILER_BYTES, TRAILER_BYTES, trailer)
                sent.append((slot * SLOT, source[at : at + length], np.frombuffer(trailer.pack(), np.uint8)))
            for number, (slot_at, image, trailer_bytes) in enumerate(sent, first):
                if not simulator.run_promptly(_PATIENCE):
                    raise SimulationError(f"the event of frame {number} did not come in {_PATIENCE} cycles")
                (event,) = events.take(2)
                if event.trailer.frame_number != number or event.status:
                    raise SimulationError(f"frame {number}: its event is {event}")
                end = slot_at + SLOT
                early += not (
                    np.array_equal(memory[slot_at : slot_at + len(image)], image)
                    and np.array_equal(memory[end - TRAILER_BYTES : end], trailer_bytes)
                )
            simulator.run()
            engine.consumed(events.consumed)
        cycles, faults = simulator.clock, engine.faults()
    if faults:
        raise SimulationError(f"the engine had errors: {', '.join(faults)}")
    return {"fences": int(fences), "frames": frames, "early": early, "cycles": cycles}
