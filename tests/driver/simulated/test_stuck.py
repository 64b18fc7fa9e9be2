"""An Ethernet core or a memory that stands still: seen in time, said, counted, and the transmitter comes back."""

from collections.abc import Callable, Iterator

import numpy as np
import pytest

from framelane.base.errors import ConfigError
from framelane.driver.board.board import Board
from framelane.driver.board.watchdogs import WATCHDOG_CYCLES
from framelane.driver.simulated.verilated import TxSimulator
from framelane.models.placement.flow import FrameEvent
from framelane.models.tx import Tx
from framelane.session.session import Session

MakeSession = Callable[..., Session]
STRIDE = 1 << 20
UNITS = 2
"""Timeout of the watchdog, in units of WATCHDOG_CYCLES."""
LONG = (UNITS + 2) * WATCHDOG_CYCLES
"""Cycles in which it fires and what is stuck is drained."""


@pytest.fixture
def session(make_session: MakeSession) -> Session:
    return make_session(rows=40, columns=96, mtu=1024, n_slots=8)


IMAGES = np.random.default_rng(1).integers(0, 256, (8, 40 * 96 * 2), np.uint8)


@pytest.fixture
def simulator(session: Session) -> Iterator[TxSimulator]:
    """One with a watchdog, and frames in its memory; errors of the watchdogs raise the interrupt."""
    with TxSimulator(session.tx_config(), latency=20) as simulator:
        unit_s = WATCHDOG_CYCLES / simulator.board.probe().clock_hz
        simulator.board.set_watchdogs(UNITS * unit_s, UNITS * unit_s)
        simulator.board.set_interrupts(["mac_timeout", "memory_timeout"])
        for k, image in enumerate(IMAGES):
            simulator.write_memory(k * STRIDE, image)
        yield simulator


def offer(simulator: TxSimulator, *numbers: int) -> None:
    for number in numbers:
        simulator.offer(FrameEvent(number, 0, 0, number % 8 * STRIDE))


def is_frame(session: Session, number: int, packets: list[bytes]) -> bool:
    """Whether these are the packets of that frame, apart from PSNs and what depends on them."""
    model = Tx(
        session.tx_config(), lambda address, length: bytes(IMAGES[address // STRIDE])[address % STRIDE :][:length]
    )
    whole = model.frame(FrameEvent(number, 0, 0, number % 8 * STRIDE))
    return [len(packet) for packet in packets] == [len(packet) for packet in whole] and all(
        got[70:-4] == packet[70:-4] for got, packet in zip(packets[:-1], whole[:-1], strict=True)
    )


def test_an_ethernet_core_that_takes_nothing_loses_packets_and_holds_nothing_up(
    simulator: TxSimulator, session: Session
) -> None:
    board = simulator.board
    simulator.hold(sink=True)
    offer(simulator, 0, 1, 2)
    assert board.wait_interrupt(0.01) == ("mac_timeout",)
    assert board.state().mac_stuck
    assert not board.state().memory_stuck
    simulator.step(LONG)
    assert board.state().idle, "frames wait for the Ethernet core"
    assert simulator.released == 3
    assert simulator.counters().mac_timeouts == 1
    dropped = simulator.counters().mac_dropped
    assert dropped > 0
    simulator.hold()
    simulator.step(100)
    assert not board.state().mac_stuck
    simulator.take()
    offer(simulator, 3)
    assert is_frame(session, 3, simulator.run())
    assert simulator.counters().mac_dropped == dropped
    assert board.interrupts() == ("mac_timeout",)
    board.clear_errors()
    assert board.wait_interrupt(1e-5) == ()


def test_a_memory_that_does_not_answer_costs_its_frames_and_holds_nothing_up(
    simulator: TxSimulator, session: Session
) -> None:
    board = simulator.board
    simulator.hold(reads=True)
    offer(simulator, 0, 1)
    assert board.wait_interrupt(0.01) == ("memory_timeout",)
    simulator.step(LONG)
    assert board.state().memory_stuck
    assert simulator.released == 2
    counters = simulator.counters()
    assert (counters.memory_timeouts, counters.mac_timeouts) == (1, 0)
    assert (counters.destinations[0].failed, counters.destinations[0].sent) == (2, 0)
    simulator.hold()
    simulator.step(2000)
    assert not board.state().memory_stuck
    simulator.take()
    offer(simulator, 2)
    assert is_frame(session, 2, simulator.run())
    assert simulator.counters().destinations[0].sent == 1


@pytest.mark.parametrize(("reads", "sink"), [(True, False), (False, True), (True, True)])
def test_an_abort_needs_neither_of_them(simulator: TxSimulator, session: Session, reads: bool, sink: bool) -> None:
    board = Board(simulator, timeout_s=0.1)
    board.set_watchdogs(0, 0)
    offer(simulator, 0, 1)
    simulator.step(300)
    simulator.hold(reads=reads, sink=sink)
    simulator.step(LONG)
    assert not board.state().idle
    board.abort()
    assert board.state().idle
    assert not board.state().armed
    assert (board.state().mac_stuck, board.state().memory_stuck) == (sink, reads)
    board.configure(session.tx_config())
    simulator.hold()
    simulator.step(2000)
    assert not board.state().mac_stuck
    assert not board.state().memory_stuck
    simulator.take()
    board.configure(session.tx_config())
    board.publish_credit(0, 1 << 32)
    board.arm()
    offer(simulator, 5)
    assert is_frame(session, 5, simulator.run())


def test_without_an_abort_a_reset_waits(simulator: TxSimulator) -> None:
    board = Board(simulator, timeout_s=0.1)
    board.set_watchdogs(0, 0)
    simulator.hold(reads=True)
    offer(simulator, 0)
    simulator.step(300)
    board.registers["command.reset"] = 1
    simulator.step(LONG)
    assert board.state().resetting


def test_an_interrupt_is_for_bits_that_there_are(simulator: TxSimulator) -> None:
    with pytest.raises(ConfigError, match=r"^errors has no bit nosuch: choose of no_credit, "):
        simulator.board.set_interrupts(["nosuch"])
    with pytest.raises(ConfigError, match=r"^the time of the mac watchdog must be 0 to "):
        simulator.board.set_watchdogs(1e9, 0)
