"""Whole frames through placement, memory reader, write engine and root complex into the ring; and what goes wrong."""

from collections.abc import Callable
from dataclasses import fields, replace

import numpy as np
import pytest
from numpy.typing import NDArray

from framelane.base.errors import BoardError, ConfigError, TransportError
from framelane.driver.pcie import engine
from framelane.driver.pcie.engine import PcieEngine
from framelane.driver.pcie.over_pcie import over_pcie
from framelane.driver.pcie.page_plan import PagePlan
from framelane.driver.registers._pcie_register_map import REGISTERS
from framelane.driver.simulated.verilated_pcie import PcieSimulator
from framelane.driver.simulated.verilated_pcie_lane import PcieLaneSimulator
from framelane.models.memory.frame_store import FrameInfo
from framelane.models.placement.slots import FREE_RUNNING
from framelane.receiver.ring.receiver import Receiver
from framelane.receiver.ring.tally import Tally
from framelane.receiver.transport.pcie.endpoint import Endpoint
from framelane.receiver.transport.pcie.transport import PcieTransport
from framelane.session.session import Session
from simulated_device import Device, opened, transmitter

MakeSession = Callable[..., Session]
MakeImages = Callable[..., list[NDArray[np.uint16]]]
PAGE = 4096


def send(there: Device[PcieSimulator], images: list[NDArray[np.uint16]], first: int = 0) -> None:
    """Four at a time: so many the board's memory has."""
    for start in range(0, len(images), 4):
        for number, image in enumerate(images[start : start + 4], first + start):
            there.simulator.frame(FrameInfo(number, number * 1000, number), image)
        there.simulator.run()


@pytest.mark.parametrize(("page_log2", "stalls"), [(12, {}), (16, {"link_stall": 0.3, "memory_stall": 0.3})])
def test_a_run_longer_than_the_ring_keeps_to_the_credit(
    make_session: MakeSession, make_images: MakeImages, page_log2: int, stalls: dict[str, float]
) -> None:
    """Fourteen frames, four slots: two come while no slot is free, and are dropped by the source."""
    session = make_session(window_end=4)
    images = make_images(session, 14)
    with transmitter(session, page_log2=page_log2, **stalls) as there:
        there.simulator.start(over_pcie(session.tx_config()), there.ring.window_end)
        receiver = Receiver(there.ring, there.transport)
        seen: dict[int, int] = {}
        for first, count in ((0, 4), (4, 6), (10, 4)):
            there.simulator.board.publish_credit(0, there.ring.window_end)
            send(there, images[first : first + count], first)
            for frame in receiver.poll(0):
                assert frame.complete
                detector = frame.trailers[0].detector_frame if frame.trailers[0] else -1
                assert np.array_equal(frame.image, images[detector])
                seen[frame.number] = detector
                assert receiver.release(frame)
            assert (there.ring.memory.view("<u2") == 0x8000).all(), "slots are clean, nothing lies beside them"
            dropped = there.simulator.board.counters().destinations[0]
            receiver.settle(first + count, dropped.dropped + dropped.skipped)
        assert receiver.tally(14) == Tally(14, 12, 0, 2, 0, 0)
        assert sorted(seen.values()) == [n for n in range(14) if n not in (8, 9)]
        counts = there.simulator.counts
        assert counts.faults == 0
        assert dropped.sent == 12
        assert there.engine.faults() == {}
    assert counts.payload_bytes == 12 * (session.image_bytes + 64 + 64)


