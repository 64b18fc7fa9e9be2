"""The contract of all transports, on each of them: the same packets in, the same ring out."""

import struct
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from framelane.base.errors import TransportError
from framelane.models.placement.slots import HOLE_WORD
from framelane.models.placement.trailer import immediate
from framelane.models.roce_tx import roce_icrc
from framelane.models.roce_tx.packet_batch import Batch
from framelane.models.tx import tx
from framelane.packets.pcap import PcapWriter
from framelane.receiver.ring.receiver import Receiver
from framelane.receiver.ring.ring import Ring
from framelane.receiver.ring.tally import Tally
from framelane.receiver.transport import sockets
from framelane.receiver.transport.packet_port import PacketPort
from framelane.receiver.transport.pcap_port import PcapPort
from framelane.receiver.transport.softnic import SoftNic
from framelane.receiver.transport.transport import Completion, Counters, Transport
from framelane.receiver.transport.udp_port import UdpPort
from framelane.session.session import Session
from framelane.source.sender import PacketSender, UdpSender

MakeSession = Callable[..., Session]
MakeImages = Callable[..., list[NDArray[np.uint16]]]
Connect = Callable[[Session, Ring, list[bytes], Session], AbstractContextManager[Transport]]
PATIENCE_S = 10.0


@pytest.fixture(params=["pcap", "softnic-udp", "softnic-packet"])
def connect(request: pytest.FixtureRequest, tmp_path: Path) -> Connect:
    """Open a transport of each kind, with `frames` on their way to it from the source of the session `sender`."""

    @contextmanager
    def pcap(session: Session, ring: Ring, frames: list[bytes], sender: Session) -> Iterator[Transport]:
        with PcapWriter(tmp_path / "x.pcap", force=True) as writer:
            for frame in frames:
                writer.write(frame)
        with SoftNic(PcapPort(tmp_path / "x.pcap"), ring.memory, session) as nic:
            yield nic

    @contextmanager
    def softnic_udp(session: Session, ring: Ring, frames: list[bytes], sender: Session) -> Iterator[Transport]:
        port = UdpPort(session, 0)
        with SoftNic(port, ring.memory, session) as nic, UdpSender(sender, port.address[1]) as socket:
            socket.send(frames)
            yield nic

    @contextmanager
    def softnic_packet(session: Session, ring: Ring, frames: list[bytes], sender: Session) -> Iterator[Transport]:
        here, there = request.getfixturevalue("network")
        with SoftNic(PacketPort(there), ring.memory, session) as nic, PacketSender(here) as socket:
            socket.send(frames)
            yield nic

    kinds: dict[str, Connect] = {"pcap": pcap, "softnic-udp": softnic_udp, "softnic-packet": softnic_packet}
    return kinds[request.param]


def deliver(
    connect: Connect, session: Session, frames: list[bytes], sender: Session | None = None
) -> tuple[Ring, list[Completion], Counters]:
    """All of `frames` through a transport into a new ring."""
    ring = Ring(session)
    completions: list[Completion] = []
    with connect(session, ring, frames, sender or session) as transport:
        deadline = time.monotonic() + PATIENCE_S
        while transport.counters.packets < len(frames) and time.monotonic() < deadline:
            completions += transport.poll(0.1)
        return ring, completions, transport.counters


def flip(frame: bytes, offset: int, reseal: bool = False) -> bytes:
    """Corrupt a byte; `reseal`: with the right ICRC for it."""
    bad = bytearray(frame)
    bad[offset] ^= 0x10
    return roce_icrc.append(bytes(bad[:-4])) if reseal else bytes(bad)


@pytest.mark.parametrize("segmentation", ["only", "message"])
def test_frames_lie_in_their_slots_byte_for_byte_and_complete_in_order(
    connect: Connect, make_session: MakeSession, make_images: MakeImages, segmentation: str
) -> None:
    session = make_session(segmentation=segmentation)
    images = make_images(session, 4)
    packets = tx([image.tobytes() for image in images], session.tx_config())
    ring, completions, counters = deliver(connect, session, packets)
    assert all(np.array_equal(ring.image(n), image) for n, image in enumerate(images))
    assert completions == [Completion(immediate(0, n)) for n in range(4)]
    assert counters == Counters(packets=20, placed=20, payload_bytes=4 * (3200 + 64), completions=4)


@pytest.mark.parametrize("segmentation", ["only", "message"])
def test_lost_packets_leave_holes_of_exactly_their_bytes(
    connect: Connect, make_session: MakeSession, make_images: MakeImages, segmentation: str
) -> None:
    session = make_session(segmentation=segmentation)
    images = make_images(session, 2)
    packets = tx([image.tobytes() for image in images], session.tx_config())
    ring, completions, counters = deliver(connect, session, packets[:1] + packets[2:])
    hole = slice(512, 1024 if segmentation == "only" else None)
    assert ring.hole_mask(0).ravel().nonzero()[0].tolist() == list(range(1600))[hole]
    assert np.array_equal(ring.image(0)[~ring.hole_mask(0)], images[0][~ring.hole_mask(0)])
    assert np.array_equal(ring.image(1), images[1])
    assert len(completions) == 2, "a completion does not prove a whole frame"
    assert counters.lost == 1


