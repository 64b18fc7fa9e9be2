"""A detector's packets through posted buffers of a simulated board: in sequence, byte for byte, or known as lost."""

import contextlib
import random
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pytest
from numpy.typing import NDArray

from framelane.base.errors import BoardError, ConfigError, InputError, TransportError
from framelane.driver.pcie.engine import PcieEngine
from framelane.driver.pcie.engine_endpoint import EngineEndpoint
from framelane.driver.pcie.packet_buffers import PacketBuffers, PacketEndpoint
from framelane.driver.registers.register_file import RegisterFile
from framelane.driver.simulated.verilated_pcie import PcieSimulator
from framelane.driver.simulated.verilated_pcie_lane import PcieLaneSimulator
from framelane.models.jungfrau import jf_packet
from framelane.models.jungfrau.jf_packet import JfHeader
from framelane.models.pcie.event_queue import EventQueue
from framelane.models.pcie.tlp_split import Status
from framelane.models.placement.trailer import Trailer
from framelane.receiver.ring.memory import host_memory
from framelane.receiver.transport.pcie.packets import PacketReceiver

PAGE_LOG2 = 12
BUFFERS = PacketBuffers.of(8240, 8)
"""Eight of 16 KiB, for a JUNGFRAU's packets."""
GAP = 200
"""Cycles between two packets, in which one of them is written at 128 bits."""


@dataclass(frozen=True)
class Board:
    """An open engine with its pages on the bus, and what receives its packets."""

    simulator: PcieSimulator
    engine: PcieEngine
    receiver: PacketReceiver
    pages: list[int]

    def send(self, packets: list[bytes]) -> None:
        for data in packets:
            self.simulator.packet(data, gap=GAP)
        self.simulator.run()

    def take(self) -> list[tuple[int, bytes]]:
        """What is there: numbers and bytes."""
        return [(packet.number, packet.data.tobytes()) for packet in self.receiver.packets(0)]


@contextlib.contextmanager
def received(simulator: PcieSimulator, hole: int | None = None, buffers: PacketBuffers = BUFFERS) -> Iterator[Board]:
    """Open the first engine of `simulator` for packets; the page `hole` is not in its table."""
    plan = buffers.plan(PAGE_LOG2)
    memory = host_memory(plan.total_bytes)
    memory[: plan.ring_bytes] = 0xA5
    pages = [(1 << 32) + (number << PAGE_LOG2) for number in random.Random(5).sample(range(1 << 20), plan.pages)]
    for index, address in enumerate(pages):
        simulator.map(memory[index << PAGE_LOG2 : (index + 1) << PAGE_LOG2], address)
    engine = PcieEngine(simulator)
    engine.open(plan, pages)
    if hole is not None:
        engine.load([None if index == hole else address for index, address in enumerate(pages)], plan)
    device = PacketEndpoint(engine, EngineEndpoint(engine, simulator.unmap), buffers)
    rows = memory[: plan.ring_bytes].reshape(buffers.count, buffers.buffer_bytes)
    queue = memory[plan.event_offset : plan.event_offset + plan.queue_bytes]
    with PacketReceiver(rows, queue, device) as receiver:
        yield Board(simulator, engine, receiver, pages)


@pytest.fixture
def simulator(monkeypatch: pytest.MonkeyPatch) -> Iterator[PcieSimulator]:
    monkeypatch.setattr("framelane.receiver.transport.pcie.packets._CHECK_S", 0.0)
    with PcieSimulator(128, mps=128) as simulated:
        yield simulated


def detector_packets(frames: int) -> list[bytes]:
    """The UDP payloads of a JUNGFRAU module, any pixels."""
    drawn = np.random.default_rng(7)
    images = drawn.integers(0, 1 << 14, (frames, 512, 1024), np.uint16)
    return [data for n, image in enumerate(images) for _, data in jf_packet.packets(image, JfHeader(n + 1, 10))]


