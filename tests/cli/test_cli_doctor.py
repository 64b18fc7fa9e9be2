"""`framelane doctor` as a user meets it: reports, the document for machines, exit status, and a live interface."""

import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from doctor_cases import make, send, stream
from framelane.doctor import live
from framelane.doctor.doctor_run import DoctorOptions, run
from framelane.packets.pcap import PcapWriter
from framelane.session.session import Session

RunCli = Callable[..., tuple[int, str, str]]


@pytest.fixture
def session(tmp_path: Path) -> Session:
    session = make()
    session.save(tmp_path / "session.json")
    return session


@pytest.fixture
def doctor(run_cli: RunCli, tmp_path: Path, session: Session) -> Callable[..., tuple[int, str, Any]]:
    """Examine packets; status, text, and the document."""

    def run(packets: list[bytes], *arguments: object) -> tuple[int, str, Any]:
        with PcapWriter(tmp_path / "x.pcap") as writer:
            for number, packet in enumerate(packets):
                writer.write(packet, 1_700_000_000_000_000_000 + number * 1_000_000)
        files = ("--session", tmp_path / "session.json", "--pcap", tmp_path / "x.pcap", "--json", tmp_path / "x.json")
        status, out, err = run_cli("doctor", *files, *arguments)
        assert err == ""
        return status, out, json.loads((tmp_path / "x.json").read_text())

    return run


def test_good_packets_end_with_status_0(doctor: Any, session: Session) -> None:
    status, out, document = doctor(stream(session))
    assert status == 0
    assert "20 packets in 0.019 s, 20 of them for this session" in out
    assert "frames 0 to 3: 4 complete, 0 incomplete" in out
    assert "nothing is wrong with these packets" in out
    assert document["nothing_wrong"] is True
    assert document["packets"]["placed"] == {"soft_nic": 20, "rnic": 20, "soft_roce": 20}
    assert "host" not in document


def test_a_fault_is_told_with_its_first_packet_time_value_and_what_to_do(doctor: Any, session: Session) -> None:
    sent = stream(session)
    wrong = stream(make(qpn=0x777))
    status, out, document = doctor([*sent[:5], *wrong[5:]])
    assert status == 1
    assert "fault: qpn, 15 times, not placed by: soft NIC, SoftRoCE, RNIC" in out
    assert "first in packet 6 at 0.005000 s (22:13:20.005000 UTC), last in packet 20" in out
    assert "destination QP 0x777, should be 0x12345" in out
    assert "do: give the source the qpn of the present session" in out
    (cause,) = [cause for cause in document["packets"]["causes"] if cause["cause"] == "qpn"]
    assert (cause["count"], cause["first_packet"], cause["counter"]) == (15, 6, "qpn")
    assert cause["not_placed_by"] == ["soft_nic", "soft_roce", "rnic"]


def test_in_a_terminal_faults_and_warnings_stand_out(session: Session, tmp_path: Path) -> None:
    with PcapWriter(tmp_path / "x.pcap") as writer:
        for packet in stream(make(qpn=0x777)):
            writer.write(packet)
    out = io.StringIO()
    options = DoctorOptions(session=tmp_path / "session.json", pcap=tmp_path / "x.pcap", interface="lo")
    assert not run(options, Console(file=out, force_terminal=True, color_system="standard", no_color=False))
    lines = out.getvalue().splitlines()
    assert any(line.startswith("\x1b[1;31mfault: qpn") for line in lines), lines
    assert any(line.startswith("\x1b[31mfault: address") for line in lines), lines
    assert any(line.startswith("ok: interface") for line in lines), lines


def test_a_session_of_the_last_run_is_recognized(doctor: Any) -> None:
    status, out, _ = doctor(stream(make(qpn=1, rkey=2, base=0x4000)))
    assert status == 1
    assert "QPN, rkey and addresses are of another session: give the source the present session.json" in out


def test_a_capture_with_nothing_of_the_session_gets_a_list_of_likely_causes(doctor: Any) -> None:
    arp = b"\xff" * 6 + bytes(6) + b"\x08\x06" + bytes(46)
    status, out, document = doctor([arp] * 3)
    assert status == 1
    assert "no packet of this session is in the capture" in out
    assert "others: 3 ARP" in out
    assert "  1. the source is not sending" in out
    assert document["nothing_wrong"] is False


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["--pcap", "x", "--listen", "1"], "give one of them"),
        (["--listen", "0"], "above 0 and at most 3600"),
        (["--save", "y"], "give --listen as well"),
        (["--pcap", "missing"], "cannot read the capture missing"),
    ],
)
def test_bad_input_is_a_sentence_and_status_2(
    run_cli: RunCli, session: Session, tmp_path: Path, arguments: list[str], text: str
) -> None:
    status, _, err = run_cli("doctor", "--session", tmp_path / "session.json", *arguments)
    assert status == 2
    assert text in err


def test_the_session_is_not_written_over(run_cli: RunCli, session: Session, tmp_path: Path) -> None:
    path = tmp_path / "session.json"
    status, _, err = run_cli("doctor", "--session", path, "--pcap", tmp_path / "x", "--json", path)
    assert status == 2
    assert err == f"framelane: cannot write {path}: it is an input of this run: give another --json\n"


def test_without_a_capture_this_host_is_examined(run_cli: RunCli, tmp_path: Path) -> None:
    make(source={"mac": "02:00:00:00:00:01", "ip": "127.0.0.1"},
         receiver={"mac": "02:00:00:00:00:02", "ip": "127.0.0.1"}).save(tmp_path / "s.json")  # fmt: skip
    status, out, _ = run_cli("doctor", "--session", tmp_path / "s.json", "--json", tmp_path / "x.json")
    assert status == 0
    assert "ok: interface: lo is up" in out
    document = json.loads((tmp_path / "x.json").read_text())
    assert {"interface", "mtu", "address", "memlock", "gid", "pyverbs", "counters"} <= {
        finding["check"] for finding in document["host"]
    }


def test_that_listening_has_stopped_early_is_said(
    run_cli: RunCli, session: Session, tmp_path: Path, network: tuple[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    near, far = network
    monkeypatch.setattr(live, "_MOST_BYTES", 300)
    thread = send(far, stream(session), 0.3)
    _, out, _ = run_cli("doctor", "--session", tmp_path / "session.json", "--listen", 20, "--interface", near)
    thread.join()
    assert "listening has stopped early, its memory was full" in out


def test_what_arrives_now_is_examined_and_may_be_kept(
    run_cli: RunCli, session: Session, tmp_path: Path, network: tuple[str, str]
) -> None:
    near, far = network
    thread = send(far, stream(session), 0.5)
    files = ("--session", tmp_path / "session.json", "--save", tmp_path / "kept.pcap", "--json", tmp_path / "x.json")
    status, out, _ = run_cli("doctor", *files, "--listen", 1.5, "--interface", near)
    thread.join()
    assert f"listening on {near} for 1.5 s" in out
    assert "20 of them for this session" in out
    assert status == 1, "the host is not the session's receiver"
    document = json.loads((tmp_path / "x.json").read_text())
    assert document["packets"]["frames"]["complete"] == 4
    assert (tmp_path / "kept.pcap").stat().st_size > 20 * 142
    status, out, _ = run_cli("doctor", "--session", tmp_path / "session.json", "--pcap", tmp_path / "kept.pcap")
    assert status == 0
    status, out, _ = run_cli("doctor", "--session", tmp_path / "session.json", "--listen", 0.2, "--interface", near)
    assert "likely causes:" in out
