"""`framelane emulate`: a receiver gets what was sent, and both count the same."""

import json
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from emulation import receiving, saved
from framelane.base.stopping import Stop
from framelane.models.placement.slots import FREE_RUNNING, HOLE_WORD
from framelane.models.roce_tx.wire import parse
from framelane.receiver.transport.packet_port import PacketPort
from framelane.session.session import Session
from framelane.session.session_client import SessionClient
from framelane.session.session_link import Report
from framelane.session.session_server import SessionServer
from framelane.source import emulated_source
from framelane.source.credit import LinkCredit
from framelane.source.emulate_images import images
from framelane.source.emulated_source import EmulatedSource, Route, Schedule
from framelane.source.emulator import Emulator
from framelane.source.impairments.impair import Line
from framelane.source.sender import UdpSender

MakeSession = Callable[..., Session]
RunCli = Callable[..., tuple[int, str, str]]


@pytest.mark.parametrize("segmentation", ["only", "message"])
@pytest.mark.parametrize("transport", ["udp", "packet"])
def test_a_receiver_on_the_link_gets_every_image_in_its_own_ring(
    run_cli: RunCli, make_session: MakeSession, network: tuple[str, str], transport: str, segmentation: str
) -> None:
    session = make_session(segmentation=segmentation)
    interface = network[1] if transport == "packet" else None
    wire = ("--transport", "packet", "--interface", network[0])
    with receiving(session, interface) as live:
        options = wire if interface else ("--port", live.udp_port)
        status, out, err = run_cli("emulate", "--to", live.to, "--frames", 50, *options)
        assert (status, err) == (0, "")
    assert "frames: 50 offered, 50 sent, 0 dropped for want of credit\n250 packets in " in out
    sent = images(session, None, None, 1)
    assert sorted(live.images) == list(range(50)), "12 times the ring: the credit came back"
    assert all(np.array_equal(image, sent[number % len(sent)]) for number, image in live.images.items())
    assert str(live.tally()) == (
        "50 sent = 50 complete + 0 incomplete + 0 dropped at source + 0 dropped by host + 0 missing"
    )


def test_several_sources_send_their_shares_of_one_image(
    run_cli: RunCli, make_session: MakeSession, network: tuple[str, str]
) -> None:
    session = make_session(sources=2, rows=18)
    with receiving(session) as live:
        for source in range(2):
            options = ("--to", live.to, "--port", live.udp_port, "--frames", 4)
            assert run_cli("emulate", *options, "--source", source)[0] == 0
    sent = images(session, None, None, 1)
    assert [np.array_equal(live.images[number], sent[number]) for number in range(4)] == [True] * 4


@pytest.mark.parametrize("src_port", [0xC000, 0xFFFF])
def test_two_processes_send_their_shares_by_udp_at_the_same_time(
    run_cli: RunCli, make_session: MakeSession, network: tuple[str, str], src_port: int
) -> None:
    session = make_session(sources=2, rows=18, src_port=src_port)
    program = [sys.executable, "-c", "from framelane.cli import main; main()"]
    with receiving(session) as live:
        options = ("emulate", "--to", live.to, "--port", live.udp_port, "--frames", 50)
        with subprocess.Popen([*program, *map(str, options), "--source", "1"], stdout=subprocess.DEVNULL) as other:
            try:
                assert run_cli(*options, "--source", 0)[0] == 0
                assert other.wait(20) == 0
            finally:
                other.kill()
    assert live.nic.counters.refused.total() == 0
    sent = images(session, None, None, 1)
    assert sorted(live.images) == list(range(50)), "12 times the ring: each has waited for the other"
    assert all(np.array_equal(image, sent[number % len(sent)]) for number, image in live.images.items())
    assert live.tally().complete == 50


