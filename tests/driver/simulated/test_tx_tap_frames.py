"""Frames from the simulated transmitter to a receiver on Linux, over a tap device, to a MAC that it asked for."""

import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from framelane.driver.board.station import text
from framelane.driver.simulated.verilated_board import give_credit
from framelane.models.placement.flow import FrameEvent
from framelane.models.placement.slots import FREE_RUNNING
from framelane.models.rc.lossy_network import LinkImpairments
from framelane.models.rc.rc_protocol import RcLimits
from framelane.models.rc.rc_remote import RcRemote
from framelane.models.rc.rc_responder import RcResponder, Region
from framelane.models.roce_tx import wire as roce
from framelane.models.tx import TxConfig
from framelane.receiver.ring.receiver import ReceivedFrame, Receiver
from framelane.receiver.ring.ring import Ring
from framelane.receiver.transport.softnic import SoftNic
from framelane.receiver.transport.udp_port import UdpPort
from framelane.session.session import Session
from tap_wire import HOST, NETWORK, OUR_MAC, TAP, US, Wire, icmp_errors, ip, tap_mac, tap_wire, tool

MakeSession = Callable[..., Session]
MakeImages = Callable[..., list[NDArray[np.uint16]]]
WRONG_MAC = "02:00:00:00:00:77"
FRAMES = 12
STRIDE = 1 << 18
ROWS, COLUMNS = 128, 512
IN_FLIGHT = 3
QUESTION = bytes.fromhex("0806 0001 0800 06 04 0001 020000000002 0a4d0002 000000000000 0a4d0001")
ECHO_REPLY = b"\0\0"
IPV4, UDP, ICMP = b"\x08\x00", 17, 1


@pytest.fixture
def wire(network: tuple[str, str]) -> Iterator[Wire]:
    with tap_wire() as wire:
        yield wire


@pytest.fixture
def session(make_session: MakeSession) -> Session:
    """Session of a receiver on Linux whose MAC address is not known."""
    return make_session(source={"mac": OUR_MAC, "ip": US}, receiver={"mac": WRONG_MAC, "ip": HOST}, n_slots=FRAMES)


def start(wire: Wire, config: TxConfig, limits: RcLimits | None = None) -> TxConfig:
    """Configure the transmitter, which asks for the receiver's MAC, and arm it."""
    known = wire.board.configure(config, network=replace(NETWORK, ask=(ip(HOST),), limits=(limits,)))
    give_credit(wire.board, config, FREE_RUNNING)
    wire.board.arm()
    return known


def offer(wire: Wire, number: int, image: NDArray[np.uint16]) -> None:
    with wire.tap_board.still() as board:
        address = number % FRAMES * STRIDE
        board.write_memory(address, image)
        board.offer(FrameEvent(number, 1000 + number, 7, address))


def released(wire: Wire) -> int:
    with wire.tap_board.still() as board:
        return board.released


@contextmanager
def packet_socket() -> Iterator[socket.socket]:
    """What Linux takes from the wire, and what is sent to it."""
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(0x0800)) as raw:
        raw.bind((TAP, 0x0800))
        raw.setblocking(False)
        yield raw


def heard(raw: socket.socket) -> list[bytes]:
    """RoCEv2 packets that have come."""
    frames = []
    with suppress(BlockingIOError):
        while True:
            frame, (_, _, kind, *_) = raw.recvfrom(1 << 16)
            if kind == socket.PACKET_HOST and is_roce(frame):
                frames.append(frame)
    return frames


def is_roce(frame: bytes) -> bool:
    return frame[12:14] == IPV4 and frame[23] == UDP and frame[36:38] == roce.ROCE_PORT.to_bytes(2, "big")


def is_pong(frame: bytes) -> bool:
    return frame[12:14] == IPV4 and frame[23] == ICMP and frame[34:36] == ECHO_REPLY


def kinds_of(frames: list[bytes]) -> str:
    """One letter for each: r for RoCEv2, p for an answer to ping; others are left out."""
    return "".join("r" * is_roce(frame) + "p" * is_pong(frame) for frame in frames)