def test_a_page_missing_leaves_holes_of_exactly_its_bytes_and_the_frame_says_why(
    make_session: MakeSession, make_images: MakeImages
) -> None:
    session = make_session(rows=64)  # 12,800 bytes: slots of 4 pages
    images = make_images(session, 2)
    with transmitter(session, hole=1) as there:
        engine_pages = [None if page == 1 else address for page, address in enumerate(there.pages)]
        there.engine.load(engine_pages, there.plan)
        there.simulator.start(over_pcie(session.tx_config()), FREE_RUNNING)
        send(there, images)
        assert len(there.transport.poll(0)) == 2
        missing = np.arange(PAGE // 2, PAGE)
        assert there.ring.hole_mask(0).ravel().nonzero()[0].tolist() == missing.tolist()
        assert np.array_equal(there.ring.image(1), images[1])
        assert there.transport.counters.refused == {"no_page": 1}
        assert there.transport.counters.examples["no_page"].startswith("frame 0: a page is not in the device's table")
        assert list(there.engine.faults()) == ["no_page"]
        assert there.engine.faults() == {}, "told once"
        assert there.simulator.counts.faults == 0, "nothing went where no page is"


def test_what_the_iommu_does_not_know_is_lost_and_nothing_else(
    make_session: MakeSession, make_images: MakeImages
) -> None:
    session = make_session()
    images = make_images(session, 2)
    with transmitter(session, hole=1) as there:  # in the table, but not mapped
        there.simulator.start(over_pcie(session.tx_config()), FREE_RUNNING)
        send(there, images)
        assert len(there.transport.poll(0)) == 2
        assert np.array_equal(there.ring.image(0), images[0])
        assert there.ring.holes(1) == 1600
        counts = there.simulator.counts
        assert counts.faults == 26, "25 TLPs of 128 bytes, and the trailer"
        assert there.pages[1] <= counts.first_fault < there.pages[1] + PAGE


def test_without_credit_of_the_queue_events_are_lost_and_the_device_says_so(
    make_session: MakeSession, make_images: MakeImages
) -> None:
    session = make_session(window_end=FREE_RUNNING)
    with transmitter(session) as there:
        there.simulator.start(over_pcie(session.tx_config()), FREE_RUNNING)
        send(there, make_images(session, 6))
        assert there.engine.counters().events_lost == 2
        assert len(there.transport.poll(0)) == 4
        there.simulator.step(10)
        assert list(there.engine.faults()) == ["event_lost"]
        send(there, make_images(session, 6)[:3], 6)
        assert [completion.imm & 0xFFFFFF for completion in there.transport.poll(0)] == [6, 7, 8]


def test_a_fence_that_nobody_answers_costs_its_frame_the_status(
    make_session: MakeSession, make_images: MakeImages
) -> None:
    session = make_session()
    images = make_images(session, 3)
    with transmitter(session, fence_s=4e-6) as there:
        there.simulator.start(over_pcie(session.tx_config()), FREE_RUNNING)
        send(there, images[:1])
        assert len(there.transport.poll(0)) == 1
        assert not there.transport.counters.refused
        there.simulator.mute()
        send(there, images[1:2], 1)
        assert len(there.transport.poll(0)) == 1
        assert there.transport.counters.refused == {"unanswered": 1}
        assert list(there.engine.faults()) == ["unanswered"]


def test_every_error_bit_and_counter_of_the_registers_is_known() -> None:
    named = {register.name: [field.name for field in register.fields] for register in REGISTERS}
    assert list(engine.ERRORS) == named["pcie[].errors"]
    counters = [name.removeprefix("pcie_counters[].") for name in named if name.startswith("pcie_counters[].")]
    assert [field.name for field in fields(engine.EngineCounters)] == counters


class _Silent:
    """A device that has failed."""

    def __init__(self) -> None:
        self.waited = 0.0

    def consumed(self, count: int) -> None:
        raise AssertionError("nothing was read")

    def wait(self, timeout_s: float) -> None:
        self.waited += timeout_s

    def faults(self) -> dict[str, str]:
        return {"link_down": "look at the slot"}

    def failed(self) -> str:
        return "the link is down"

    def close(self) -> None:
        """Nothing is held."""


def test_a_device_that_has_failed_ends_the_run_with_its_reason(
    make_session: MakeSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    endpoint: Endpoint = _Silent()
    with PcieTransport(np.zeros(256, np.uint8), endpoint, make_session()) as transport:
        monkeypatch.setattr("framelane.receiver.transport.pcie.transport._CHECK_S", 0.0)
        with pytest.raises(TransportError, match="the link is down"):
            transport.poll(1)
        assert transport.counters.examples == {"device: link_down": "look at the slot"}
    with pytest.raises(TransportError, match="is closed: open another one"):
        transport.poll(0)


def test_a_queue_that_must_lose_events_is_refused(make_session: MakeSession) -> None:
    with pytest.raises(ConfigError, match="4 entries loses events of a ring of 4 slots and 2 sources: give at least 8"):
        PcieTransport(np.zeros(256, np.uint8), _Silent(), make_session(sources=2))


def test_a_table_is_loaded_only_where_the_engine_can_hold_it() -> None:
    with PcieLaneSimulator(128) as simulator:
        first = PcieEngine(simulator)
        assert (first.sizes.entries, first.sizes.engines, first.sizes.data_width) == (8192, 1, 128)
        plan = PagePlan(8192 * PAGE, 1, 12)
        with pytest.raises(ConfigError, match=r"8193 pages of 4 KiB, this engine's table 8192: give larger pages"):
            first.open(plan, [k * PAGE for k in range(plan.pages)])
        with pytest.raises(ConfigError, match="a ring of 8193 pages needs as many addresses, not 1"):
            first.open(plan, [0])
        with pytest.raises(BoardError, match="no PCIe engine 1"):
            PcieEngine(simulator, 1)


def test_a_session_begins_anew_on_the_same_engine(make_session: MakeSession, make_images: MakeImages) -> None:
    """The phase of events begins at 1 again: a queue of zeros has none."""
    session = make_session()
    images = make_images(session, 3)
    with transmitter(session) as there:
        there.simulator.start(over_pcie(session.tx_config()), FREE_RUNNING)
        send(there, images)
        assert len(there.transport.poll(0)) == 3
        queue = there.memory[there.plan.event_offset : there.plan.event_offset + there.plan.queue_bytes]
        queue.fill(0)
        there.engine.open(there.plan, there.pages)
        with PcieTransport(queue, _Quiet(there.engine), session) as again:
            assert again.poll(0) == []
            send(there, images[:1], 3)
            assert [completion.imm & 0xFFFFFF for completion in again.poll(0)] == [3]
            assert there.engine.produced == 1


class _Quiet(_Silent):
    """A device of which nothing but the credit matters."""

    def __init__(self, driven: PcieEngine) -> None:
        super().__init__()
        self._engine = driven

    def consumed(self, count: int) -> None:
        self._engine.consumed(count)


def test_two_engines_of_a_board_write_to_two_rings_in_turn(make_session: MakeSession, make_images: MakeImages) -> None:
    session = make_session()
    images = make_images(session, 8)
    first, second = (over_pcie(session.tx_config(), index) for index in range(2))
    (flow,) = second.flows
    destinations = first.destinations + second.destinations
    both = replace(second, destinations=destinations, flows=(replace(flow, destinations=2),))
    with (
        PcieSimulator(128, mps=128) as simulator,
        opened(simulator, session) as even,
        opened(simulator, make_session(base=1 << 40), engine=1) as odd,
    ):
        simulator.start(both, FREE_RUNNING)
        send(even, images)
        for start, there in enumerate((even, odd)):
            assert [completion.imm & 0xFFFFFF for completion in there.transport.poll(0)] == [0, 1, 2, 3]
            for number in range(4):
                assert np.array_equal(there.ring.image(number), images[2 * number + start])
            assert there.engine.counters().events == 4
        assert simulator.counts.faults == 0


def test_a_link_that_goes_down_ends_the_run_with_its_reason_and_a_new_one_begins(
    make_session: MakeSession, make_images: MakeImages, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = make_session()
    images = make_images(session, 3)
    monkeypatch.setattr("framelane.receiver.transport.pcie.transport._CHECK_S", 0.0)
    with transmitter(session) as there:
        there.simulator.start(over_pcie(session.tx_config()), FREE_RUNNING)
        send(there, images[:1])
        assert len(there.transport.poll(0)) == 1
        there.simulator.link_up(up=False)
        send(there, images[1:2], 1)
        with pytest.raises(TransportError, match=r"sends nothing any more: its link was down, .*start this receiver"):
            there.transport.poll(1)
        assert "device: link_down" in there.transport.counters.refused
        assert there.ring.holes(1) == 1600
        with pytest.raises(BoardError, match="the PCIe link of this engine is down"):
            there.engine.open(there.plan, there.pages)
        there.engine.stop()  # that can be done
        there.simulator.link_up()
        there.memory[there.plan.event_offset :].fill(0)
        there.engine.open(there.plan, there.pages)
        send(there, images[2:], 2)
        assert there.engine.produced == 1
        assert np.array_equal(there.ring.image(2), images[2])