@pytest.mark.parametrize(
    ("offset", "reason"), [(46, None), (48, "qpn"), (45, "pkey"), (62, "rkey"), (54, "bounds"), (68, "length")]
)
def test_a_packet_with_a_wrong_field_is_refused_by_name_and_nothing_is_written(
    connect: Connect, make_session: MakeSession, make_images: MakeImages, offset: int, reason: str | None
) -> None:
    session = make_session()
    packet = tx([make_images(session, 1)[0].tobytes()], session.tx_config())[0]
    ring, _, counters = deliver(connect, session, [flip(packet, offset, reseal=True), flip(packet, offset)])
    if reason is None:
        assert counters.placed == 2, "a reserved byte that routers may change"
        return
    assert counters.refused == {reason: 1, "icrc": 1}
    assert (ring.memory.view("<u2") == HOLE_WORD).all()


def test_corrupted_payload_is_refused_and_the_packets_around_it_are_placed(
    connect: Connect, make_session: MakeSession, make_images: MakeImages
) -> None:
    session = make_session()
    packets = tx([make_images(session, 1)[0].tobytes()], session.tx_config())
    packets[2] = flip(packets[2], 500)
    ring, completions, counters = deliver(connect, session, packets)
    assert ring.holes(0) == 512
    assert len(completions) == 1
    assert (counters.placed, dict(counters.refused), counters.lost) == (4, {"icrc": 1}, 1)


def test_a_foreign_source_is_not_heard(connect: Connect, make_session: MakeSession, make_images: MakeImages) -> None:
    session = make_session()
    foreign = make_session(source={"mac": "02:00:00:00:00:09", "ip": "127.9.9.9"})
    packets = tx([make_images(session, 1)[0].tobytes()], foreign.tx_config())
    ring, completions, counters = deliver(connect, session, packets, foreign)
    assert not completions
    assert counters.refused == {"source": 5}
    assert ring.blank(0)


def test_a_run_longer_than_the_ring_comes_through_with_its_losses_named(
    connect: Connect, make_session: MakeSession, make_images: MakeImages
) -> None:
    session = make_session()
    images = make_images(session, 12)
    packets = tx([image.tobytes() for image in images], session.tx_config())
    lost = {7, 34, *range(45, 50)}  # pixels of frame 1, the trailer of 6, all of 9
    sent = [packet for n, packet in enumerate(packets) if n not in lost]
    ring = Ring(session)
    seen: dict[int, bool] = {}
    with connect(session, ring, sent, session) as transport:
        receiver = Receiver(ring, transport)
        deadline = time.monotonic() + PATIENCE_S
        while ring.window.next < 12 and time.monotonic() < deadline:
            for frame in receiver.poll(0.1):
                seen[frame.number] = frame.complete
                found = frame.image != HOLE_WORD
                assert np.array_equal(frame.image[found], images[frame.number][found])
                assert receiver.release(frame)
    assert seen == {n: n not in (1, 6) for n in range(12) if n != 9}
    assert receiver.tally(12) == Tally(12, 9, 2, 0, 0, 1)


def test_nothing_to_come_is_awaited_no_longer_than_asked(connect: Connect, make_session: MakeSession) -> None:
    session = make_session()
    with connect(session, Ring(session), [], session) as transport:
        start = time.monotonic()
        assert transport.poll(0.05) == transport.poll(0) == []
        assert time.monotonic() - start < 1


def test_what_has_come_is_not_kept_waiting_for_more(
    connect: Connect, make_session: MakeSession, make_images: MakeImages
) -> None:
    session = make_session()
    packets = tx([make_images(session, 1)[0].tobytes()], session.tx_config())
    with connect(session, Ring(session), packets[:2], session) as transport:
        start = time.monotonic()
        assert transport.poll(PATIENCE_S) == []
        assert time.monotonic() - start < PATIENCE_S / 2
        assert transport.counters.placed
        while transport.counters.placed < 2:  # the second may still have been on its way
            assert time.monotonic() - start < PATIENCE_S / 2
            assert transport.poll(0.01) == []


def test_a_poll_waits_for_the_first_packets_only(make_session: MakeSession, make_images: MakeImages) -> None:
    waits: list[float] = []

    class Noting(UdpPort):
        def batch(self, timeout_s: float) -> Batch:
            waits.append(timeout_s)
            return super().batch(timeout_s)

    session = make_session()
    packets = tx([make_images(session, 1)[0].tobytes()], session.tx_config())
    port = Noting(session, 0)
    with SoftNic(port, Ring(session).memory, session) as nic, UdpSender(session, port.address[1]) as sender:
        sender.send(packets[:2])
        assert nic.poll(PATIENCE_S) == []
        assert nic.counters.placed == 2
    assert waits[0] == PATIENCE_S
    assert set(waits[1:]) == {0}


