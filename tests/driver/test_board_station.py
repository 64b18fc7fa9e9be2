"""A board as a neighbour on its link: ARP, pauses, congestion control, as its file says."""

from collections.abc import Callable
from dataclasses import replace
from ipaddress import IPv4Address
from pathlib import Path

import pytest

from framelane.base.errors import BoardError
from framelane.driver.board.board import Board
from framelane.driver.registers.register_file import RegisterFile
from framelane.driver.simulated.verilated_rc import SLOW_HZ, SimulatedRcBoard
from framelane.models.rc.lossy_network import LinkImpairments
from framelane.models.roce_tx.wire import Endpoint
from framelane.models.station.arp import ArpPacket, Operation
from framelane.session.session import Session
from rc_board import RcLink, configure, images, write_file

MakeSession = Callable[..., Session]
LOSSLESS = LinkImpairments(delay=100)
HERE = Endpoint(0x020000000001, 0x0A000001)
THERE = Endpoint(0x020000000002, 0x0A000002)


def answering(link: RcLink, simulated: SimulatedRcBoard, mac: int) -> Callable[[int], int]:
    """Let the machine at THERE answer ARP, whenever the board's registers are read."""

    def hear() -> None:
        link.step(1)
        for frame in link.others:
            if frame[12:14] == b"\x08\x06" and int.from_bytes(frame[38:42]) == THERE.ip:
                reply = ArpPacket(Operation.REPLY, Endpoint(mac, THERE.ip), HERE)
                simulated.receive(reply.frame(HERE.mac))
        link.others.clear()

    read = SimulatedRcBoard.read

    def reading(offset: int) -> int:
        hear()
        return read(simulated, offset)

    return reading


ASKING = "[station]\narp_timeout_ms = 1\narp_retries = 1\n"