def test_a_detector_s_packets_come_in_sequence_byte_for_byte_over_many_rounds(simulator: PcieSimulator) -> None:
    sent = detector_packets(1)
    with received(simulator) as board:
        got: list[tuple[int, bytes]] = []
        for first in range(0, len(sent), 6):
            board.send(sent[first : first + 6])
            got += board.take()
        assert got == list(enumerate(sent))
        assert [jf_packet.parse(data)[0].packet_number for _, data in got] == list(range(len(sent)))
        counters = board.receiver.counters
        assert (counters.packets, counters.data_bytes) == (len(sent), sum(map(len, sent)))
        assert (counters.dropped, counters.refused) == (0, {})
        assert board.engine.counters().packets == len(sent)


def test_a_loop_may_be_left_and_begun_again(simulator: PcieSimulator) -> None:
    sent = detector_packets(1)[:7]
    with received(simulator) as board:
        board.send(sent)
        got = []
        for packet in board.receiver.packets(0):
            got.append(packet.data.tobytes())
            if len(got) == 3:
                break
        assert got == sent[:3]
        assert board.take() == list(enumerate(sent))[3:]
        assert packet.timestamp_ns > 0


def test_packets_without_buffer_are_known_and_those_behind_them_come(simulator: PcieSimulator) -> None:
    sent = detector_packets(1)[:24]
    with received(simulator) as board:
        board.send(sent[:20])  # eight buffers, and nobody reads
        assert board.take() == list(enumerate(sent[:8]))
        board.send(sent[20:])
        found = [(packet.number, packet.data.tobytes(), packet.dropped) for packet in board.receiver.packets(0)]
        assert found == [(8 + k, data, 12) for k, data in enumerate(sent[20:])]
        counters = board.receiver.counters
        assert counters.dropped == board.engine.counters().packets_unposted == 12
        assert counters.refused == {"device: packet_unposted": 1}
        assert "post more buffers" in counters.examples["device: packet_unposted"]


def test_packets_too_long_or_wrong_take_no_buffer(simulator: PcieSimulator) -> None:
    good = [bytes([k]) * size for k, size in enumerate((1, 8240, (1 << 14) - 64))]
    with received(simulator) as board:
        simulator.packet(bytes((1 << 14) - 63), gap=GAP)
        board.send(good[:1])
        simulator.packet(b"wrong" * 100, bad=True, gap=GAP)
        simulator.packet(bytes(20_000), gap=GAP)
        board.send(good[1:])
        assert board.take() == list(enumerate(good))
        counters = board.engine.counters()
        assert (counters.packets_too_long, counters.packets_wrong, counters.packets) == (2, 1, 3)
        assert board.receiver.counters.dropped == 3
    with pytest.raises(InputError, match="no bytes"):
        simulator.packet(b"")


def test_packets_faster_than_the_link_are_counted_as_lost() -> None:
    sent = [bytes([k]) * 8000 for k in range(8)]
    with PcieSimulator(128, mps=128, link_stall=0.8) as simulator, received(simulator) as board:
        for data in sent:
            simulator.packet(data)
        simulator.run()
        got = [data for _, data in board.take()]
        lost = board.engine.counters().packets_lost
        assert 0 < lost < len(sent)
        assert len(got) + lost == len(sent)
        assert got == [data for data in sent if data in got]


def test_a_packet_in_a_missing_page_is_refused_and_the_others_come(simulator: PcieSimulator) -> None:
    sent = [bytes([k + 1]) * 8240 for k in range(6)]
    with received(simulator, hole=2 * (1 << 14 >> PAGE_LOG2) + 1) as board:
        board.send(sent)
        assert board.take() == [pair for pair in enumerate(sent) if pair[0] != 2]
        assert board.receiver.counters.refused == {"no_page": 1, "device: no_page": 1}
        assert board.receiver.counters.examples["no_page"].startswith("packet 2: a page is not in")


