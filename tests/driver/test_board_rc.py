"""A board with RC and a station, brought up from its file: frames arrive through loss, a dead queue pair is revived."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from framelane.base.errors import BoardError, ConfigError
from framelane.driver.board.board import Board
from framelane.driver.simulated.verilated_rc import RC_DEPTH, RC_QPS, SimulatedRcBoard
from framelane.models.placement.flow import FrameEvent
from framelane.models.rc.lossy_network import LinkImpairments
from framelane.models.rc.rc_protocol import RcReason, RcState
from framelane.session.session import Session
from rc_board import RC, RcLink, configure, images, write_file

MakeSession = Callable[..., Session]
LOSSLESS = LinkImpairments(delay=100)
LOSSY = LinkImpairments(delay=100, loss=0.03, duplicate=0.02, late=0.05, lateness=400, corrupt=0.01)


def test_a_board_with_rc_says_how_much_it_can(board: Board) -> None:
    able = board.probe()
    assert (able.rc, able.station, able.rc_qps, able.rc_depth) == (True, True, RC_QPS, RC_DEPTH)


@pytest.mark.parametrize("impairments", [LOSSLESS, LOSSY], ids=["lossless", "lossy"])
@pytest.mark.parametrize("segmentation", ["only", "message"])
def test_frames_of_a_file_lie_in_the_receivers_memory(
    simulated: SimulatedRcBoard,
    board: Board,
    make_rc: MakeSession,
    tmp_path: Path,
    impairments: LinkImpairments,
    segmentation: str,
) -> None:
    session = make_rc(segmentation=segmentation)
    configure(board, write_file(tmp_path, {"a": session}))
    link = RcLink(simulated, impairments)
    receiver = link.serve(session)
    board.arm()
    for image in images(session, 12):
        link.send(image)
    assert [link.image_of(session, k) for k in range(12)] == link.images
    assert receiver.writes.max() == 1
    (pair,) = board.queue_pairs()
    assert (pair.state, pair.outstanding, pair.una) == (RcState.RUN, 0, receiver.expected)
    counters = board.counters()
    assert counters.destinations[0].sent == 12
    assert counters.station
    assert bool(counters.station.events["rc_again"]) == (impairments is LOSSY)
    assert counters.station.events["acks"] > 0


def test_a_board_is_armed_when_all_its_queue_pairs_have_settled(
    simulated: SimulatedRcBoard, board: Board, make_rc: MakeSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A frame that begins before has no queue pair to take it."""
    path = write_file(tmp_path, {"one": make_rc(0), "two": make_rc(1)})
    first, second = path.read_text().split('name = "two"')
    path.write_text(f'{first}name = "two"{second.replace("0.03", "1")}')  # settles for longer
    configure(board, path)
    assert [pair.state for pair in board.queue_pairs()] == [RcState.SETTLE] * 2
    arm, armed = board.registers.find("control").offset, []

    def writing(offset: int, value: int) -> None:
        if offset == arm:
            armed.append([pair.state for pair in board.queue_pairs()])
        SimulatedRcBoard.write(simulated, offset, value)

    monkeypatch.setattr(simulated, "write", writing)
    board.arm()
    assert armed == [[RcState.RUN] * 2]


def test_a_dead_queue_pair_is_named_and_starts_anew_while_the_other_goes_on(
    simulated: SimulatedRcBoard, board: Board, make_rc: MakeSession, tmp_path: Path
) -> None:
    one, two = make_rc(0), make_rc(1)
    configure(board, write_file(tmp_path, {"one": one, "two": two}))
    link = RcLink(simulated, LOSSY)
    link.serve(one)
    link.serve(two)
    board.arm()
    frames = images(one, 12)
    for image in frames[:4]:
        link.send(image)
    link.remote.silent.add(two.qpn)
    for image in frames[4:8]:
        link.send(image)
    link.until(lambda: board.queue_pairs()[1].state is RcState.ERROR)
    here, dead = board.queue_pairs()
    assert here.state is RcState.RUN
    assert (dead.index, dead.number, dead.reason) == (1, 3, RcReason.TIMEOUT)
    assert (
        "queue pair 1 to 'two' (QP 0x101 at 10.0.0.2) is in error, its frames are lost: its receiver did not answer"
        in (dead.sentence("two"))
    )
    anew = make_rc(1, qpn=0x7777, psn=0x123456, rkey=0xBEEF, base=0x5000_0000_0000)
    link.serve(anew)
    before = board.counters().destinations[1]
    assert before.sent == 4
    assert before.failed + before.dropped == 4
    board.rearm(1, anew)
    assert [pair.state for pair in board.queue_pairs()] == [RcState.RUN] * 2
    for image in frames[8:]:
        link.send(image)
    assert [link.image_of(one, k) for k in range(12)] == link.images, "the other has lost nothing"
    assert [link.image_of(anew, k) for k in range(8, 12)] == link.images[8:]
    counters = board.counters()
    assert [each.sent for each in counters.destinations[:2]] == [12, 8]
    assert counters.station
    assert counters.station.events["rc_failed"] == 1


