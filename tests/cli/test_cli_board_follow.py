"""`framelane board follow`: the board is armed with the credit of its receivers, and disarmed when the run ends."""

import contextlib
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from framelane.cli.board import board_watch
from framelane.driver.registers.recording import RecordingRegisters
from framelane.driver.registers.register_file import RegisterFile
from framelane.session.link_key import LinkKey
from framelane.session.session import Session
from framelane.session.session_server import SessionServer
from live_recv import wait_until
from serve_board import serving

MakeSession = Callable[..., Session]
RunCli = Callable[..., tuple[int, str, str]]
BOARD = """
[transmitter]
mac = "02:00:00:00:00:01"
ip = "127.0.0.2"
[[receiver]]
name = "disk"
session = "disk.json"
[[flow]]
name = "all"
receivers = ["disk"]
"""
NODE = {"mac": "02:00:00:00:00:01", "ip": "127.0.0.2"}


class ServedTransmitter(RecordingRegisters):
    """Registers alone: with room for the example of docs/howto/board.md, and a memory that keeps nothing."""

    def write_memory(self, address: int, data: bytes) -> None:
        """Take it."""

    def interrupt(self) -> bool:
        return False


@pytest.fixture
def served() -> Iterator[contextlib.ExitStack]:
    """What serves the board; closed, the board has gone."""
    with contextlib.ExitStack() as stack:
        yield stack


