"""MSI-X from the engine to the receiver: a message behind each event wakes a poll, and the event is there."""

from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray

from framelane.driver.pcie.engine_endpoint import EngineEndpoint
from framelane.driver.pcie.over_pcie import over_pcie
from framelane.driver.registers._pcie_register_map import REGISTERS
from framelane.driver.registers.register_file import RegisterFile
from framelane.driver.simulated.verilated_pcie import PcieSimulator
from framelane.models.memory.frame_store import FrameInfo
from framelane.models.placement.slots import FREE_RUNNING
from framelane.receiver.ring.memory import host_memory
from framelane.receiver.transport.pcie.transport import PcieTransport
from framelane.session.session import Session
from simulated_device import Device, transmitter

MakeSession = Callable[..., Session]
MakeImages = Callable[..., list[NDArray[np.uint16]]]
AT, DATA = 0xFEE0_1000, 0x4042
PATIENCE = 20_000
"""Cycles that a wait lasts at most."""


class Vector:
    """The host's side of one vector: what the kernel writes into the table, and what it does when a message comes."""

    def __init__(self, there: Device[PcieSimulator]) -> None:
        self._simulator = there.simulator
        self._page = host_memory(4096)
        self._word = self._page[:4].view("<u4")
        self.waits = self.messages = 0
        there.simulator.map(self._page, AT)
        registers = RegisterFile(there.simulator, REGISTERS)
        registers["pcie[0].msix_address"] = AT
        registers["pcie[0].msix_data"] = DATA
        registers["pcie[0].msix_control.masked"] = 0

    def wait(self, timeout_s: float) -> bool:
        """Run the device until a message has come."""
        assert timeout_s > 0
        self.waits += 1
        end = self._simulator.clock + PATIENCE
        while not self._word[0] and self._simulator.clock < end:
            self._simulator.run_promptly(PATIENCE)
        came = int(self._word[0]) == DATA
        self._word[0] = 0
        self.messages += came
        return came


@pytest.mark.parametrize(("events", "stall"), [(1, 0.0), (1, 0.4), (2, 0.0)])
def test_a_message_wakes_a_poll_when_its_events_are_there(
    events: int, stall: float, make_session: MakeSession, make_images: MakeImages
) -> None:
    session = make_session()
    images = make_images(session, 4)
    with transmitter(session, link_stall=stall) as there:
        vector = Vector(there)
        there.simulator.start(over_pcie(session.tx_config()), FREE_RUNNING)
        there.engine.interrupts(events)
        queue = there.memory[there.plan.event_offset : there.plan.event_offset + there.plan.queue_bytes]
        with PcieTransport(queue, EngineEndpoint(there.engine, interrupt=vector), session) as transport:
            for first in range(0, len(images), events):
                for number in range(first, first + events):
                    there.simulator.frame(FrameInfo(number, number, number), images[number])
                found = [completion.imm & 0xFFFFFF for completion in transport.poll(10)]
                assert found == list(range(first, first + events))
                for number in found:
                    assert np.array_equal(there.ring.image(number), images[number])
            assert vector.waits == vector.messages == len(images) // events, "no poll was woken for nothing"
            assert there.engine.counters().interrupts == len(images) // events


def test_where_none_comes_a_wait_ends_and_one_that_was_late_ends_the_next(
    make_session: MakeSession, make_images: MakeImages
) -> None:
    """Two events are asked for, one comes: the delay makes a message of it."""
    session = make_session()
    with transmitter(session) as there:
        vector = Vector(there)
        there.simulator.start(over_pcie(session.tx_config()), FREE_RUNNING)
        there.engine.interrupts(2, delay_cycles=PATIENCE + 10_000)
        there.simulator.frame(FrameInfo(0, 0, 0), make_images(session, 1)[0])
        there.simulator.run()
        assert not vector.wait(1)
        assert vector.wait(1)
        assert len(there.transport.poll(0)) == 1