def test_a_queue_pair_starts_anew_again_and_again_while_frames_come(
    simulated: SimulatedRcBoard, board: Board, make_rc: MakeSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its entry and its ring are written while frames for it are placed and sent: none goes where it should not."""
    one, two = make_rc(0), make_rc(1)
    configure(board, write_file(tmp_path, {"one": one, "two": two}))
    link = RcLink(simulated, LOSSLESS)
    link.serve(one)
    lives, reads = [link.serve(two)], 0
    board.arm()
    frames = images(one, 800, 9)

    def reading(offset: int) -> int:
        nonlocal reads
        reads += 1
        link.step(50 + reads % 7)  # as over PCIe: frames pass between two accesses
        if link.offered < len(frames) and link.offered - simulated.released < 3:
            link.images.append(frames[link.offered])
            simulated.write_memory(link.offered % 8 * 0x10000, frames[link.offered])
            simulated.offer(FrameEvent(link.offered, 0, 0, link.offered % 8 * 0x10000))
            link.offered += 1
        return SimulatedRcBoard.read(simulated, offset)

    monkeypatch.setattr(simulated, "read", reading)
    arrived = 0
    for life in range(12):
        session = make_rc(1, qpn=0x200 + life, psn=0x1000 * life, rkey=life, base=(life + 1) << 40)
        responder = link.serve(session)
        lives.append(responder)
        board.rearm(1, session)
        end = simulated.cycle + 1_000_000
        while len(responder.immediates) < 2 + life % 3:
            assert simulated.cycle < end, f"frames hang in life {life}"
            board.state()
        assert not any(each.counts["refused"] for each in lives), "a packet was to go outside of a ring"
        for number in (immediate & 0xFFFFFF for immediate in responder.immediates[-2:]):
            assert link.image_of(session, number) == frames[number], f"frame {number} of life {life}"
        arrived += len(responder.immediates)
    monkeypatch.undo()
    link.until(lambda: simulated.released == link.offered)
    counted = board.counters().destinations
    assert counted[0].sent == link.offered, "the other has lost nothing"
    assert counted[1].sent + counted[1].failed + counted[1].dropped == link.offered
    assert counted[1].sent >= arrived
    assert counted[1].failed


def test_a_queue_pair_that_waits_for_its_receiver_stops_the_frames_of_no_other(
    simulated: SimulatedRcBoard, board: Board, make_rc: MakeSession, tmp_path: Path
) -> None:
    """The board knows from its registers how much of the ring a frame needs: what finds no room is dropped whole."""
    one, two = make_rc(0), make_rc(1)
    patient = RC.replace("0.03", "4")
    source = "[source]\nrows = 16\ncolumns = 200\n"  # so each line is a message: 17 of the 64 descriptors that are kept
    path = write_file(tmp_path, {"one": one, "two": two}, source, rc=patient)
    path.write_text(path.read_text().replace("[[flow]]\n", "[[flow]]\nroi = { width = 100, height = 16 }\n"))
    configure(board, path)
    assert [board.registers[f"flow[{k}].room"] for k in (0, 1)] == [17, 17]
    link = RcLink(simulated, LOSSLESS)
    link.serve(one)
    link.remote.silent.add(two.qpn)
    simulated.step(300_000)  # they settle
    board.arm()
    chance = np.random.default_rng(4)
    for frame in range(10):
        lines = chance.integers(0, 1 << 16, (16, 200), np.uint16)
        simulated.write_memory(frame * 0x10000, lines)
        link.images.append(lines[:, :100].tobytes())
        simulated.offer(FrameEvent(frame, 0, 0, frame * 0x10000))
        link.until(lambda: len(link.remote.receivers[one.qpn].immediates) == len(link.images), 20_000)
    assert [link.image_of(one, k) for k in range(10)] == link.images
    assert board.queue_pairs()[1].state is RcState.RUN, "it waits still"
    dropped = [each.dropped for each in board.counters().destinations[:2]]
    assert dropped == [0, 7], "three frames of 17 are in its ring, the fourth has no room"


def test_a_session_that_has_been_used_is_refused_for_a_receiver_would_take_new_packets_for_old_ones(
    simulated: SimulatedRcBoard, board: Board, make_rc: MakeSession, tmp_path: Path
) -> None:
    session = make_rc()
    path = write_file(tmp_path, {"a": session})
    configure(board, path)
    board.rearm(0, session)
    configure(board, path)  # nothing was sent yet
    link = RcLink(simulated, LOSSLESS)
    link.serve(session)
    board.arm()
    link.send(images(session, 1)[0])
    with pytest.raises(
        ConfigError, match=r"queue pair 0 has sent packets of this session already, to QP 0x100 from PSN"
    ):
        board.rearm(0, session)
    with pytest.raises(ConfigError, match="they would be lost in silence: start the receiver anew"):
        configure(board, path)
    assert board.queue_pairs()[0].state is RcState.RUN, "it goes on"
    assert board.state().armed


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"service": "UC"}, "its service is UC, the board is configured for RC"),
        ({"source_qpn": 7}, "its source_qpn is 7, the board is configured for 2"),
        ({"mtu": 512}, "its mtu is 512, the board is configured for 256"),
        ({"segmentation": "message"}, "its segmentation is message, the board is configured for only"),
        ({"n_slots": 5, "window_end": 5}, r"its n_slots of destination\[0\] is 5, the board is configured for 16"),
        ({"rows": 300, "slot_bytes": 0x10000}, r"its slot_bytes of destination\[0\] is 65536, the board is configured"),
        ({"source": {"mac": "02:00:00:00:00:01", "ip": "10.0.0.9"}}, "its source.ip is 10.0.0.9, the board is"),
    ],
)
def test_a_session_for_another_configuration_is_refused_and_nothing_is_written(
    simulated: SimulatedRcBoard,
    board: Board,
    make_rc: MakeSession,
    tmp_path: Path,
    changes: dict[str, Any],
    sentence: str,
) -> None:
    configure(board, write_file(tmp_path, {"a": make_rc()}))
    with pytest.raises(ConfigError, match=sentence):
        board.rearm(0, make_rc(psn=5, **changes))
    assert board.queue_pairs()[0].state in (RcState.SETTLE, RcState.RUN)
    with pytest.raises(ConfigError, match="queue pair 3 is not enabled, or not of RC"):
        board.rearm(3, make_rc(3))


def test_frames_that_find_a_silent_receiver_end_and_the_board_can_be_configured_anew(
    simulated: SimulatedRcBoard, board: Board, make_rc: MakeSession, tmp_path: Path
) -> None:
    configure(board, write_file(tmp_path, {"a": make_rc()}))
    link = RcLink(simulated, LOSSLESS)
    board.arm()
    for image in images(make_rc(), 3):
        link.send(image)
    assert board.queue_pairs()[0].reason is RcReason.TIMEOUT
    anew = make_rc(psn=77)
    configure(board, write_file(tmp_path, {"a": anew}))
    link.serve(anew)
    board.arm()
    link.offered, frames = 3, images(anew, 2)
    for image in frames:
        link.send(image)
    assert [link.image_of(anew, k) for k in (3, 4)] == frames


def test_a_receiver_that_is_never_ready_hangs_no_new_configuration(
    simulated: SimulatedRcBoard, board: Board, make_rc: MakeSession, tmp_path: Path
) -> None:
    """Without a limit of its RNR retries: disarming waits for it, which is said, and configuring ends that."""
    patient = RC.replace("0.03", "4").replace("retries = 3", "retries = 3, rnr_retries = 7")
    configure(board, write_file(tmp_path, {"a": make_rc()}, rc=patient))
    link = RcLink(simulated, LOSSLESS)
    receiver = link.serve(make_rc())
    receiver.receives = 0
    simulated.step(300_000)  # it settles
    board.arm()
    simulated.write_memory(0, images(make_rc(), 1)[0])
    simulated.offer(FrameEvent(0, 0, 0, 0))
    link.until(lambda: board.queue_pairs()[0].state is RcState.WAIT)
    board.disarm()
    with pytest.raises(BoardError, match=r"a receiver of RC never ready \(.* says waiting: stop that receiver, or con"):
        Board(simulated, timeout_s=0.1).wait_idle()
    configure(board, write_file(tmp_path, {"a": make_rc(psn=5)}))
    assert board.queue_pairs()[0].state is not RcState.ERROR


def test_queue_pairs_of_uc_are_not_among_those_of_rc(board: Board, make_rc: MakeSession, tmp_path: Path) -> None:
    configure(board, write_file(tmp_path, {"a": make_rc(service="UC"), "b": make_rc(1)}, rc=RC))
    assert [pair.index for pair in board.queue_pairs()] == [1]