@pytest.fixture(params=["here"])
def transmitter(
    request: pytest.FixtureRequest,
    make_found: Callable[..., RecordingRegisters],
    make_transmitter: Callable[..., Any],
    served: contextlib.ExitStack,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> RecordingRegisters:
    """Make a board that every command finds: here, or that is `served` by another thread."""
    if request.param == "here":
        return make_found()
    board = ServedTransmitter(make_transmitter(sizes=16 | 4 << 12 | 16 << 16))
    served.enter_context(serving(tmp_path / "board.sock", board))
    monkeypatch.setenv("FRAMELANE_BOARD", f"sim:{tmp_path / 'board.sock'}")
    return board


@pytest.fixture
def server(make_session: MakeSession) -> Iterator[SessionServer]:
    with SessionServer(make_session(source=NODE), "127.0.0.1", 0) as server:
        yield server


@pytest.fixture
def file(tmp_path: Path, make_session: MakeSession, server: SessionServer, run_cli: RunCli) -> Path:
    make_session(source=NODE).save(tmp_path / "disk.json", {"port": server.address[1], **server.key.document()})
    path = tmp_path / "board.toml"
    path.write_text(BOARD)
    return path


def once_armed(transmitter: RecordingRegisters, *actions: Callable[[], object]) -> threading.Thread:
    """Do them in turn as soon as the board is armed; between two of them the command has time to see what was done."""
    registers = RegisterFile(transmitter)

    def act() -> None:
        if wait_until(lambda: registers["control.arm"] == 1):
            for action in actions:
                action()
                time.sleep(0.3)

    thread = threading.Thread(target=act)
    thread.start()
    return thread


def interrupt() -> None:
    os.kill(os.getpid(), signal.SIGINT)


def test_credit_reaches_the_board_until_ctrl_c_which_disarms_it_and_tells_the_receiver(
    run_cli: RunCli, transmitter: RecordingRegisters, server: SessionServer, file: Path
) -> None:
    assert run_cli("board", "configure", file)[0] == 0
    registers = RegisterFile(transmitter)
    given: list[bool] = []
    thread = once_armed(
        transmitter,
        lambda: server.publish(9),
        lambda: given.append(wait_until(lambda: registers["destination[0].window_end"] == 9)),
        interrupt,
    )
    status, out, err = run_cli("board", "follow", file)
    thread.join()
    assert (status, err) == (0, "")
    assert "armed, 1 receivers give credit" in out
    assert "disk: 0 frames sent, 0 dropped" in out
    assert given == [True]
    assert registers["control.arm"] == 0
    assert registers["destination[0].window_end"] == 9
    assert wait_until(lambda: server.reports[0].ended)


WHEREVER = pytest.mark.parametrize("transmitter", ["here", "served"], indirect=True)


@WHEREVER
def test_the_board_is_disarmed_when_a_receiver_goes(
    run_cli: RunCli, transmitter: RecordingRegisters, server: SessionServer, file: Path
) -> None:
    assert run_cli("board", "configure", file)[0] == 0
    where = f"disk (127.0.0.1, link at TCP {server.address[1]})"
    thread = once_armed(transmitter, server.close)
    status, out, _ = run_cli("board", "follow", file)
    thread.join()
    assert status == 0
    assert f"disarmed: the receiver {where} has closed the session's link: its run is over, or was ended there\n" in out
    assert RegisterFile(transmitter)["control.arm"] == 0


@WHEREVER
def test_a_receiver_that_was_started_anew_arms_nothing(
    run_cli: RunCli,
    transmitter: RecordingRegisters,
    server: SessionServer,
    make_session: MakeSession,
    file: Path,
    tmp_path: Path,
) -> None:
    assert run_cli("board", "configure", file)[0] == 0
    make_session(source=NODE, rkey=1).save(tmp_path / "disk.json", {"port": server.address[1]})
    status, _, err = run_cli("board", "follow", file)
    assert status == 2
    assert f"disk (127.0.0.1, link at TCP {server.address[1]}) has another session than {tmp_path / 'disk.json'}" in err
    assert RegisterFile(transmitter)["control.arm"] == 0


@WHEREVER
def test_where_no_receiver_answers_nothing_is_armed(
    run_cli: RunCli, transmitter: RecordingRegisters, server: SessionServer, file: Path
) -> None:
    assert run_cli("board", "configure", file)[0] == 0
    port = server.address[1]
    server.close()
    status, _, err = run_cli("board", "follow", file)
    assert status == 2
    assert f"receiver 'disk': no receiver at TCP 127.0.0.1:{port}" in err
    assert RegisterFile(transmitter)["control.arm"] == 0


def test_a_token_of_another_run_is_told_from_a_receiver_that_is_away(
    run_cli: RunCli, transmitter: RecordingRegisters, server: SessionServer, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert run_cli("board", "configure", file)[0] == 0
    monkeypatch.setenv("XDG_STATE_HOME", str(file.parent / "another user's"))
    Session.load(file.parent / "disk.json").save(
        file.parent / "disk.json", {"port": server.address[1], **LinkKey.random().document()}
    )
    status, _, err = run_cli("board", "follow", file)
    assert status == 2
    assert f"receiver 'disk': the receiver at TCP 127.0.0.1:{server.address[1]} refuses: the token is" in err
    assert f"the token in {file.parent / 'disk.json'} is of another run" in err
    assert RegisterFile(transmitter)["control.arm"] == 0


def test_a_board_that_was_not_configured_for_the_session_is_not_armed(
    run_cli: RunCli, transmitter: RecordingRegisters, server: SessionServer, file: Path
) -> None:
    status, _, err = run_cli("board", "follow", file)
    assert status == 2
    assert f"the board has no destination for 'disk': it was not configured with {file}" in err
    assert run_cli("board", "configure", file)[0] == 0
    RegisterFile(transmitter)["qp[0].rkey"] = 7
    status, _, err = run_cli("board", "follow", file)
    assert status == 2
    assert f"the board sends to another session of 'disk' than {file.parent / 'disk.json'} has" in err
    assert RegisterFile(transmitter)["control.arm"] == 0


def test_a_board_that_somebody_else_disarms_is_followed_no_more(
    run_cli: RunCli, transmitter: RecordingRegisters, server: SessionServer, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(board_watch, "LOOK_S", 0.02)
    assert run_cli("board", "configure", file)[0] == 0
    registers = RegisterFile(transmitter)
    thread = once_armed(transmitter, lambda: registers.write_register("control", {"arm": 0}))
    status, out, err = run_cli("board", "follow", file)
    thread.join()
    assert (status, err) == (0, "")
    assert "somebody else has disarmed the board" in out


@pytest.mark.parametrize("transmitter", ["served"], indirect=True)
def test_a_board_that_goes_is_said_and_nothing_else(
    run_cli: RunCli, transmitter: RecordingRegisters, server: SessionServer, file: Path, served: contextlib.ExitStack
) -> None:
    assert run_cli("board", "configure", file)[0] == 0
    thread = once_armed(transmitter, lambda: server.publish(9), served.close, lambda: server.publish(10))
    status, out, err = run_cli("board", "follow", file)
    thread.join()
    assert status == 2
    assert "armed, 1 receivers give credit" in out
    gone = f"the board at {file.parent / 'board.sock'} has gone: its `framelane board serve` was ended, and its state"
    assert err == f"framelane: {gone} with it\n"


@pytest.mark.parametrize("port", [0, 65536, True, "4790"])
def test_a_port_in_a_session_that_is_none_is_said(
    run_cli: RunCli, transmitter: RecordingRegisters, make_session: MakeSession, file: Path, port: Any
) -> None:
    make_session(source=NODE).save(file.parent / "disk.json", {"port": port})
    status, _, err = run_cli("board", "configure", file)
    assert status == 2
    assert "[[receiver]] 'disk'" in err
    assert "link.port: give a TCP port" in err
