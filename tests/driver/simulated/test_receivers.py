"""The Verilated transmitter and real receivers, several of either: whole frames, regions, dark frames, slow readers."""

from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from cable import Cable
from framelane.base.errors import BoardError
from framelane.driver.board.board import Board
from framelane.driver.simulated.verilated import SimulatedRegisters
from framelane.models.placement.flow import Flow, FrameEvent
from framelane.models.roce_tx import wire
from framelane.models.tx import TxConfig
from framelane.receiver.ring.receiver import ReceivedFrame, Receiver
from framelane.receiver.ring.ring import Ring
from framelane.receiver.transport.softnic import SoftNic
from framelane.session.session import Session

MakeSession = Callable[..., Session]
COLUMNS, ROWS = 256, 64
PAGE = 4096


class Host:
    """One receiver: what it holds must not change while it is held, whoever writes."""

    def __init__(self, session: Session) -> None:
        self.session, self.cable = session, Cable()
        self.ring = Ring(session)
        self.receiver = Receiver(self.ring, SoftNic(self.cable, self.ring.memory, session))
        self.held: list[tuple[ReceivedFrame, NDArray[np.uint16]]] = []

    def take(self, packets: list[bytes]) -> list[ReceivedFrame]:
        """Packets that arrive; every write is watched."""
        frames: list[ReceivedFrame] = []
        for packet in packets:
            self._watch(wire.parse(packet)[0])
            self.cable.waiting.append(packet)
            while self.cable.waiting:
                frames += self.receiver.poll(0)
        self.held += [(frame, frame.image.copy()) for frame in frames]
        return frames

    def _watch(self, headers: wire.Headers) -> None:
        """No write may go to a slot that is being read. Sessions here are of WRITE ONLY: every packet says where."""
        assert headers.reth
        first = headers.reth.address - self.session.base
        slots = {first // self.session.slot_bytes, (first + headers.reth.length - 1) // self.session.slot_bytes}
        assert not slots & {frame.slot for frame, _ in self.held}, "a slot that is being read is written"

    def release(self, count: int = 1) -> list[NDArray[np.uint16]]:
        """Finish reading the oldest frames; their images, as they were all the time."""
        done, self.held = self.held[:count], self.held[count:]
        for frame, image in done:
            assert np.array_equal(frame.image, image), f"frame {frame.number} changed while it was read"
            assert self.receiver.release(frame)
        return [image for _, image in done]


class Source:
    """A Verilated transmitter that serves hosts; `host_of` finds that of a packet."""

    def __init__(self, hosts: list[Host], flows: tuple[Flow, ...], number: int = 0) -> None:
        self.hosts, self.number = hosts, number
        self.config = TxConfig(
            hosts[0].session.source.endpoint(),
            tuple(host.session.qp_context() for host in hosts),
            tuple(host.session.destination(number, qp=k) for k, host in enumerate(hosts)),
            flows,
        )
        self.simulator = SimulatedRegisters(latency=30)
        self.board = Board(self.simulator)
        self.board.configure(self.config)
        self.publish()
        self.board.arm()
        self.addresses = 0

    def publish(self) -> None:
        for index, host in enumerate(self.hosts):
            self.board.publish_credit(index, host.ring.window_end)

    def offer(self, number: int, image: NDArray[np.uint16], kind: int = 0, kind_index: int = 0) -> list[list[bytes]]:
        """Offer a frame; the packets for each host."""
        address = self.addresses % 8 * (-(-image.nbytes // PAGE) * PAGE)
        self.addresses += 1
        self.simulator.write_memory(address, image)
        self.simulator.offer(FrameEvent(number, 1000 * number, number, address, kind, kind_index))
        packets = self.simulator.run()
        qpns = [host.session.qpn for host in self.hosts]
        assert {wire.parse(packet)[0].dest_qpn for packet in packets} <= set(qpns)
        return [[p for p in packets if wire.parse(p)[0].dest_qpn == qpn] for qpn in qpns]


@pytest.fixture
def make_source() -> Iterator[Callable[..., Source]]:
    made: list[Source] = []

    def make(hosts: list[Host], flows: tuple[Flow, ...], number: int = 0) -> Source:
        made.append(Source(hosts, flows, number))
        return made[-1]

    yield make
    for source in made:
        source.simulator.close()


MakeSource = Callable[..., Source]


def images(count: int, rows: int = ROWS, columns: int = COLUMNS) -> NDArray[np.uint16]:
    return np.random.default_rng(3).integers(0, 0x8000, (count, rows, columns), np.uint16)


def test_eight_modules_fill_one_image_of_4_megapixels(make_session: MakeSession, make_source: MakeSource) -> None:
    host = Host(make_session(rows=4096, columns=1024, sources=8, mtu=4096, n_slots=2))
    modules = images(2 * 8, 512, 1024).reshape(2, 8, 512, 1024)
    for number in range(8):
        source = make_source([host], (host.session.flow(number),), number)
        arrived = [source.offer(frame, modules[frame, number])[0] for frame in range(2)]
        source.simulator.close()
        frames = [frame for packets in arrived for frame in host.take(packets)]
        assert [frame.number for frame in frames] == ([0, 1] if number == 7 else []), "complete with the last trailer"
    assert all(frame.complete for frame, _ in host.held)
    assert np.array_equal(np.array(host.release(2)), modules.reshape(2, 4096, 1024))
    assert host.receiver.tally().complete == 2


def test_modules_side_by_side_go_into_one_image_by_its_pitch(
    make_session: MakeSession, make_source: MakeSource
) -> None:
    """Two columns of two modules each: their lines alternate in the image's memory."""
    host = Host(make_session(rows=2 * ROWS, columns=2 * COLUMNS, sources=4))
    parts = images(4)
    for number in range(4):
        flow = replace(host.session.flow(number), width=COLUMNS, height=ROWS, source_pitch=2 * COLUMNS)
        flow = replace(flow, x1=number % 2 * COLUMNS, y1=number // 2 * ROWS)
        source = make_source([host], (flow,), number)
        frames = host.take(source.offer(0, parts[number])[0])
        source.simulator.close()
    assert [frame.complete for frame in frames] == [True]
    assert np.array_equal(host.release()[0], np.block([[parts[0], parts[1]], [parts[2], parts[3]]]))


def test_frames_go_to_two_receivers_in_bunches(make_session: MakeSession, make_source: MakeSource) -> None:
    hosts = [Host(make_session(rows=ROWS, columns=COLUMNS, qpn=k + 2, base=(k + 1) << 40)) for k in range(2)]
    source = make_source(hosts, (replace(hosts[0].session.flow(), destinations=2, bunch=3),))
    sent = images(18)
    seen: list[list[int]] = [[], []]
    for number in range(18):
        for k, packets in enumerate(source.offer(number, sent[number])):
            for frame in hosts[k].take(packets):
                assert frame.complete
                trailer = frame.trailers[0]
                assert trailer
                assert trailer.detector_frame == number
                seen[k].append(number)
                assert np.array_equal(hosts[k].release()[0], sent[number])
        source.publish()
    assert seen == [[0, 1, 2, 6, 7, 8, 12, 13, 14], [3, 4, 5, 9, 10, 11, 15, 16, 17]]
    assert [host.receiver.tally().complete for host in hosts] == [9, 9]


def test_whole_frames_a_region_and_dark_frames_at_once(make_session: MakeSession, make_source: MakeSource) -> None:
    """Whole frames to one receiver, a region of every 10th to another, dark frames only to a third."""
    x0, y0, width, height = 37, 11, 101, 29
    sizes = ((ROWS, COLUMNS), (height, width), (ROWS, COLUMNS))
    hosts = [
        Host(make_session(rows=rows, columns=columns, qpn=k + 2, base=(k + 1) << 40, n_slots=3))
        for k, (rows, columns) in enumerate(sizes)
    ]
    whole, region, dark = (replace(host.session.flow(), first_destination=k) for k, host in enumerate(hosts))
    region = replace(region, x0=x0, y0=y0, source_pitch=2 * COLUMNS, period=10)
    source = make_source(hosts, (whole, region, replace(dark, kind=1)))
    sent = images(40)
    seen: list[list[int]] = [[], [], []]
    darks = 0
    for number in range(40):
        kind = int(number % 7 == 3)
        arrived = source.offer(number, sent[number], kind, darks if kind else number - darks)
        darks += kind
        for k, packets in enumerate(arrived):
            for frame in hosts[k].take(packets):
                assert frame.complete
                wanted = sent[number][y0 : y0 + height, x0 : x0 + width] if k == 1 else sent[number]
                assert np.array_equal(hosts[k].release()[0], wanted)
                seen[k].append(number)
        source.publish()
    assert seen == [list(range(40)), list(range(0, 40, 10)), list(range(3, 40, 7))]


def test_a_slow_reader_loses_whole_frames_and_what_it_reads_never_changes(
    make_session: MakeSession, make_source: MakeSource
) -> None:
    """The reader gives back one frame where three come. Two frames are held all the time."""
    host = Host(make_session(rows=ROWS, columns=COLUMNS, n_slots=3))
    source = make_source([host], (host.session.flow(),))
    sent = images(30)
    offered, read = 0, []
    for number in range(30):
        host.take(source.offer(number, sent[number])[0])
        offered += 1
        counters = source.board.counters().destinations[0]
        host.held += [(f, f.image.copy()) for f in host.receiver.settle(offered, counters.dropped + counters.skipped)]
        if number % 3 == 2:
            read += [frame.number for frame, _ in host.held[:1]]
            host.release()
            source.publish()
    while host.held:
        read += [frame.number for frame, _ in host.held[:1]]
        host.release()
    tally = host.receiver.tally(offered)
    assert tally.holds
    assert (tally.incomplete, tally.dropped_by_host, tally.missing) == (0, 0, 0)
    assert tally.complete == len(read) == 30 - tally.dropped_at_source
    assert 9 <= tally.complete <= 14
    end = source.board.counters().destinations[0]
    assert (end.sent, end.dropped) == (tally.complete, tally.dropped_at_source)
    assert source.simulator.released == 30


def test_frames_lost_before_the_first_that_came_do_not_stop_the_credit(
    make_session: MakeSession, make_source: MakeSource
) -> None:
    """More of them than the ring has slots: all that the receiver knows is the source's counters."""
    host = Host(make_session(rows=ROWS, columns=COLUMNS, n_slots=3))
    source = make_source([host], (host.session.flow(),))
    sent = images(10)
    complete = []
    for number in range(5, 10):
        host.take(source.offer(number, sent[number])[0])
        now = source.board.counters().destinations[0]
        lost = now.dropped + now.skipped
        host.held += [(f, f.image.copy()) for f in host.receiver.settle(now.sent + lost, lost)]
        complete += [frame.number for frame, _ in host.held]
        host.release(len(host.held))
        source.publish()
    assert complete == [6, 7, 8, 9]
    tally = host.receiver.tally(10)
    assert tally.holds
    assert (tally.complete, tally.dropped_at_source, tally.missing) == (4, 6, 0)


def test_the_next_client_starts_clean_after_one_that_died_while_armed(
    make_session: MakeSession, make_source: MakeSource
) -> None:
    first, second = (Host(make_session(rows=ROWS, columns=COLUMNS, qpn=k, base=k << 40)) for k in (2, 3))
    source = make_source([first], (first.session.flow(),))
    sent = images(6)
    for number in range(3):
        packets = source.offer(number, sent[number])[0]
        first.take(packets)
    source.simulator.write_memory(0, sent[3])
    source.simulator.offer(FrameEvent(3, 0, 0, 0))
    source.simulator.step(40)  # a frame is under way; nobody is there any more
    assert source.board.state().armed
    newcomer = Board(source.simulator)
    config = second.session.tx_config()
    newcomer.configure(config)
    rest = source.simulator.take()
    assert len(rest) == len(packets), "what was under way is sent to its end"
    assert {wire.parse(packet)[0].dest_qpn for packet in rest} == {2}
    assert source.simulator.released == 4
    assert not newcomer.state().armed
    assert newcomer.counters().destinations[0].sent == 0
    newcomer.publish_credit(0, second.ring.window_end)
    source.simulator.offer(FrameEvent(7, 0, 0, 0))
    assert source.simulator.run() == [], "not armed yet"
    newcomer.arm()
    newcomer.arm()
    source.hosts = [second]
    (frame,) = second.take(source.offer(0, sent[4])[0])
    assert frame.complete
    assert np.array_equal(second.release()[0], sent[4])
    newcomer.disarm()
    newcomer.disarm()
    assert source.offer(1, sent[5]) == [[]]
    assert newcomer.counters().frames_ignored == 2


def test_the_configuration_may_change_between_runs_without_loading_anything(
    make_session: MakeSession, make_source: MakeSource
) -> None:
    """Whole frames, then a region of them, then whole frames with numbers that start anew."""
    whole = Host(make_session(rows=ROWS, columns=COLUMNS))
    source = make_source([whole], (whole.session.flow(),))
    sent = images(4)
    for turn in range(3):
        host = Host(make_session(rows=20, columns=50, qpn=9)) if turn == 1 else Host(whole.session)
        flow = host.session.flow()
        if turn == 1:
            flow = replace(flow, x0=5, y0=6, source_pitch=2 * COLUMNS)
        source.hosts = [host]
        source.board.configure(replace(host.session.tx_config(), flows=(flow,)))
        source.publish()
        source.board.arm()
        for number in range(2):
            (frame,) = host.take(source.offer(number, sent[number])[0])
            assert frame.complete
            wanted = sent[number][6:26, 5:55] if turn == 1 else sent[number]
            assert np.array_equal(host.release()[0], wanted)
            assert frame.trailers[0]
            assert frame.trailers[0].frames_dropped == 0


def test_a_link_that_is_down_is_said_when_the_board_is_to_be_configured(make_session: MakeSession) -> None:
    host = Host(make_session(rows=512, columns=1024))  # 4 million cycles, where one in 256 takes a beat
    with SimulatedRegisters(sink_stall=0.999) as simulator:
        board = Board(simulator, timeout_s=0.5)
        board.configure(host.session.tx_config())
        board.publish_credit(0, 1)
        board.arm()
        simulator.write_memory(0, np.zeros((512, 1024), np.uint16))
        simulator.offer(FrameEvent(0, 0, 0, 0))
        simulator.step(500)
        with pytest.raises(BoardError, match=r"a frame is still under way .* Ethernet link down"):
            board.configure(host.session.tx_config())