def test_a_reset_in_mid_packet_is_said_and_the_next_receiver_begins_afresh(simulator: PcieSimulator) -> None:
    sent = detector_packets(1)[:12]
    with received(simulator) as board:
        board.send(sent[:2])
        assert board.take() == list(enumerate(sent[:2]))
        for data in sent[2:6]:
            simulator.packet(data, gap=GAP)
        simulator.step(GAP + 300)
        registers = RegisterFile(simulator)
        registers.write_register("command", {"reset": 1})
        while registers["status.resetting"]:
            pass
        simulator.run()
        with pytest.raises(TransportError, match="takes no packets any more"):
            board.take()
    with received(simulator) as board:
        board.send(sent[6:])
        assert board.take() == list(enumerate(sent[6:]))
        assert board.receiver.counters.dropped == 0


def test_a_build_without_packets_is_refused() -> None:
    plan = BUFFERS.plan(PAGE_LOG2)
    with PcieLaneSimulator(128, mps=128) as lane:
        engine = PcieEngine(lane)
        engine.open(plan, [index << PAGE_LOG2 for index in range(plan.pages)])
        with pytest.raises(BoardError, match="PacketBeats"):
            PacketEndpoint(engine, EngineEndpoint(engine), BUFFERS)


class Silent:
    """A device that the test is, with what it was told."""

    def __init__(self) -> None:
        self.posted: list[int] = []

    def post(self, count: int) -> None:
        self.posted.append(count)

    def consumed(self, count: int) -> None:
        """Nothing waits for it."""

    def wait(self, timeout_s: float) -> None:
        """Nothing comes."""

    def faults(self) -> dict[str, str]:
        return {}

    def failed(self) -> str:
        return ""

    def close(self) -> None:
        """Nothing was open."""


def told(number: int, slot: int, size: int) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
    """Four buffers, and a queue with this one event."""
    written = EventQueue(0, 2).event(Trailer(9, slot, number, 0, 0, size, 1, 0).pack(), Status.OK, 0)
    assert written is not None
    queue = np.zeros(256, np.uint8)
    queue[:64] = np.frombuffer(written[1], np.uint8)
    return np.zeros((4, 128), np.uint8), queue


@pytest.mark.parametrize(("number", "slot", "size"), [(1, 0, 10), (0, 1, 10), (0, 0, 65)])
def test_an_event_of_something_else_is_refused(number: int, slot: int, size: int) -> None:
    with (
        PacketReceiver(*told(number, slot, size), Silent()) as receiver,
        pytest.raises(TransportError, match="packets alone"),
    ):
        next(receiver.packets(0))


def test_buffers_are_posted_as_they_are_read() -> None:
    device = Silent()
    receiver = PacketReceiver(*told(0, 0, 10), device)
    assert device.posted == [4]
    (packet,) = receiver.packets(0)
    assert (packet.number, packet.data.nbytes) == (0, 10)
    assert device.posted == [4, 5]
    receiver.close()
    with pytest.raises(TransportError, match="closed"):
        next(receiver.packets(0))


@pytest.mark.parametrize(
    ("shape", "entries", "sentence"),
    [((3, 128), 4, "powers of 2"), ((4, 64), 4, "powers of 2"), ((512,), 4, "powers of 2"), ((8, 128), 4, "entries")],
)
def test_memory_of_another_shape_is_refused(shape: tuple[int, ...], entries: int, sentence: str) -> None:
    with pytest.raises(ConfigError, match=sentence):
        PacketReceiver(np.zeros(shape, np.uint8), np.zeros(64 * entries, np.uint8), Silent())


def test_buffers_are_as_large_as_their_packets_need() -> None:
    assert PacketBuffers.of(64, 2) == PacketBuffers(7, 1)
    assert PacketBuffers.of(65, 3) == PacketBuffers(8, 2)
    assert PacketBuffers.of((1 << 16) - 64, 1) == PacketBuffers(16, 1)
    for numbers, sentence in (((6, 3), "128 bytes"), ((7, 17), "give 1 to 16"), ((7, 3, 256), "0 to 255")):
        with pytest.raises(ConfigError, match=sentence):
            PacketBuffers(*numbers)
    with pytest.raises(ConfigError, match="no buffer"):
        PacketBuffers.of((1 << 16) - 63, 1)