def test_a_receiver_hears_at_once_that_a_source_begins_to_drop_frames(
    make_session: MakeSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(emulated_source, "_TELL_S", 3600.0)
    monkeypatch.setattr(emulated_source, "_TELL_DROP_S", 0.0)
    session, stop = make_session(), Stop()
    with (
        SessionServer(session, "127.0.0.1", 0) as server,
        SessionClient(*server.address, 0) as client,
        UdpSender(session) as sender,
    ):
        emulator = Emulator(session)
        prepared = [emulator.prepare(np.zeros((16, 100), np.uint16))]
        route = Route(emulator, prepared, LinkCredit(client, 0), Line(sender, None))
        source = EmulatedSource(Schedule(rate=100, frames=None), [route])
        run = threading.Thread(target=source.run, args=(stop,))
        run.start()
        try:
            first = wait_for(server, 1)
            server.publish(200)
            second = wait_for(server, 200)
        finally:
            stop.wanted = True
            run.join()
    assert first == Report(source=0, offered=5, dropped=1)
    assert (second.offered, second.ended) == (201, False), "the frames from 5 on that are dropped have time"
    assert second.dropped == 201 - source.outcome.sent


def wait_for(server: SessionServer, offered: int) -> Report:
    """A source's first report of more than so many frames."""
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        report = server.reports.get(0)
        if report is not None and report.offered > offered:
            return report
        time.sleep(0.001)
    pytest.fail(f"nobody has told of {offered} frames: {server.reports}")


def test_frames_without_credit_are_dropped_whole_and_the_identity_is_exact(
    run_cli: RunCli, make_session: MakeSession, network: tuple[str, str], tmp_path: Path
) -> None:
    session = make_session()
    with receiving(session, pause_s=0.02) as live:
        status, out, _ = run_cli(
            *("emulate", "--to", live.to, "--port", live.udp_port, "--frames", 300, "--rate", 500),
            *("--report", tmp_path / "report.json"),
        )
    report = json.loads((tmp_path / "report.json").read_text())
    assert status == 1
    assert "were dropped for want of credit: the receiver does not keep up" in out
    tally = live.tally()
    assert tally.holds
    assert (tally.sent, tally.complete, tally.missing) == (300, report["sent"], 0)
    assert tally.dropped_at_source == report["dropped"] == 300 - report["sent"] > 0
    numbers = sorted(live.images)
    assert [live.drops[number] for number in numbers] == [number - n for n, number in enumerate(numbers)]


def test_the_faults_that_are_made_are_those_that_are_told_and_those_that_arrive(
    run_cli: RunCli, make_session: MakeSession, network: tuple[str, str], tmp_path: Path
) -> None:
    session = make_session()
    with receiving(session, network[1]) as live:
        status, out, _ = run_cli(
            *("emulate", "--to", live.to, "--transport", "packet", "--interface", network[0], "--frames", 100),
            *("--impair", "drop=0.02,corrupt:icrc=0.02", "--report", tmp_path / "report.json"),
        )
    report = json.loads((tmp_path / "report.json").read_text())
    assert status == 0
    made = report["faults_made"]
    assert min(made["drop"], made["corrupt"]) >= 1
    assert f"faults made: {made['corrupt']} corrupt, {made['drop']} drop" in out
    counters = live.nic.counters
    assert (counters.packets, counters.refused) == (500 - made["drop"], {"icrc": made["corrupt"]})
    holes = np.zeros(100, int)
    for deed in report["deeds"]:
        frame, packet = divmod(deed["index"], 5)
        assert deed["frame"] == frame
        holes[frame] += (512, 512, 512, 64, 0)[packet]
    assert {n: int((image == HOLE_WORD).sum()) for n, image in live.images.items()} == dict(enumerate(holes.tolist()))
    assert live.tally().holds


def test_what_a_fault_has_held_back_leaves_at_the_end(
    run_cli: RunCli, make_session: MakeSession, network: tuple[str, str], tmp_path: Path
) -> None:
    path = saved(make_session(window_end=FREE_RUNNING), tmp_path)
    port = PacketPort(network[1])
    wire = ("--transport", "packet", "--interface", network[0])
    assert run_cli("emulate", "--session", path, "--frames", 2, "--impair", "reorder:100@0", *wire)[0] == 0
    numbers: list[int] = []
    while packets := list(port.batch(1.0)):
        numbers += [parse(packet)[0].psn + 2 & 0xFFFFFF for packet in packets]
    port.close()
    assert numbers == [*range(1, 10), 0]


def test_at_a_rate_frames_come_when_they_are_due(
    run_cli: RunCli, make_session: MakeSession, network: tuple[str, str], tmp_path: Path
) -> None:
    path = saved(make_session(window_end=FREE_RUNNING), tmp_path)
    wire = ("--transport", "packet", "--interface", "lo", "--report", tmp_path / "report.json")
    status, out, _ = run_cli("emulate", "--session", path, "--frames", 101, "--rate", 200, *wire)
    report = json.loads((tmp_path / "report.json").read_text())
    assert 0.5 <= report["seconds"] < 2
    assert report["held"] == (report["late_s"] <= 0.01) == ("the rate was held; the latest" in out)
    assert status == (0 if report["held"] else 1)


def test_a_rate_that_cannot_be_held_is_said(
    run_cli: RunCli, make_session: MakeSession, network: tuple[str, str], tmp_path: Path
) -> None:
    path = saved(make_session(window_end=FREE_RUNNING), tmp_path)
    wire = ("--transport", "packet", "--interface", "lo")
    status, out, _ = run_cli("emulate", "--session", path, "--frames", 3000, "--rate", 1e6, *wire)
    assert status == 1
    assert "the rate was not held: the last frame was " in out


@pytest.mark.parametrize("rate", [(), ("--rate", 1000)])
def test_credit_that_never_grows_is_used_up_and_said(
    run_cli: RunCli, make_session: MakeSession, network: tuple[str, str], tmp_path: Path, rate: tuple[object, ...]
) -> None:
    wire = ("--transport", "packet", "--interface", "lo")
    status, out, _ = run_cli("emulate", "--session", saved(make_session(), tmp_path), "--frames", 20, *rate, *wire)
    assert status == 1
    offered, dropped = (20, 16) if rate else (4, 0)
    assert f"frames: {offered} offered, 4 sent, {dropped} dropped for want of credit" in out
    assert (
        "the session's file gives credit up to frame 3, and nobody gives more: use the receiver's link, or let" in out
    )


def test_just_the_frames_that_have_credit_are_no_fault(
    run_cli: RunCli, make_session: MakeSession, network: tuple[str, str], tmp_path: Path
) -> None:
    wire = ("--transport", "packet", "--interface", "lo")
    assert run_cli("emulate", "--session", saved(make_session(), tmp_path), "--frames", 4, *wire)[0] == 0
