"""Capture files: any byte order is read, a damaged file is named to the byte, none is left half-written."""

import resource
import struct
from pathlib import Path

import pytest

from framelane.base.errors import InputError
from framelane.packets import pcap
from framelane.packets.pcap import PcapWriter
from framelane.receiver.transport import sockets
from framelane.receiver.transport.pcap_port import PcapPort

FRAMES = [bytes([n]) * (60 + n) for n in range(3)]
STARTS = [24, 100, 177]
"""Where their records start: 24 bytes of file header, 16 of each record's."""


def capture(order: str = "<", magic: int = 0xA1B2C3D4, linktype: int = 1, extra: int = 0) -> bytes:
    """Make a capture of FRAMES by hand; `extra` bytes of each packet were not captured."""
    data = struct.pack(order + "IHHiIII", magic, 2, 4, 0, 0, 65535, linktype)
    for frame in FRAMES:
        data += struct.pack(order + "IIII", 1, 2, len(frame), len(frame) + extra) + frame
    return data


def written(path: Path, data: bytes) -> Path:
    path.write_bytes(data)
    return path


@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize("magic", [0xA1B2C3D4, 0xA1B23C4D])
def test_captures_of_any_machine_are_read(tmp_path: Path, order: str, magic: int) -> None:
    assert list(pcap.read(written(tmp_path / "x.pcap", capture(order, magic)))) == FRAMES


def test_what_is_written_is_read_again_with_its_time(tmp_path: Path) -> None:
    path = tmp_path / "x.pcap"
    with PcapWriter(path) as writer:
        for frame in FRAMES:
            writer.write(frame, timestamp_ns=1_700_000_000_123_456_789)
    assert list(pcap.read(path)) == FRAMES
    data = path.read_bytes()
    magic, seconds, nanoseconds = struct.unpack_from("=I20xII", data)
    assert (magic, seconds, nanoseconds) == (0xA1B23C4D, 1_700_000_000, 123_456_789)


def test_an_empty_capture_holds_no_packets(tmp_path: Path) -> None:
    assert list(pcap.read(written(tmp_path / "x.pcap", capture()[:24]))) == []


def test_a_capture_cut_at_any_byte_is_refused_before_its_first_packet(tmp_path: Path) -> None:
    whole = capture()
    for size in set(range(25, len(whole))) - set(STARTS):
        path = written(tmp_path / "cut.pcap", whole[:size])
        number = sum(start < size for start in STARTS)
        with pytest.raises(
            InputError, match=f"cut.pcap: packet {number} at byte offset {STARTS[number - 1]} is cut off"
        ):
            pcap.read(path)


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        (b"", "is empty"),
        (capture()[:23], "has 23 bytes, too few"),
        (b"\x89HDF\r\n\x1a\n" + bytes(40), "is not a pcap capture: it starts with 89484446"),
        (b"\x0a\x0d\x0d\x0a" + bytes(40), "is a pcapng capture: convert it with `editcap"),
        (capture(linktype=113), "link type 113: capture on an Ethernet interface"),
        (capture(extra=9), "packet 1 at byte offset 24 is 60 bytes of 69: capture whole packets"),
        (
            capture()[: STARTS[1] + 8] + b"\xff\xff\xff\x7f" + bytes(100),
            "packet 2 at byte offset 100 announces 2147483647",
        ),
    ],
)
def test_what_is_no_whole_capture_is_refused_with_a_sentence(tmp_path: Path, data: bytes, sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        PcapPort(written(tmp_path / "x.pcap", data))


def test_a_missing_capture_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"cannot read the capture .*/none.pcap: No such file"):
        pcap.read(tmp_path / "none.pcap")


def test_a_capture_has_its_name_only_once_it_is_whole(tmp_path: Path) -> None:
    path = written(tmp_path / "x.pcap", b"the old one")
    with PcapWriter(path, force=True) as writer:
        writer.write(FRAMES[0])
        assert path.read_bytes() == b"the old one"
    assert list(pcap.read(path)) == FRAMES[:1]
    assert list(tmp_path.iterdir()) == [path]


def test_an_error_while_writing_leaves_nothing_behind(tmp_path: Path) -> None:
    path = written(tmp_path / "x.pcap", b"the old one")
    with pytest.raises(struct.error), PcapWriter(path, force=True) as writer:
        writer.write(FRAMES[0], timestamp_ns=-1)
    assert list(tmp_path.iterdir()) == [path]
    assert path.read_bytes() == b"the old one"


def test_two_that_write_the_same_capture_do_not_meet(tmp_path: Path) -> None:
    path = tmp_path / "x.pcap"
    with PcapWriter(path) as first:
        first.write(FRAMES[0])
        with pytest.raises(InputError, match="another run is writing it"):
            PcapWriter(path, force=True)
        first.write(FRAMES[1])
    with pytest.raises(InputError, match="there is a file of this name: give another, or force"):
        PcapWriter(path)
    assert list(pcap.read(path)) == FRAMES[:2]
    assert list(tmp_path.iterdir()) == [path]


def test_a_capture_that_cannot_be_given_its_name_leaves_nothing_behind(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="it is a folder"), PcapWriter(tmp_path / "x.pcap"):
        (tmp_path / "x.pcap").mkdir()
    assert [entry.name for entry in tmp_path.iterdir()] == ["x.pcap"]


def test_a_capture_cannot_be_written_where_there_is_no_folder(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"cannot write .*/none/x.pcap: No such file"):
        PcapWriter(tmp_path / "none" / "x.pcap")


def test_a_long_capture_comes_in_parts_and_ends_with_its_last(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sockets, "BATCH", 2)
    port = PcapPort(written(tmp_path / "x.pcap", capture()))
    came = [(list(port.batch(0)), port.ended) for _ in range(3)]
    assert came == [(FRAMES[:2], False), (FRAMES[2:], True), ([], True)]


@pytest.mark.parametrize("order", ["<", ">"])
def test_of_a_capture_longer_than_is_read_at_once_every_packet_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, order: str
) -> None:
    monkeypatch.setattr(pcap, "_RECORDS_AT_ONCE", 2)
    data = capture(order)
    path = written(tmp_path / "x.pcap", data + 2 * data[24:] + b"cut")
    with pytest.raises(InputError, match=f"packet 10 at byte offset {3 * len(data) - 48} is cut off in its header"):
        pcap.read(path)
    written(path, data + 2 * data[24:])
    assert list(pcap.read(path)) == 3 * FRAMES


def test_a_disk_that_takes_no_more_is_one_sentence_and_leaves_nothing(tmp_path: Path) -> None:
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)

    def fill() -> None:
        with PcapWriter(tmp_path / "x.pcap") as writer:
            for _ in range(100):
                writer.write(bytes(4000))

    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, limits[1]))
    try:
        with pytest.raises(InputError, match=r"^cannot write .*x\.pcap: File too large: make room there"):
            fill()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert list(tmp_path.iterdir()) == []
