"""`framelane emulate` with impairments: one sentence, the right exit status, and what was sent is counted."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from emulation import receiving, saved
from framelane.base.stopping import stop_on_signals
from framelane.models.placement.slots import FREE_RUNNING
from framelane.models.tx import tx
from framelane.packets.pcap import PcapWriter
from framelane.session.session import Session
from framelane.session.session_server import SessionServer
from kernel_icmp import processor_with_icmp
from slow_link import slow_down

MakeSession = Callable[..., Session]
RunCli = Callable[..., tuple[int, str, str]]


def after(delay_s: float, action: Callable[[], object]) -> threading.Timer:
    timer = threading.Timer(delay_s, action)
    timer.start()
    return timer


def interrupt(number: int = signal.SIGINT) -> None:
    """Send the signal when frames have been sent for half a second, however long the command needed until then."""
    end = time.monotonic() + 60
    while getattr(signal.getsignal(number), "__module__", "") != stop_on_signals.__module__:
        if time.monotonic() > end:
            return
        time.sleep(0.01)
    time.sleep(0.5)
    os.kill(os.getpid(), number)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_an_endless_run_in_order(
    run_cli: RunCli, make_session: MakeSession, network: tuple[str, str], number: int
) -> None:
    session = make_session()
    with receiving(session) as live:
        timer = after(0.0, lambda: interrupt(number))
        status, _, err = run_cli("emulate", "--to", live.to, "--port", live.udp_port, "--rate", 10)
        timer.join()
    assert (status, err) == (0, "")
    assert live.tally().complete == live.tally().sent > 2


def test_a_signal_before_the_last_frame_is_said(
    run_cli: RunCli, make_session: MakeSession, network: tuple[str, str], tmp_path: Path
) -> None:
    path = saved(make_session(window_end=FREE_RUNNING), tmp_path)
    timer = after(0.0, interrupt)
    wire = ("--transport", "packet", "--interface", "lo")
    status, out, _ = run_cli("emulate", "--session", path, "--rate", 100, "--frames", 5000, *wire)
    timer.join()
    assert status == 1
    assert "ended by a signal, after " in out
    assert " of 5000 frames" in out


@pytest.mark.parametrize(("frames", "expected"), [((), 0), (("--frames", 5000), 1)])
def test_a_receiver_that_goes_ends_the_run(
    run_cli: RunCli, make_session: MakeSession, network: tuple[str, str], frames: tuple[object, ...], expected: int
) -> None:
    server = SessionServer(make_session(window_end=FREE_RUNNING), "127.0.0.1", 0)
    timer = after(1.0, server.close)
    wire = ("--transport", "packet", "--interface", "lo", "--rate", 10, *frames)
    status, out, err = run_cli("emulate", "--to", f"127.0.0.1:{server.address[1]}", *wire)
    timer.join()
    assert (status, err) == (expected, "")
    assert "ended by the receiver, which has closed the session's link, after " in out


@pytest.mark.parametrize(
    ("grows", "frames", "status", "blame"),
    [
        (False, (), 0, None),
        (True, (), 1, "frames were dropped for want of credit: the receiver does not keep up with this rate"),
        (False, ("--frames", 5000), 1, "ended by the receiver, which has closed the session's link, after "),
    ],
)
def test_frames_that_are_dropped_when_the_receiver_ends_are_not_its_fault(
    run_cli: RunCli,
    make_session: MakeSession,
    network: tuple[str, str],
    grows: bool,
    frames: tuple[object, ...],
    status: int,
    blame: str | None,
) -> None:
    """At its end it gives no more credit, and takes what is on its way: then it closes the link."""
    server = SessionServer(make_session(), "127.0.0.1", 0)
    growing = after(1.0, lambda: server.publish(500 if grows else 0))
    timer = after(2.0, server.close)
    wire = ("--transport", "packet", "--interface", "lo", "--rate", 100, *frames)
    got, out, err = run_cli("emulate", "--to", f"127.0.0.1:{server.address[1]}", *wire)
    growing.join()
    timer.join()
    assert (got, err) == (status, "")
    assert ("does not keep up" in out) == grows
    assert " 0 dropped" not in out
    assert blame is None or blame in out


@pytest.mark.parametrize("command", ["emulate", "replay"])
def test_a_signal_ends_a_run_on_an_interface_that_takes_nothing_any_more(
    make_session: MakeSession, network: tuple[str, str], tmp_path: Path, command: str
) -> None:
    slow_down(network[0], "rate 8bit burst 10k limit 100m")
    session = make_session(window_end=FREE_RUNNING, rows=512, columns=1024)
    arguments: list[object] = ["emulate", "--session", saved(session, tmp_path)]
    if command == "replay":
        capture = tmp_path / "tx.pcap"
        with PcapWriter(capture) as writer:
            for number in range(20):
                for packet in tx([bytes(session.image_bytes)], session.tx_config()):
                    writer.write(packet, number)
        arguments = ["replay", capture, "--fast"]
    arguments += ["--transport", "packet", "--interface", network[0]]
    program = [sys.executable, "-c", "from framelane.cli import main; main()"]
    with subprocess.Popen([*program, *map(str, arguments)], stdout=subprocess.PIPE, text=True) as run:
        try:
            wait_until_full(network[0])
            run.send_signal(signal.SIGTERM)
            out, _ = run.communicate(timeout=20)
        finally:
            run.kill()
    assert run.returncode == 1
    assert "to interface veth0: ended while the send queue was full: is the link up, or paused by the switch?" in out


def wait_until_full(interface: str) -> None:
    """Wait until the queue of the interface holds megabytes, and grows no more."""
    show, before = ["tc", "-s", "-j", "qdisc", "show", "dev", interface], -1
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        held = int(json.loads(subprocess.run(show, check=True, capture_output=True).stdout)[0]["backlog"])
        if held == before > 1 << 20:
            return
        before = held
        time.sleep(0.3)
    pytest.fail(f"the queue of {interface} holds only {before} bytes")


def test_an_interface_that_goes_down_in_the_middle_is_said_with_what_was_sent(
    run_cli: RunCli, make_session: MakeSession, network: tuple[str, str], tmp_path: Path
) -> None:
    path = saved(make_session(window_end=FREE_RUNNING), tmp_path)
    timer = after(1.0, lambda: subprocess.run(["ip", "link", "set", network[0], "down"], check=True))
    wire = ("--transport", "packet", "--interface", network[0])
    status, out, err = run_cli("emulate", "--session", path, "--rate", 100, *wire)
    timer.join()
    assert (status, err) == (1, "")
    assert "interface veth0: Network is down: bring the interface up" in out
    assert " frames: cannot send a packet of " in out


@pytest.mark.parametrize(
    ("prepare", "session_mtu", "sentence"),
    [
        (
            "mtu 1500",
            4096,
            "cannot send a packet of 3274 bytes to interface veth0: Message too long: lower the session",
        ),
        ("down", 1024, "to interface veth0: Network is down: bring the interface up"),
    ],
)
def test_an_interface_that_cannot_send_is_one_sentence(
    run_cli: RunCli,
    make_session: MakeSession,
    network: tuple[str, str],
    tmp_path: Path,
    prepare: str,
    session_mtu: int,
    sentence: str,
) -> None:
    subprocess.run(["ip", "link", "set", network[0], *prepare.split()], check=True)
    path = saved(make_session(mtu=session_mtu), tmp_path)
    status, out, err = run_cli("emulate", "--session", path, "--transport", "packet", "--interface", network[0])
    assert (status, out) == (2, "")
    assert sentence in err
    assert err.count("\n") == 1


def test_nobody_at_the_other_end_is_one_sentence(run_cli: RunCli, network: tuple[str, str]) -> None:
    status, out, err = run_cli("emulate", "--to", "127.0.0.1:4", "--frames", 1)
    assert (status, out) == (2, "")
    assert err.startswith("framelane: no receiver at TCP 127.0.0.1:4: Connection refused: start ")


def test_a_receiver_of_a_session_file_that_does_not_listen_is_noticed(
    run_cli: RunCli, make_session: MakeSession, network: tuple[str, str], tmp_path: Path
) -> None:
    path = saved(make_session(window_end=FREE_RUNNING), tmp_path)
    with processor_with_icmp():
        status, out, _ = run_cli("emulate", "--session", path, "--frames", 10)
    assert status == 1
    assert "times that nobody has the UDP port open: start the receiver first" in out


@pytest.mark.usefixtures("unprivileged")
def test_a_packet_socket_without_privilege_is_one_sentence(
    run_cli: RunCli, make_session: MakeSession, tmp_path_factory: pytest.TempPathFactory
) -> None:
    with SessionServer(make_session(), "127.0.0.1", 0) as server:
        to = f"127.0.0.1:{server.address[1]}"
        status, _, err = run_cli("emulate", "--to", to, "--transport", "packet", "--interface", "lo")
    assert status == 2
    assert "packet socket on lo: Operation not permitted: run as root, or with" in err


@pytest.mark.parametrize("content", ["", '{"format": "framelane-sess', "{}"])
def test_a_session_that_is_half_written_is_one_sentence(run_cli: RunCli, tmp_path: Path, content: str) -> None:
    (tmp_path / "session.json").write_text(content)
    status, out, err = run_cli("emulate", "--session", tmp_path / "session.json")
    assert (status, out) == (2, "")
    assert "session.json is not usable: " in err
    assert err.count("\n") == 1


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ((), "give --to, or else --session"),
        (("--to", "a", "--session", "b"), "give --to, or else --session"),
        (("--to", "host:99999"), "--to 'host:99999' is not a receiver: give HOST or HOST:PORT"),
        (("--to", ":4790"), "is not a receiver"),
        (("--to", "a", "--rate", 0), "--rate 0 is not a frame rate"),
        (("--to", "a", "--rate", "nan"), "--rate nan is not a frame rate"),
        (("--to", "a", "--frames", 0), "--frames 0 is too few"),
        (("--to", "a", "--transport", "packet"), "give --interface"),
        (("--to", "a", "--interface", "lo"), "--interface is of --transport packet"),
        (("--to", "a", "--port", 70000), "UDP port 70000 does not exist"),
        (("--to", "a", "--transport", "packet", "--interface", "lo", "--port", 1), "--port is of --transport udp"),
        (("--to", "a", "--impair", "rain=1"), 'there is no "rain"'),
        (("--to", "a", "--impair-seed", -1), "--impair-seed -1 is negative"),
        (("--to", "a", "--seed", -1), "--seed -1 is negative"),
        (("--to", "a", "--calibration", "c.h5"), "give --input as well"),
    ],
)
def test_options_that_cannot_be_are_one_sentence(run_cli: RunCli, options: tuple[object, ...], sentence: str) -> None:
    status, out, err = run_cli("emulate", *options)
    assert (status, out) == (2, "")
    assert sentence in err
    assert err.count("\n") == 1


def test_a_source_that_the_session_does_not_have_is_one_sentence(
    run_cli: RunCli, make_session: MakeSession, tmp_path: Path
) -> None:
    status, _, err = run_cli("emulate", "--session", saved(make_session(), tmp_path), "--source", 1)
    assert (status, err) == (2, "framelane: source 1 is not in a session of 1: give 0..0\n")
