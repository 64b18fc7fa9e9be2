"""`framelane replay`: a capture's packets once more, as they are, when they are due, or with the faults asked for."""

import contextlib
import json
import os
import signal
import struct
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from emulation import saved
from framelane.models.roce_tx import roce_icrc
from framelane.models.tx import tx
from framelane.packets import pcap
from framelane.packets.pcap import PcapWriter
from framelane.packets.pcap_times import times_ns
from framelane.receiver.ring.receiver import Receiver
from framelane.receiver.ring.ring import Ring
from framelane.receiver.transport.packet_port import PacketPort
from framelane.receiver.transport.softnic import SoftNic
from framelane.receiver.transport.udp_port import UdpPort
from framelane.session.session import Session
from framelane.source.impairments.impairments import parse
from sent_packets import drain

MakeSession = Callable[..., Session]
MakeImages = Callable[..., list[NDArray[np.uint16]]]
RunCli = Callable[..., tuple[int, str, str]]
Write = Callable[..., Path]
NOW_NS = 1_700_000_000 * 10**9


@pytest.fixture
def packets(make_session: MakeSession, make_images: MakeImages) -> list[bytes]:
    """The 20 packets of 4 frames of the default session."""
    session = make_session()
    return tx((image.tobytes() for image in make_images(session, 4)), session.tx_config())


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Write packets to a capture, one every `step_ns`."""

    def to_capture(packets: list[bytes], step_ns: int = 0) -> Path:
        with PcapWriter(tmp_path / "in.pcap", force=True) as writer:
            for n, packet in enumerate(packets):
                writer.write(packet, NOW_NS + n * step_ns)
        return tmp_path / "in.pcap"

    return to_capture


@contextlib.contextmanager
def once_seen(interface: str, packets: int, then: Callable[[], object]) -> Iterator[None]:
    """`then` is called once when so many packets have come to an interface, or after 30 s; never after the block."""
    port = PacketPort(interface)
    due, over = time.monotonic() + 30, threading.Event()

    def watch() -> None:
        left = packets
        while left > 0 and time.monotonic() < due and not over.is_set():
            left -= len(list(port.batch(0.1)))
        if not over.is_set():
            then()

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    try:
        yield
    finally:
        over.set()
        watcher.join(40)
        port.close()
    assert not watcher.is_alive()


@pytest.mark.usefixtures("in_order")
def test_an_interface_gets_the_packets_as_they_were_captured(
    run_cli: RunCli, packets: list[bytes], write: Write, network: tuple[str, str]
) -> None:
    port = PacketPort(network[1])
    status, out, err = run_cli("replay", write(packets), "--transport", "packet", "--interface", network[0])
    assert (status, err) == (0, "")
    assert out.startswith("20 of 20 packets in ")
    assert drain(port) == packets


def test_a_udp_receiver_gets_frames_that_are_whole(
    run_cli: RunCli, packets: list[bytes], write: Write, make_session: MakeSession, tmp_path: Path
) -> None:
    session = make_session()
    ring, port = Ring(session), UdpPort(session, 0)
    with SoftNic(port, ring.memory, session) as nic:
        wire = ("--transport", "udp", "--session", saved(session, tmp_path), "--port", port.address[1])
        assert run_cli("replay", write(packets), *wire)[0] == 0
        receiver, frames = Receiver(ring, nic), 0
        deadline = time.monotonic() + 10
        while frames < 4 and time.monotonic() < deadline:
            frames += sum(frame.complete for frame in receiver.poll(0.1))
        assert frames == 4


def test_packets_that_a_udp_socket_cannot_send_are_left_out_and_those_that_it_spoils_are_said(
    run_cli: RunCli, packets: list[bytes], write: Write, make_session: MakeSession, tmp_path: Path
) -> None:
    session = make_session()
    arp = packets[0][:12] + b"\x08\x06" + packets[0][14:]
    other_port = packets[0][:36] + b"\x12\xb8" + packets[0][38:]
    tagged = packets[1][:12] + b"\x81\x00\x00\x05" + packets[1][12:]
    numbered = packets[2][:18] + b"\x00\x07" + packets[2][20:]
    padded = packets[3] + bytes(10)
    given = [packets[0], arp, tagged, other_port, packets[0][:60], b"", numbered, padded]
    ring, port = Ring(session), UdpPort(session, 0)
    with SoftNic(port, ring.memory, session) as nic:
        wire = ("--transport", "udp", "--session", saved(session, tmp_path), "--port", port.address[1])
        status, out, err = run_cli("replay", write(given), *wire)
        deadline = time.monotonic() + 10
        while nic.counters.packets < 4 and time.monotonic() < deadline:
            nic.poll(0.1)
        assert (status, err) == (1, "")
        assert "4 packets were left out: they are not UDP to port 4791 over IPv4" in out
        assert "1 packets have addresses, a source port, an IP ID or flags that the session's UDP socket" in out
        counters = nic.counters
        assert (counters.packets, counters.placed) == (4, 4), "the ICRC of the one with an ID was for ID 0"
        assert roce_icrc.check(padded[:-10])


def test_packets_come_as_far_apart_as_they_were_captured(
    run_cli: RunCli, packets: list[bytes], write: Write, network: tuple[str, str], tmp_path: Path
) -> None:
    wire = ("--transport", "packet", "--interface", "lo", "--report", tmp_path / "report.json")

    def seconds(*options: object) -> float:
        """How long it took; a machine with much else to do makes it late, which is said."""
        status, out, _ = run_cli("replay", write(packets, 50_000_000), *wire, *options, "--force")
        assert status == ("the times were not held" in out)
        return float(json.loads((tmp_path / "report.json").read_text())["seconds"])

    assert 0.95 <= seconds() < 1.9
    assert seconds("--fast") < 0.38
    assert 0.38 <= seconds("--rate", 50) < 0.95


@pytest.mark.usefixtures("in_order")
def test_times_that_go_back_hold_nothing_up(
    run_cli: RunCli, packets: list[bytes], network: tuple[str, str], tmp_path: Path
) -> None:
    with PcapWriter(tmp_path / "in.pcap") as writer:
        for n, packet in enumerate(packets):
            writer.write(packet, NOW_NS - n * 10**9)
    port = PacketPort(network[1])
    assert run_cli("replay", tmp_path / "in.pcap", "--transport", "packet", "--interface", network[0])[0] == 0
    assert drain(port) == packets


def test_a_rate_that_cannot_be_held_is_said(
    run_cli: RunCli, packets: list[bytes], write: Write, network: tuple[str, str]
) -> None:
    wire = ("--transport", "packet", "--interface", "lo", "--rate", 1e9)
    status, out, _ = run_cli("replay", write(packets * 2000), *wire)
    assert status == 1
    assert "the times were not held: the last packet was " in out


def test_a_capture_is_impaired_as_the_library_does_it_and_keeps_its_times(
    run_cli: RunCli, packets: list[bytes], write: Write, tmp_path: Path
) -> None:
    text = "corrupt:bth.psn@3,duplicate@5,reorder@18,drop=0.1"
    options = ("--impair", text, "--impair-seed", 3, "--report", tmp_path / "report.json")
    status, out, err = run_cli("replay", write(packets, 1000), "--output", tmp_path / "out.pcap", *options)
    assert (status, err) == (0, "")
    expected = parse(text, 3)
    made = list(expected(packets))
    assert list(pcap.read(tmp_path / "out.pcap")) == made
    report = json.loads((tmp_path / "report.json").read_text())
    assert report["faults_made"] == dict(expected.counts)
    assert [deed["index"] for deed in report["deeds"]] == [deed.index for deed in expected.record]
    assert f"{expected.counts['drop']} drop, 1 duplicate, 1 reorder" in out
    times = times_ns(pcap.load(tmp_path / "out.pcap"))
    places = [packets.index(packet) if packet in packets else 3 for packet in made]
    assert (times - NOW_NS >= 1000 * np.array(places)).all()
    assert (np.diff(times) >= 0).all()


@pytest.mark.usefixtures("in_order")
def test_faults_on_a_wire_are_the_same_as_in_a_file(
    run_cli: RunCli, packets: list[bytes], write: Write, network: tuple[str, str]
) -> None:
    text = "reorder:100@0,drop=0.1,delay:1@2,truncate=0.1"
    port = PacketPort(network[1])
    wire = ("--transport", "packet", "--interface", network[0], "--fast", "--impair", text)
    assert run_cli("replay", write(packets), *wire)[0] == 0
    assert drain(port) == list(parse(text)(packets))


def test_a_signal_ends_a_replay_in_order(
    run_cli: RunCli, packets: list[bytes], write: Write, network: tuple[str, str]
) -> None:
    wire = ("--transport", "packet", "--interface", network[0])
    with once_seen(network[1], 1, lambda: os.kill(os.getpid(), signal.SIGTERM)):
        status, out, _ = run_cli("replay", write(packets, 20 * 10**9), *wire)
    assert status == 1
    assert "ended by a signal, after 1 of 20 packets" in out


def test_an_interface_that_goes_down_in_the_middle_is_said(
    run_cli: RunCli, packets: list[bytes], write: Write, network: tuple[str, str]
) -> None:
    down = ["ip", "link", "set", network[0], "down"]
    wire = ("--transport", "packet", "--interface", network[0])
    with once_seen(network[1], 2, lambda: subprocess.run(down, check=True)):
        status, out, _ = run_cli("replay", write(packets, 10**9), *wire)
    assert status == 1
    assert "after 2 packets: cannot send a packet of " in out
    assert "interface veth0: Network is down" in out


@pytest.mark.parametrize("order", "<>")
@pytest.mark.parametrize(("magic", "fraction"), [(0xA1B2C3D4, 7_000), (0xA1B23C4D, 7)])
def test_the_times_of_any_capture_are_read(tmp_path: Path, order: str, magic: int, fraction: int) -> None:
    header = struct.pack(order + "IHHiIII", magic, 2, 4, 0, 0, 1 << 18, 1)
    records = b"".join(struct.pack(order + "IIII", 0xF0000000, n, 3, 3) + b"abc" for n in (7, 999_999))
    (tmp_path / "x.pcap").write_bytes(header + records)
    scale = fraction // 7
    assert times_ns(pcap.load(tmp_path / "x.pcap")).tolist() == [
        0xF0000000 * 10**9 + 7 * scale,
        0xF0000000 * 10**9 + 999_999 * scale,
    ]


def test_an_empty_capture_is_no_fault(run_cli: RunCli, write: Write, network: tuple[str, str]) -> None:
    status, out, _ = run_cli("replay", write([]), "--transport", "packet", "--interface", "lo")
    assert status == 0
    assert out.startswith("0 of 0 packets")


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ((), "say where packets go: give --transport udp or packet, or else --output"),
        (("--transport", "udp"), "give --session, or --transport packet"),
        (("--transport", "packet"), "give --interface"),
        (("--output", "x", "--transport", "udp"), "say where packets go"),
        (("--output", "x", "--fast"), "--rate and --fast are of a wire"),
        (("--transport", "packet", "--interface", "lo", "--fast", "--rate", 1), "leave one out"),
        (("--transport", "packet", "--interface", "lo", "--rate", "inf"), "--rate inf is not a rate"),
        (("--output", "x", "--impair", "drop=2"), '"2" is not a share of the packets'),
    ],
)
def test_options_that_cannot_be_are_one_sentence(
    run_cli: RunCli, packets: list[bytes], write: Write, options: tuple[object, ...], sentence: str
) -> None:
    status, out, err = run_cli("replay", write(packets), *options)
    assert (status, out) == (2, "")
    assert sentence in err
    assert err.count("\n") == 1


def test_a_capture_is_not_written_over_itself(run_cli: RunCli, packets: list[bytes], write: Write) -> None:
    path = write(packets)
    status, _, err = run_cli("replay", path, "--output", path)
    assert status == 2
    assert "it is an input of this run" in err
    assert list(pcap.read(path)) == packets


def test_a_damaged_capture_sends_nothing(
    run_cli: RunCli, packets: list[bytes], write: Write, network: tuple[str, str]
) -> None:
    path = write(packets)
    path.write_bytes(path.read_bytes()[:-3])
    port = PacketPort("lo")
    status, _, err = run_cli("replay", path, "--transport", "packet", "--interface", "lo")
    assert status == 2
    assert "packet 20 at byte offset" in err
    assert drain(port) == []
