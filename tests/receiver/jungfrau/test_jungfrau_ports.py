"""Where the packets of a JUNGFRAU come from: UDP sockets and captures, and what else comes there."""

import random
import socket
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from scapy.layers.inet import IP, TCP, UDP
from scapy.layers.inet6 import IPv6
from scapy.layers.l2 import ARP, Dot1Q, Ether

from framelane.base.errors import ConfigError, InputError, TransportError
from framelane.packets.detector_file import JUNGFRAU, shipped
from framelane.packets.pcap import PcapWriter
from framelane.receiver.detector.detector_port import DetectorPort
from framelane.receiver.detector.packet_batch import BATCH, PacketBatch
from framelane.receiver.detector.packet_fate import Fate
from framelane.receiver.jungfrau.jungfrau_capture import JungfrauCapture
from framelane.receiver.jungfrau.jungfrau_udp import FrameAssembler
from framelane.source.detector_sender import DetectorSender
from jungfrau_live import free_ports
from jungfrau_packets import raw, sent, write_capture


@pytest.fixture
def base() -> int:
    """Find the first of four consecutive UDP ports that are free."""
    return free_ports(4)


def test_a_detector_on_four_ports_is_received_whole(base: int) -> None:
    assembler, batch, frames = FrameAssembler(2, 2), PacketBatch(shipped(JUNGFRAU)), 0
    with (
        DetectorPort("127.0.0.1", list(range(base, base + 4))) as port,
        DetectorSender("127.0.0.1", base, 2, 2) as sender,
    ):
        for number in range(1, 4):
            sender.send(sender.prepare(raw(number, 2)), number, 100 + number, number * 1000, 500)
        deadline = time.monotonic() + 10
        while frames < 3 and time.monotonic() < deadline:
            port.fill(batch, 0.1)
            for frame in assembler.add(batch):
                frames += 1
                assert (frame.image == raw(frame.number, 2)).all()
                assert (frame.header.bunch_id, frame.timestamp_ns) == (100 + frame.number, frame.number * 1000)
                assert [header and header.module_id for header in frame.headers] == [0, 1]
        assert (frames, port.queue_drops) == (3, 0)


def test_nothing_is_waited_for_longer_than_is_said() -> None:
    batch = PacketBatch(shipped(JUNGFRAU))
    batch.add(b"old", 0)
    with DetectorPort("127.0.0.1", [0]) as port:
        start = time.monotonic()
        port.fill(batch, 0.05)
        assert 0.04 < time.monotonic() - start < 1
    assert batch.n == 0


def test_a_busy_port_does_not_keep_another_one_waiting() -> None:
    batch = PacketBatch(shipped(JUNGFRAU))
    with DetectorPort("127.0.0.1", [0, 0]) as port, socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        for address, n in zip(port.addresses, (2 * BATCH, 1), strict=True):
            for _ in range(n):
                sender.sendto(b"x", address)
        port.fill(batch, 1)
        assert sorted(batch.streams[: batch.n].tolist()) == [0] * (BATCH // 2) + [1]


def test_a_datagram_that_is_too_long_is_not_cut_to_a_good_one() -> None:
    batch, assembler = PacketBatch(shipped(JUNGFRAU)), FrameAssembler(1)
    with DetectorPort("127.0.0.1", [0]) as port, socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        sender.sendto(sent(1)[0][1] + b"\0", port.addresses[0])
        port.fill(batch, 1)
    assert list(assembler.add(batch)) == []
    assert assembler.counts.fates[Fate.SIZE] == 1


def test_packets_for_which_the_queue_has_no_room_are_counted() -> None:
    batch, got = PacketBatch(shipped(JUNGFRAU)), 0
    with DetectorPort("127.0.0.1", [0]) as port, socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        n = 2 * port.queue_bytes // 8240
        for _ in range(n):
            sender.sendto(bytes(8240), port.addresses[0])
        port.fill(batch, 0)
        while batch.n:
            got += batch.n
            port.fill(batch, 0)
        assert got < n
        assert got + port.queue_drops == n


def test_ports_that_cannot_be_had_are_said() -> None:
    with DetectorPort("127.0.0.1", [0]) as port:
        taken = port.addresses[0][1]
        with pytest.raises(TransportError, match=rf"UDP 127.0.0.1:{taken}: Address already in use: stop the process"):
            DetectorPort("127.0.0.1", [0, taken])
    with pytest.raises(TransportError, match="no interface of this machine has that address"):
        DetectorPort("192.0.2.1", [0])
    with pytest.raises(ConfigError, match="70000 is not a UDP port"):
        DetectorPort("127.0.0.1", [70000])


def test_without_privilege_the_queue_is_as_long_as_the_kernel_allows(unprivileged: None) -> None:
    with DetectorPort("127.0.0.1", [0]) as port:
        assert port.queue_bytes >= 4096


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("nowhere.invalid", 50001, 1, 1), "nowhere.invalid is not an address"),
        (("127.0.0.1", 65530, 4, 2), "8 UDP ports from 65530 on cannot be"),
        (("127.0.0.1", 0, 1, 1), "1 UDP ports from 0 on cannot be"),
        (("127.0.0.1", 50001, 1, 3), "1 or 2 interfaces"),
    ],
)
def test_a_target_that_cannot_be_is_said(arguments: tuple[str, int, int, int], sentence: str) -> None:
    with pytest.raises((ConfigError, TransportError), match=sentence):
        DetectorSender(*arguments)


