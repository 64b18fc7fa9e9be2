"""`framelane recv --stream`: a capture is streamed to a consumer that waits, beside its file."""

from collections.abc import Callable
from pathlib import Path

import h5py
import hdf5plugin  # noqa: F401
import pytest

from framelane.packets.pcap import PcapWriter
from framelane.session.session import Session
from live_recv import Source
from own_source import own_port
from stream2_consumer import consumer

RunCli = Callable[..., tuple[int, str, str]]
MakeSession = Callable[..., Session]


@pytest.fixture
def capture(make_session: MakeSession, tmp_path: Path) -> tuple[str, Path, str, Path]:
    session = make_session(rows=16, columns=128, n_slots=8, mtu=1024)
    session.save(tmp_path / "session.json")
    source = Source(session, 0)
    with PcapWriter(tmp_path / "tx.pcap") as pcap:
        for packet in (packet for number in range(5) for packet in source.packets(number)):
            pcap.write(packet)
    return "--pcap", tmp_path / "tx.pcap", "--session", tmp_path / "session.json"


def test_a_consumer_that_waits_gets_what_is_in_the_file_and_the_command_says_so(
    run_cli: RunCli, capture: tuple[object, ...], tmp_path: Path
) -> None:
    address, every = (f"tcp://127.0.0.1:{own_port()}" for _ in range(2))
    file = tmp_path / "frames.h5"
    with consumer(address) as theirs, consumer(every) as others:
        options = ("--stream", address, "--stream", f"{every},every=4")
        status, out, err = run_cli("recv", *capture, "--output", file, *options)
        came = [message for message in theirs.all() if message["type"] == "image"]
        numbers = [message["image_id"] for message in others.all()[1:-1]]
    assert (status, err) == (0, "")
    assert f"stream {address}: 5 frames sent" in out
    assert f"stream {every}: 2 frames sent" in out
    assert numbers == [0, 4]
    with h5py.File(file) as written:
        assert [message["image_id"] for message in came] == written["entry/data/frame_number"][:].tolist()
        for message, image in zip(came, written["entry/data/data"], strict=True):
            assert (message["data"]["default"] == image).all()


def test_a_stream_that_cannot_be_is_a_sentence_and_no_file(
    run_cli: RunCli, capture: tuple[object, ...], tmp_path: Path
) -> None:
    for text, sentence in (
        ("127.0.0.1:1", "is not an address of a stream"),
        ("tcp://192.0.2.1:31001", "cannot listen at"),
    ):
        status, _, err = run_cli("recv", *capture, "--output", tmp_path / "frames.h5", "--stream", text)
        assert status == 2
        assert sentence in err
        assert not (tmp_path / "frames.h5").exists()
