"""The Verilated transmitter with RC and a station, on a wire: what it hears, when it answers, that nothing is lost."""

import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from scapy.layers.l2 import ARP, Ether
from scapy.packet import Packet

from framelane.base.errors import InputError
from framelane.driver.board.board import Board
from framelane.driver.board.network import Network
from framelane.driver.registers.register_file import RegisterFile
from framelane.driver.simulated.verilated_board import give_credit
from framelane.driver.simulated.verilated_rc import RC_DEPTH, RC_QPS, SLOW_HZ, SimulatedRcBoard
from framelane.models.placement.flow import FrameEvent
from framelane.models.placement.slots import FREE_RUNNING
from framelane.models.rc.lossy_network import LinkImpairments
from framelane.models.rc.rc_protocol import RcLimits
from framelane.models.rc.rc_remote import RcRemote
from framelane.models.rc.rc_responder import RcResponder, Region
from framelane.models.roce_tx.roce_qp import AckPolicy, Service
from framelane.models.tx import TxConfig
from framelane.session.session import Session
from widths import WIDTHS

MAC, IP = "02:00:00:00:00:01", "10.0.0.1"
OTHER_MAC, OTHER_IP = "02:00:00:00:00:02", "10.0.0.2"
BROADCAST = "ff:ff:ff:ff:ff:ff"
FRAMES = 12
STRIDE = 1 << 16
PATIENCE = 200_000
"""Clock cycles."""


@pytest.fixture(params=WIDTHS)
def board(request: pytest.FixtureRequest) -> Iterator[SimulatedRcBoard]:
    """One that answers ARP; its link is down."""
    with SimulatedRcBoard(request.param, clock_hz=SLOW_HZ) as board:
        registers = RegisterFile(board)
        registers["local_mac"] = int(MAC.replace(":", ""), 16)
        registers["local_ip"] = 0x0A000001
        registers["station.arp"] = 1
        yield board


def question(ip: str = IP) -> Packet:
    return Ether(src=OTHER_MAC, dst=BROADCAST) / ARP(op=1, hwsrc=OTHER_MAC, psrc=OTHER_IP, pdst=ip)


def station_counter(board: SimulatedRcBoard, name: str) -> int:
    station = Board(board).counters().station
    assert station
    return station.events[name]


def test_the_address_is_announced_when_the_link_comes_up_and_not_before(board: SimulatedRcBoard) -> None:
    assert board.step_until(2000) == 2000
    assert board.take() == []
    board.link_up(True)
    assert board.step_until(2000) < 2000
    (announced,) = map(Ether, board.take())
    assert (announced.dst, announced.src, announced[ARP].psrc, announced[ARP].pdst) == (BROADCAST, MAC, IP, IP)
    board.step(2000)
    assert board.take() == []


def test_a_frame_that_comes_in_is_answered_and_a_damaged_one_is_dropped(board: SimulatedRcBoard) -> None:
    board.receive(bytes(question()), bad=True)
    assert board.step_until(2000) == 2000
    board.receive(bytes(question()))
    assert board.step_until(2000) < 200
    ((cycle, packet),) = board.take_stamped()
    assert cycle == board.cycle
    reply = Ether(packet)
    assert reply.answers(question())
    assert (reply.dst, reply[ARP].hwsrc) == (OTHER_MAC, MAC)
    assert len(packet) == 60
    assert (station_counter(board, "rx_bad"), station_counter(board, "arp_answered")) == (1, 1)


def test_frames_come_in_back_to_back_a_beat_a_cycle(board: SimulatedRcBoard) -> None:
    beats = -(-60 * 8 // RegisterFile(board)["capabilities.data_width"])
    for k in range(3):
        board.receive(bytes(question(f"10.0.0.{100 + k}")))
    board.step(3 * beats - 1)
    assert board.waiting == 1
    board.step(1)
    assert board.waiting == 0


def test_it_says_what_it_is(board: SimulatedRcBoard) -> None:
    capabilities = Board(board).probe()
    assert (capabilities.rc, capabilities.station, capabilities.clock_hz) == (True, True, SLOW_HZ)
    assert RegisterFile(board).read_register("rc_sizes") == {"qps": RC_QPS, "depth": RC_DEPTH}
    with pytest.raises(InputError, match="without bytes"):
        board.receive(b"")


@pytest.mark.parametrize("loss", [0.0, 0.05])
def test_frames_lost_on_the_way_are_sent_again(loss: float, make_session: Callable[..., Session]) -> None:
    session = make_session(psn=0xFFFFF0, mtu=512, n_slots=FRAMES)
    plain = session.tx_config()
    (qp,) = plain.qps
    qp = replace(qp, service=Service.RC, ack_policy=AckPolicy.LAST)
    memory = bytearray(session.n_slots * session.slot_bytes)
    receiver = RcResponder(qp.psn, qp.mtu, Region(session.base, qp.rkey, memory))
    remote = RcRemote({qp.dest_qpn: receiver}, LinkImpairments(delay=200, loss=loss, duplicate=loss / 2), 5)
    images = [np.random.default_rng(k).bytes(session.image_bytes) for k in range(FRAMES)]
    with SimulatedRcBoard(clock_hz=SLOW_HZ, latency=30) as simulated:
        start(simulated, replace(plain, qps=(qp,)))
        for k, image in enumerate(images):
            simulated.write_memory(k * STRIDE, image)
            simulated.offer(FrameEvent(k, 1000 + k, k, k * STRIDE))
        carry(simulated, remote, lambda: simulated.released == FRAMES)
        counted = station_counter(simulated, "rc_again")
    slots = [memory[k * session.slot_bytes :][: session.image_bytes] for k in range(FRAMES)]
    assert slots == images
    assert receiver.writes.max() == 1
    assert receiver.counts["duplicate"] or not loss
    assert bool(counted) == bool(loss)


def start(board: SimulatedRcBoard, config: TxConfig) -> None:
    """Configure and arm it."""
    driver = Board(board)
    driver.configure(config, network=Network(limits=(RcLimits(window=64, timeout=4, backoff=1, retries=7),)))
    give_credit(driver, config, FREE_RUNNING)
    driver.arm()


def carry(board: SimulatedRcBoard, remote: RcRemote, done: Callable[[], bool]) -> None:
    """Let packets and acknowledgements pass, until `done`."""
    end = board.cycle + PATIENCE
    while not done():
        assert board.cycle < end, "frames hang"
        board.step_until(50)
        for cycle, packet in board.take_stamped():
            remote.send(cycle, [packet])
        for answer in remote.due(board.cycle):
            board.receive(answer)


def test_whoever_waits_for_a_simulated_board_does_not_sleep(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its clock stands still meanwhile."""

    def asleep(seconds: float) -> None:
        raise AssertionError(f"slept for {seconds} s")

    own = SimpleNamespace(sleep=asleep, monotonic=time.monotonic)  # other threads may sleep
    monkeypatch.setattr("framelane.driver.board.board.time", own)
    with SimulatedRcBoard(clock_hz=SLOW_HZ) as simulated:
        assert Board(simulated).counters().flows