def test_an_address_where_nothing_can_be_sent_is_said() -> None:
    sentence = r"cannot send to UDP 255.255.255.255:50001: Permission denied: that is a broadcast"
    with DetectorSender("255.255.255.255", 50001, 1) as sender, pytest.raises(TransportError, match=sentence):
        sender.send(sender.prepare(raw(1)), 1, 0, 0)


def read(path: Path, ports: list[int]) -> tuple[JungfrauCapture, list[tuple[int, int]]]:
    """Read a capture to its end: it, and the stream and size of each packet."""
    batch, found = PacketBatch(shipped(JUNGFRAU)), []
    capture = JungfrauCapture(path, ports)
    while not capture.ended:
        capture.fill(batch, 0)
        found += list(zip(batch.streams[: batch.n].tolist(), batch.sizes[: batch.n].tolist(), strict=True))
    return capture, found


def test_a_capture_gives_the_packets_of_the_ports_and_tells_the_others(tmp_path: Path) -> None:
    path = tmp_path / "a.pcap"
    head = Ether() / IP(dst="10.0.0.1")
    payload = sent(1)[0][1]
    frames = [
        head / UDP(dport=50002) / payload,
        Ether() / Dot1Q(vlan=5) / IP(dst="10.0.0.1") / UDP(dport=50001) / payload,
        Ether() / IP(dst="10.0.0.1", options=b"\x01" * 4) / UDP(dport=50001) / payload,
        head / UDP(dport=50001) / b"short",
        head / UDP(dport=4791) / payload,
        head / TCP(dport=50001) / payload,
        Ether() / IPv6() / UDP(dport=50001) / payload,
        Ether() / ARP(),
        Ether(type=0x88B5) / bytes(IP(dst="10.0.0.1") / UDP(dport=50001) / payload),
    ]
    with PcapWriter(path) as capture:
        for frame in frames:
            capture.write(bytes(frame))
        capture.write(bytes(frames[3]) + bytes(20))  # padded, as short frames are
        capture.write(b"")
        capture.write(bytes(frames[0])[:20])
    found = read(path, [50001, 50002])[1]
    assert [stream for stream, _ in found] == [1, 0, 0, 0, -1, -1, -1, -1, -1, 0, -1, -1]
    assert [size for stream, size in found if stream >= 0] == [8240, 8240, 8240, 5, 5]


def test_a_capture_with_any_bytes_in_it_is_read_to_its_end(tmp_path: Path) -> None:
    rng = random.Random(2)
    with PcapWriter(tmp_path / "a.pcap") as capture:
        for words in range(16):  # that the IP header says it has
            for size in range(32):
                capture.write(rng.randbytes(12) + b"\x08\x00" + bytes([0x40 | words]) + rng.randbytes(size))
    assert len(read(tmp_path / "a.pcap", [50001])[1]) == 16 * 32


def test_ip_fragments_are_counted_and_none_is_taken_for_a_packet(tmp_path: Path) -> None:
    path = tmp_path / "a.pcap"
    with PcapWriter(path) as capture:
        datagram: Any = IP(dst="10.0.0.1") / UDP(dport=50001) / sent(1)[0][1]
        for piece in datagram.fragment(1480):
            capture.write(bytes(Ether() / piece))
    capture_file, found = read(path, [50001])
    assert capture_file.fragments == len(found) == 6
    assert {stream for stream, _ in found} == {-1}


def test_a_damaged_capture_is_refused_before_its_first_packet(tmp_path: Path) -> None:
    path = tmp_path / "a.pcap"
    write_capture(path, sent(1))
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(InputError, match="packet 128 at byte offset"):
        JungfrauCapture(path, [50001])


def test_tshark_reads_what_the_sender_sends(
    tmp_path: Path, tshark: Callable[[Path, list[str]], list[list[str]]]
) -> None:
    """The capture of the tests is good: tshark finds no fault in it."""
    path = tmp_path / "a.pcap"
    write_capture(path, sent(1, interfaces=2))
    rows = tshark(path, ["ip.checksum.status", "udp.dstport", "udp.length"])
    assert [row[1] for row in rows] == ["50001"] * 64 + ["50002"] * 64
    assert {tuple(row[::2]) for row in rows} == {("1", "8248")}