def test_a_live_wire_is_awaited(make_session: MakeSession, make_images: MakeImages) -> None:
    session = make_session()
    packets = tx([make_images(session, 1)[0].tobytes()], session.tx_config())
    port = UdpPort(session, 0)
    with SoftNic(port, Ring(session).memory, session) as nic, UdpSender(session, port.address[1]) as sender:
        later = threading.Timer(0.1, sender.send, [packets[-1:]])
        later.start()
        assert nic.poll(PATIENCE_S) == [Completion(immediate(0, 0))]
        later.join()


def test_closing_frees_the_wire_and_does_no_harm_twice(connect: Connect, make_session: MakeSession) -> None:
    session = make_session()
    for _ in range(2):
        with connect(session, Ring(session), [], session) as transport:
            transport.close()


def listening(kind: str, session: Session, interface: str) -> UdpPort | PacketPort:
    return UdpPort(session) if kind == "udp" else PacketPort(interface)


@pytest.mark.parametrize("kind", ["udp", "packet"])
def test_packets_that_do_not_fit_the_queue_are_counted(
    make_session: MakeSession, network: tuple[str, str], monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    session = make_session()
    monkeypatch.setattr(sockets, "QUEUE_BYTES", 1 << 16)
    packets = tx([bytes(3200)] * 100, session.tx_config())
    ring = Ring(session)
    with SoftNic(listening(kind, session, "lo"), ring.memory, session) as nic:
        with UdpSender(session) if kind == "udp" else PacketSender("lo") as sender:
            sender.send(packets)
        deadline = time.monotonic() + PATIENCE_S
        while nic.counters.packets + nic.counters.queue_drops < len(packets) and time.monotonic() < deadline:
            nic.poll(0.1)
        assert nic.counters.queue_drops > 0
        assert nic.counters.packets + nic.counters.queue_drops == len(packets)


class _Statistics:
    """The part of a socket that tells how many packets it has dropped since it was asked last: one."""

    def __init__(self) -> None:
        self.told = 0
        self._lock = threading.Lock()

    def fileno(self) -> int:
        return 3

    def getsockopt(self, *_: int) -> bytes:
        with self._lock:
            self.told += 1
        time.sleep(0)  # another thread's turn
        return struct.pack("=III", 0, 1, 0)


def test_no_drop_is_forgotten_where_two_threads_ask_for_the_drops() -> None:
    """What is missing and what a status line says are asked for by different threads; the kernel tells it once."""
    port, statistics = PacketPort.__new__(PacketPort), _Statistics()
    port.__dict__.update(_socket=statistics, _drops=0, _asking=threading.Lock())
    asked = 20_000

    def ask() -> None:
        for _ in range(asked):
            _ = port.queue_drops

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        threads = [threading.Thread(target=ask) for _ in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(interval)
    assert statistics.told == 2 * asked
    assert port.queue_drops == 2 * asked + 1


def test_a_port_in_use_is_refused_with_advice(make_session: MakeSession) -> None:
    session = make_session()
    first = UdpPort(session, 0)
    port = first.address[1]
    with pytest.raises(
        TransportError, match=rf"cannot listen on UDP 127.0.0.1:{port}: the port is in use: stop the process"
    ):
        UdpPort(session, port)
    first.close()
    UdpPort(session, port).close()


def test_an_address_of_another_machine_cannot_be_listened_on(make_session: MakeSession) -> None:
    session = make_session(receiver={"mac": "02:00:00:00:00:02", "ip": "203.0.113.9"})
    with pytest.raises(TransportError, match=r"UDP 203.0.113.9:0: no interface .*correct the session's receiver.ip"):
        UdpPort(session, 0)


def test_an_unknown_interface_is_refused_with_those_there_are(network: tuple[str, str]) -> None:
    with pytest.raises(TransportError, match=r"on interface none0: No such device: choose one of lo, veth1, veth0"):
        PacketPort("none0")


def test_an_interface_that_is_down_is_told_at_once_and_when_it_goes_down(network: tuple[str, str]) -> None:
    port = PacketPort(network[1])
    subprocess.run(["ip", "link", "set", network[1], "down"], check=True)
    with pytest.raises(TransportError, match="interface veth1: Network is down: bring it up, `ip link set veth1 up`"):
        list(port.batch(1.0))
    port.close()
    with pytest.raises(TransportError, match="cannot receive on interface veth1: Network is down"):
        PacketPort(network[1])


@pytest.mark.usefixtures("unprivileged")
def test_a_packet_socket_without_privilege_is_refused_with_advice() -> None:
    with pytest.raises(TransportError, match="on interface lo: Operation not permitted: run as root, or with"):
        PacketPort("lo")


@pytest.mark.usefixtures("unprivileged")
def test_udp_needs_no_privilege(make_session: MakeSession) -> None:
    UdpPort(make_session(), 0).close()
