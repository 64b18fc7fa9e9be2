"""Captures as they come: every format and byte order, cut off, with times; and what arrives on an interface."""

import struct
import time
from pathlib import Path

import pytest

from doctor_cases import send
from framelane.base.errors import InputError, TransportError
from framelane.doctor import capture, live
from framelane.packets.pcap import PcapWriter

FRAMES = [bytes([n]) * (60 + n) for n in range(3)]
TIME_NS = 1_700_000_000_123_456_789


def pcap(order: str = "<", magic: int = 0xA1B23C4D, link: int = 1, extra: int = 0) -> bytes:
    unit = 1 if magic == 0xA1B23C4D else 1000
    data = struct.pack(order + "IHHiIII", magic, 2, 4, 0, 0, 65535, link)
    for frame in FRAMES:
        seconds, rest = divmod(TIME_NS, 10**9)
        data += struct.pack(order + "IIII", seconds, rest // unit, len(frame), len(frame) + extra) + frame
    return data


def block(order: str, kind: int, body: bytes) -> bytes:
    size = 12 + len(body)
    return struct.pack(order + "II", kind, size) + body + struct.pack(order + "I", size)


def pcapng(order: str = "<", link: int = 1, resolution: bytes = b"\x09") -> bytes:
    """Section, an unknown block, an interface with if_tsresol, enhanced packets."""
    data = block(order, 0x0A0D0D0A, struct.pack(order + "IHHq", 0x1A2B3C4D, 1, 0, -1))
    data += block(order, 0x0BAD, b"rest")
    options = struct.pack(order + "HH", 9, 1) + resolution.ljust(4, b"\0") + bytes(4) if resolution else b""
    data += block(order, 1, struct.pack(order + "HHI", link, 0, 0) + options)
    time_units = TIME_NS if resolution else TIME_NS // 1000
    for frame in FRAMES:
        head = struct.pack(order + "IIIII", 0, time_units >> 32, time_units & 0xFFFFFFFF, len(frame), len(frame))
        data += block(order, 6, head + frame + bytes(-len(frame) % 4))
    return data


def read(path: Path, data: bytes) -> list[capture.Captured]:
    path.write_bytes(data)
    return list(capture.read(path))


@pytest.mark.parametrize("order", ["<", ">"])
def test_nanoseconds_and_microseconds_of_any_machine_are_read(tmp_path: Path, order: str) -> None:
    exact = [(TIME_NS, frame, len(frame)) for frame in FRAMES]
    assert read(tmp_path / "x.pcap", pcap(order)) == exact
    rounded = [(TIME_NS - TIME_NS % 1000, frame, len(frame)) for frame in FRAMES]
    assert read(tmp_path / "x.pcap", pcap(order, 0xA1B2C3D4)) == rounded
    assert read(tmp_path / "x.pcapng", pcapng(order)) == exact
    assert read(tmp_path / "x.pcapng", pcapng(order, resolution=b"")) == rounded


@pytest.mark.parametrize("order", ["<", ">"])
def test_packets_without_a_time_are_read_whole(tmp_path: Path, order: str) -> None:
    """Simple packet blocks: only the size on the wire stands before the data."""
    data = block(order, 0x0A0D0D0A, struct.pack(order + "IHHq", 0x1A2B3C4D, 1, 0, -1))
    data += block(order, 1, struct.pack(order + "HHI", 1, 0, 0))
    for frame in FRAMES:
        data += block(order, 3, struct.pack(order + "I", len(frame)) + frame + bytes(-len(frame) % 4))
    assert read(tmp_path / "x.pcapng", data) == [(0, frame, len(frame)) for frame in FRAMES]


def test_what_our_writer_writes_is_read_with_its_times(tmp_path: Path) -> None:
    with PcapWriter(tmp_path / "x.pcap") as writer:
        for frame in FRAMES:
            writer.write(frame, TIME_NS)
    assert list(capture.read(tmp_path / "x.pcap")) == [(TIME_NS, frame, len(frame)) for frame in FRAMES]


def test_a_snap_length_is_told_by_the_size_on_the_wire(tmp_path: Path) -> None:
    assert [size - len(frame) for _, frame, size in read(tmp_path / "x", pcap(extra=9))] == [9, 9, 9]


@pytest.mark.parametrize("whole", [pcap(), pcapng()])
def test_a_capture_cut_anywhere_gives_what_is_whole(tmp_path: Path, whole: bytes) -> None:
    for size in range(24, len(whole)):
        found = [frame for _, frame, _ in read(tmp_path / "x", whole[:size])]
        assert found == FRAMES[: len(found)]
    assert len(found) == 2


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"", "0 bytes, too few"),
        (b"no capture at all, but text long enough", "is not a pcap or pcapng capture: it starts with 6e6f2063"),
        (pcap(link=113), "on `any`: capture on the one interface"),
        (pcap(link=101), "no Ethernet headers"),
        (pcap(link=228), "link type 228: capture on an Ethernet interface"),
        (pcapng(link=113), "on `any`"),
    ],
)
def test_what_is_no_capture_of_ethernet_is_refused_with_advice(tmp_path: Path, data: bytes, text: str) -> None:
    with pytest.raises(InputError, match=text):
        read(tmp_path / "x", data)
    with pytest.raises(InputError, match="cannot read the capture"):
        capture.read(tmp_path / "none")