def test_the_mac_of_a_receiver_is_asked_for_before_the_first_packet(
    simulated: SimulatedRcBoard, board: Board, make_rc: MakeSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = make_rc(receiver={"mac": "02:00:00:00:00:99", "ip": "10.0.0.2"})
    link = RcLink(simulated, LOSSLESS)
    link.serve(session)
    monkeypatch.setattr(simulated, "read", answering(link, simulated, 0x02AABBCCDDEE))
    configure(board, write_file(tmp_path, {"a": session}, ASKING, a="resolve = true\n"))
    assert board.registers["qp[0].ethernet.dst_mac"] == 0x02AABBCCDDEE
    assert board.resolve(THERE.ip) == 0x02AABBCCDDEE
    counters = board.counters()
    assert counters.station
    assert counters.station.events["arp_resolved"] == 2
    monkeypatch.undo()
    board.arm()
    image = images(session, 1)[0]
    link.send(image)
    assert link.image_of(session, 0) == image


def test_an_address_is_not_mistaken_for_another_that_somebody_else_asks_for_meanwhile(
    simulated: SimulatedRcBoard, board: Board, make_rc: MakeSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    configure(board, write_file(tmp_path, {"a": make_rc()}, ASKING))
    link = RcLink(simulated, LOSSLESS)
    answered = answering(link, simulated, 0x02AABBCCDDEE)
    monkeypatch.setattr(simulated, "read", answered)
    write, asked = simulated.write, RegisterFile(simulated).find("resolve_ip")

    def writing(offset: int, value: int) -> None:
        other = THERE.ip if offset == asked.offset else value
        write(offset, other)

    monkeypatch.setattr(simulated, "write", writing)
    with pytest.raises(BoardError, match=r"another process has asked this board for another address than 10.0.0.9"):
        board.resolve(0x0A000009)


def test_a_machine_that_does_not_answer_is_said_and_no_flow_is_enabled(
    simulated: SimulatedRcBoard, make_rc: MakeSession, tmp_path: Path
) -> None:
    board = Board(simulated, timeout_s=60)  # a simulated millisecond takes a second
    path = write_file(tmp_path, {"a": make_rc()}, ASKING, a='gateway = "10.0.0.254"\n')
    with pytest.raises(
        BoardError, match=r"nobody answers ARP for 10.0.0.254: 2 questions of 10.0.0.1, 1 ms each: the Eth"
    ):
        configure(board, path)
    simulated.link_up(True)
    with pytest.raises(
        BoardError,
        match=r"1 ms each: is that machine up, .*`arping 10.0.0.1` from there.*The board is disarmed, and has",
    ):
        configure(board, path)
    with pytest.raises(BoardError, match="no flow is enabled"):
        board.arm()


def test_the_link_and_somebody_with_our_address_are_seen(
    simulated: SimulatedRcBoard, board: Board, make_rc: MakeSession, tmp_path: Path
) -> None:
    configure(board, write_file(tmp_path, {"a": make_rc()}))
    station = board.station()
    assert station
    assert (station.link, station.conflict_mac) == (False, 0)
    assert station.sentences()[0].startswith("the Ethernet link is down: check cable")
    link = RcLink(simulated, LOSSLESS)
    simulated.receive(ArpPacket(Operation.REQUEST, replace(THERE, ip=HERE.ip), Endpoint(0, 5)).frame((1 << 48) - 1))
    link.step(2000)
    station = board.station()
    assert station
    assert (station.link, station.conflict_mac) == (True, THERE.mac)
    assert station.sentences() == [
        "02:00:00:00:00:02 uses this board's IPv4 address too: give one of them another (ip of [transmitter])"
    ]


PAUSE = bytes.fromhex("0180c2000001020000000002880800 01ffff").ljust(60, b"\0")


@pytest.mark.parametrize("honoured", [True, False])
def test_pauses_are_honoured_or_counted_as_the_file_says(
    simulated: SimulatedRcBoard, board: Board, make_rc: MakeSession, tmp_path: Path, honoured: bool
) -> None:
    session = make_rc()
    head = f"[station]\npause = {str(honoured).lower()}\nlink_gbps = 1\n"
    configure(board, write_file(tmp_path, {"a": session}, head))
    link = RcLink(simulated, LOSSLESS)
    link.serve(session)
    board.arm()
    simulated.receive(PAUSE)
    link.step(500)
    station, counters = board.station(), board.counters()
    assert station
    assert counters.station
    assert (station.held, counters.station.events["pause_global"]) == (honoured, 1)
    if honoured:
        assert "packets are held by a pause of the link" in station.sentences()[0]
        simulated.receive(PAUSE.replace(b"\xff\xff", b"\0\0"))
    link.send(images(session, 1)[0])
    assert link.image_of(session, 0) == link.images[0]


def test_congestion_control_is_what_the_file_says_and_notifications_are_counted_by_queue_pair(
    simulated: SimulatedRcBoard, board: Board, make_rc: MakeSession, tmp_path: Path
) -> None:
    session = make_rc()
    configure(board, write_file(tmp_path, {"a": session}, "[dcqcn]\nline_gbps = 5\nrise_us = 100\n"))
    read = board.registers.read_register
    assert read("dcqcn") == {"enabled": 1, "gain_log2": 8, "fast_rounds": 5, "bytes_log2": 23}
    assert read("dcqcn_period") == {"alpha": 54, "rise": 98}
    assert board.registers["dcqcn_line"] == 5_000_000_000 // 8 * 65536 // SLOW_HZ
    assert board.registers["qp[0].peer.tos"] == 2, "ECT(0): else no switch marks a packet"
    link = RcLink(simulated, LOSSLESS)
    link.serve(session)
    board.arm()
    link.send(images(session, 1)[0])
    counters = board.counters()
    assert counters.station
    assert counters.station.cnps == (0,) * 16
    configure(board, write_file(tmp_path, {"a": make_rc(psn=9)}))
    assert (board.registers["dcqcn.enabled"], board.registers["qp[0].peer.tos"]) == (0, 0)


def test_addresses_of_this_board_are_those_of_ping(board: Board, make_rc: MakeSession, tmp_path: Path) -> None:
    configure(board, write_file(tmp_path, {"a": make_rc()}, "[station]\necho = false\nvlan = 5\npriority = 3\n"))
    assert board.registers.read_register("station") == {"arp": 1, "echo": 0, "pause": 0, "has_vlan": 1, "tci": 0x6005}
    assert IPv4Address(board.registers["local_ip"]) == IPv4Address("10.0.0.1")
