"""`framelane board`: an Ethernet core that stands still is said after the time of the file, and as long as it does."""

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from framelane.cli.board import board_watch
from framelane.driver.board.lonely_board import LonelyTop
from framelane.driver.board.watchdogs import WATCHDOG_CYCLES
from framelane.driver.registers.recording import PaperRegisters
from framelane.driver.registers.register_file import RegisterFile
from framelane.models.memory.frame_store import FrameInfo
from framelane.session.session import Session
from framelane.session.session_server import SessionServer
from simulated_boards import found

RunCli = Callable[..., tuple[int, str, str]]
FILE = """
[transmitter]
mac = "02:00:00:00:00:01"
ip = "127.0.0.2"
[watchdog]
mac_ms = 0.2
[source]
rows = 16
columns = 100
[store]
base = 0
slots = 8
[[receiver]]
name = "disk"
session = "disk.json"
[[flow]]
name = "all"
receivers = ["disk"]
"""
NO_PACKETS = "the Ethernet core takes no packets, and they are dropped: its link is down, a pause does not end"
FREE = "clock: runs free\ntime of frames: the detector's own\n"
FRAMES = 8
"""More than the port to the MAC holds."""
STATUS = RegisterFile(PaperRegisters()).find("status")


def bit(name: str) -> int:
    (found_,) = (field for field in STATUS.register.fields if field.name == name)
    return 1 << found_.lsb


@pytest.fixture
def board() -> Iterator[LonelyTop]:
    with LonelyTop() as board, found(board):
        board.write_memory((1 << 20) - 1, bytes(1))
        yield board


def test_follow_says_that_the_ethernet_core_stands_still_and_so_do_counters_and_status(
    run_cli: RunCli,
    board: LonelyTop,
    make_session: Callable[..., Session],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(board_watch, "LOOK_S", 0.02)
    session = make_session(source={"mac": "02:00:00:00:00:01", "ip": "127.0.0.2"})
    read, end = board.read, time.monotonic() + 60
    begun = False
    ending: list[threading.Timer] = []

    def reading(offset: int) -> int:
        """The MAC takes nothing from the first look at the armed board on; a while after that is seen, Ctrl-C."""
        nonlocal begun
        assert time.monotonic() < end, "the watchdog does not fire"
        word = read(offset)
        if offset != STATUS.offset or not word & bit("armed"):
            return word
        if not begun:
            begun = True
            board.hold(sink=True)
            for number in range(FRAMES):
                board.frame(FrameInfo(number, 0, 0), np.full((16, 100), number + 1, np.uint16))
        if not word & bit("mac_stuck"):
            board.step(WATCHDOG_CYCLES // 4)
        elif not ending:
            ending.append(threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT)))
            ending[0].start()
        return word

    with SessionServer(session, "127.0.0.1", 0) as server:
        session.save(tmp_path / "disk.json", {"port": server.address[1], **server.key.document()})
        file = tmp_path / "board.toml"
        file.write_text(FILE)
        assert run_cli("board", "configure", file)[0] == 0
        server.publish(FRAMES)
        monkeypatch.setattr(board, "read", reading)
        status, out, err = run_cli("board", "follow", file)
    monkeypatch.setattr(board, "read", read)
    assert (status, err) == (0, "")
    assert out.count(NO_PACKETS) == 1
    assert f"disk: {FRAMES} frames sent" in out
    _, out, _ = run_cli("board", "counters")
    assert NO_PACKETS in out
    assert "mac_timeout: the Ethernet core took no beat for too long" in out
    status, out, _ = run_cli("board", "status")
    assert (status, "status: idle, mac_stuck\n" in out, NO_PACKETS in out) == (1, True, True)
    board.hold()
    board.step(500)
    assert run_cli("board", "status") == (0, f"status: idle\nlink: up\n{FREE}", "")
