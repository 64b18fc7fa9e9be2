"""`framelane board follow` with RC: a receiver goes, and comes back with another session; the other loses nothing."""

import os
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from framelane.driver.simulated.verilated_rc import SimulatedRcBoard
from framelane.models.placement.flow import FrameEvent
from framelane.session import reconnecting
from framelane.session.session import Session
from framelane.session.session_server import SessionServer
from rc_board import RcLink, write_file

MakeSession = Callable[..., Session]
RunCli = Callable[..., tuple[int, str, str]]
Script = Iterator[Callable[[], bool]]
SLOTS = 4


@pytest.fixture
def link(link: RcLink, monkeypatch: pytest.MonkeyPatch) -> RcLink:
    """Come back sooner."""
    monkeypatch.setattr(reconnecting, "RETRY_S", 0.02)
    return link


@pytest.fixture
def make_rc(make_rc: MakeSession) -> MakeSession:
    """Make a session of RC on credit, whose link is on loopback."""
    here = {"receiver": {"mac": "02:00:00:00:00:02", "ip": "127.0.0.1"}, "n_slots": SLOTS, "window_end": SLOTS}
    return lambda index, **changes: make_rc(index, **here | changes)


def play(link: RcLink, script: Script, monkeypatch: pytest.MonkeyPatch) -> None:
    """Go on with the script whenever the board is read and what it waits for is so."""
    read, waits_for, end = link.board.read, next(script), time.monotonic() + 60

    def reading(offset: int) -> int:
        nonlocal waits_for
        assert time.monotonic() < end, "nothing more happens"
        link.step(8)
        if waits_for():
            waits_for = next(script)
        return read(offset)

    monkeypatch.setattr(link.board, "read", reading)


def offer(link: RcLink, frames: int) -> None:
    for _ in range(frames):
        image = np.random.default_rng(link.offered).bytes(3200)
        link.board.write_memory(link.offered * 0x1000, image)
        link.board.offer(FrameEvent(link.offered, 0, 0, link.offered * 0x1000))
        link.images.append(image)
        link.offered += 1


def test_a_receiver_that_comes_back_is_taken_in_again_and_the_other_loses_nothing(
    run_cli: RunCli, link: RcLink, make_rc: MakeSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, two = make_rc(0), make_rc(1)
    anew = make_rc(1, qpn=0x333, psn=0x765432, rkey=5, base=0x4000_0000_0000)
    servers = [SessionServer(session, "127.0.0.1", 0) for session in (one, two)]
    ports = [server.address[1] for server in servers]
    file = write_file(tmp_path, {"one": one, "two": two}, one=f"link_port = {ports[0]}\n")
    two.save(tmp_path / "two.json", {"port": ports[1]})
    link.serve(one)
    link.serve(two)

    def credit_of_two() -> int:
        return SimulatedRcBoard.read(link.board, 0x2038)

    def is_armed() -> bool:
        return bool(SimulatedRcBoard.read(link.board, 0x20) & 2)

    def script() -> Script:
        yield lambda: link.board.released == 0
        servers[0].publish(100)
        servers[1].publish(2 * SLOTS)
        yield lambda: credit_of_two() == 2 * SLOTS and is_armed()
        offer(link, SLOTS)
        yield lambda: link.board.released == SLOTS
        servers[1].close()
        link.remote.silent.add(two.qpn)
        offer(link, SLOTS)
        yield lambda: link.board.released == 2 * SLOTS
        link.serve(anew)
        servers.append(SessionServer(anew, "127.0.0.1", 0))
        anew.save(tmp_path / "two.json", {"port": servers[2].address[1]})
        yield lambda: 0 in servers[2].reports
        servers[2].publish(servers[2].reports[0].offered + SLOTS)
        yield lambda: credit_of_two() == 3 * SLOTS
        offer(link, SLOTS)
        yield lambda: link.board.released == 3 * SLOTS
        os.kill(os.getpid(), signal.SIGINT)
        yield lambda: False

    assert run_cli("board", "configure", file)[0] == 0
    play(link, script(), monkeypatch)
    status, out, err = run_cli("board", "follow", file)
    monkeypatch.undo()
    for server in servers:
        server.close()
    assert (status, err) == (0, "")
    went = "has closed the session's link: its run is over, or was ended there; its frames are lost: start its"
    assert f"two (127.0.0.1, link at TCP {ports[1]}) {went} receiver anew, and it is taken in again" in out
    assert "two is back: queue pair 1 runs\n" in out
    assert f"one: {3 * SLOTS} frames sent, 0 dropped" in out
    last = range(2 * SLOTS, 3 * SLOTS)
    assert [link.image_of(one, k) for k in last] == link.images[2 * SLOTS :]
    assert [link.image_of(anew, k) for k in last] == link.images[2 * SLOTS :]
    report = servers[2].reports[0]
    assert (report.offered, report.dropped, report.ended) == (3 * SLOTS, 2 * SLOTS, True)