def test_listening_hears_other_addresses_and_keeps_vlan_tags_and_times(network: tuple[str, str]) -> None:
    near, far = network
    header = bytes.fromhex("02ffffffff01 02ffffffff02")
    plain = header + b"\x08\x00" + bytes(100)
    tagged = header + b"\x81\x00\x60\x64\x08\x00" + bytes(100)
    before = time.time_ns()
    thread = send(far, [plain, tagged])
    heard = live.listen(near, 1.0)
    thread.join()
    mine = [(time_ns, frame, size) for time_ns, frame, size in heard.packets if frame.startswith(header)]
    assert [frame for _, frame, _ in mine] == [plain, tagged]
    assert [size for _, _, size in mine] == [len(plain), len(tagged)]
    assert before < mine[0][0] <= mine[1][0] < time.time_ns()
    assert heard.missed == 0


def test_listening_ends_in_time_however_much_comes(network: tuple[str, str]) -> None:
    packet = bytes.fromhex("02ffffffff01 02ffffffff02") + b"\x08\x00" + bytes(100)
    thread = send("lo", [packet] * 20_000, delay_s=0)
    begun = time.monotonic()
    heard = live.listen("lo", 0.05)
    assert time.monotonic() - begun < 5
    assert not heard.full
    thread.join()


def test_listening_ends_where_too_much_has_come_for_the_memory(
    network: tuple[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    near, far = network
    packet = bytes.fromhex("02ffffffff01 02ffffffff02") + b"\x08\x00" + bytes(986)
    monkeypatch.setattr(live, "_MOST_BYTES", 9_999)
    thread = send(far, [packet] * 50)
    heard = live.listen(near, 20.0)
    thread.join()
    assert heard.full
    total = sum(len(frame) for _, frame, _ in heard.packets)
    assert total - len(heard.packets[-1][1]) <= 9_999 < total


def test_on_loopback_every_packet_is_heard_once(network: tuple[str, str]) -> None:
    thread = send("lo", [bytes(12) + b"\x08\x00" + bytes(50)])
    heard = live.listen("lo", 0.6)
    thread.join()
    assert len(heard.packets) == 1


def test_listening_where_nothing_can_be_heard_says_so(network: tuple[str, str]) -> None:
    with pytest.raises(TransportError, match=r"cannot listen on eth77: .*choose one of lo, "):
        live.listen("eth77", 0.1)
    assert live.listen(network[0], 0.1).missed == 0