def test_the_mac_is_asked_for_before_the_first_packet_and_the_receiver_on_linux_gets_its_frames(
    wire: Wire, session: Session, make_images: MakeImages
) -> None:
    images, ring = make_images(session, FRAMES), Ring(session)
    got: list[ReceivedFrame] = []
    with closing(UdpPort(session)) as port, packet_socket() as raw:
        receiver = Receiver(ring, SoftNic(port, ring.memory, session))
        known = start(wire, session.tx_config())
        for number, image in enumerate(images):
            offer(wire, number, image)
        deadline = time.monotonic() + 20
        while len(got) < FRAMES and time.monotonic() < deadline:
            got += receiver.poll(0.05)
        packets = heard(raw)
    assert text(known.qps[0].dst.mac) == tap_mac() != WRONG_MAC
    assert [frame.number for frame in got] == list(range(FRAMES))
    assert all(frame.complete and np.array_equal(frame.image, images[frame.number]) for frame in got)
    assert {packet[:6].hex(":") for packet in packets} == {tap_mac()}
    sent = wire.tap_board.take()
    assert [frame for frame in sent if is_roce(frame)] == packets
    first = next(at for at, frame in enumerate(sent) if is_roce(frame))
    assert [frame for frame in sent[:first] if frame[12:42] == QUESTION]


def test_pings_are_answered_between_the_packets_of_frames(
    wire: Wire, session: Session, make_session: MakeSession, make_images: MakeImages
) -> None:
    """Frames follow each other without a pause."""
    nodes = {"source": session.source, "receiver": session.receiver}
    large = make_session(**nodes, rows=ROWS, columns=COLUMNS)
    images, ring, offered, got, kinds = make_images(large, 3), Ring(large), 0, 0, ""
    with closing(UdpPort(large)) as port:
        receiver = Receiver(ring, SoftNic(port, ring.memory, large))
        start(wire, large.tx_config())
        command = [tool("ping"), "-n", "-q", "-A", "-c", "60", "-s", "700", US]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as pinging:
            end = time.monotonic() + 120
            while got < offered or pinging.poll() is None:
                assert time.monotonic() < end, f"{got} of {offered} frames came"
                while offered - got < IN_FLIGHT and pinging.poll() is None:
                    offer(wire, offered, images[offered % 3])
                    offered += 1
                for frame in wire.until(lambda: receiver.poll(0.01)):
                    assert (frame.number, frame.complete) == (got, True)
                    assert np.array_equal(frame.image, images[got % 3])
                    receiver.release(frame)
                    got += 1
                kinds += kinds_of(wire.tap_board.take())
            assert pinging.stdout
            report = pinging.stdout.read()
    assert pinging.returncode == 0, report
    assert " 0% packet loss" in report
    assert icmp_errors() == 0
    assert wire.counters()["echo_answered"] == 60
    kinds += kinds_of(wire.tap_board.take())
    assert (kinds.count("p"), kinds.count("r")) == (60, got * (ROWS * COLUMNS * 2 // large.mtu + 1))
    assert kinds.count("rpr") > 10, "answers wait until there are no packets"


@pytest.mark.parametrize("loss", [0.0, 0.1])
def test_rc_over_the_wire_loses_nothing(wire: Wire, session: Session, make_images: MakeImages, loss: float) -> None:
    """The receiver is a program with a packet socket; the kernel, too, sees all packets."""
    session = session.model_copy(update={"service": "RC"})
    config = session.tx_config()
    (qp,) = config.qps
    memory = bytearray(session.n_slots * session.slot_bytes)
    responder = RcResponder(qp.psn, qp.mtu, Region(session.base, qp.rkey, memory))
    remote = RcRemote({qp.dest_qpn: responder}, LinkImpairments(loss=loss), 3)
    images = make_images(session, FRAMES)
    with closing(UdpPort(session)), packet_socket() as raw:
        start(wire, config, RcLimits(window=16, timeout=7, backoff=3, retries=15))
        for number, image in enumerate(images):
            offer(wire, number, image)
        deadline = time.monotonic() + 40
        while released(wire) < FRAMES and time.monotonic() < deadline:
            now = time.monotonic_ns()
            remote.send(now, heard(raw))
            for answer in remote.due(now):
                raw.send(answer)
            time.sleep(0.001)
    slots = [memory[k * session.slot_bytes :][: session.image_bytes] for k in range(FRAMES)]
    assert slots == [image.tobytes() for image in images]
    assert responder.writes.max() == 1
    counters = wire.board.counters()
    assert counters.destinations[0].sent == FRAMES
    assert counters.station
    assert bool(counters.station.events["rc_again"]) == bool(loss)
