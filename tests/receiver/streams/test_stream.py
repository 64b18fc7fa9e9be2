"""Streams of a run: an independent consumer gets every pixel, and one that stalls costs the receiver nothing."""

import contextlib
import re
import sys
import textwrap
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import h5py
import hdf5plugin  # noqa: F401
import numpy as np
import pytest
import zmq
from numpy.typing import NDArray

from framelane.base.errors import ConfigError, TransportError
from framelane.receiver import Live, Metadata, Processing, Reception, Recorder, Stream, StreamOptions, receive
from framelane.receiver.gpu.gpu_error import GpuError
from framelane.receiver.streams import tee
from framelane.session.session_plan import SessionPlan
from framelane.source import emulate, parse_impairments
from framelane.source.emulate_images import images
from own_source import own_address, own_port
from stream2_consumer import as_uint16, consumer

ROWS, COLUMNS = 64, 128
ANY = "tcp://127.0.0.1:0"
METADATA = {"distance_mm": 120.0, "beam_x": 63.5, "beam_y": 31.5, "energy_kev": 12.4, "count_time_s": 0.001}


def run_of(port: int, frames: int, judged: Processing | None = None, **plan: Any) -> Reception:
    ends = {"source": own_address(), "receiver": "127.0.0.1"}
    nodes = {end: {"mac": "02:00:00:00:00:01", "ip": ip} for end, ip in ends.items()}
    said = {"rows": ROWS, "columns": COLUMNS, "n_slots": 64, "pixels": "corrected", "mtu": 1024, "src_port": own_port()}
    made = SessionPlan(**(said | nodes | plan))  # type: ignore[arg-type]
    live = Live(transport="udp", plan=made, port=port, link_port=0, frames=frames)
    return receive(live, judged or Processing())


@contextlib.contextmanager
def streaming(
    options: StreamOptions, frames: int = 6, judged: Processing | None = None, **plan: Any
) -> Iterator[tuple[Reception, Stream, int]]:
    port = own_port()
    with (
        run_of(port, frames, judged, **plan) as run,
        Stream(run, options, metadata=Metadata(**METADATA), series=7) as stream,
    ):
        yield run, stream, port


def go_through(run: Reception, stream: Stream, port: int, frames: int, impair: str | None = None) -> None:
    """Send so many frames, and stream each of them."""
    line = parse_impairments(impair, seed=1) if impair else None
    host, link = run.serve()
    with run.beside(emulate, to=f"{host}:{link}", port=port, frames=frames, impairment=line):
        for frame in run:
            stream.write(frame)


def sent(run: Reception) -> list[NDArray[Any]]:
    """The images that the emulator sends, again and again: by itself."""
    return images(run.session, None, None, 1)


def test_a_consumer_of_stream2_gets_every_pixel_of_every_frame_between_start_and_end() -> None:
    with contextlib.ExitStack() as held:
        run, stream, port = held.enter_context(streaming(StreamOptions(address=ANY)))
        theirs = held.enter_context(consumer(stream.address))
        go_through(run, stream, port, 6)
        stream.close()
        start, *came, end = theirs.all()
        expected = sent(run)
        assert stream.counts.sent == stream.counts.offered == 6
    assert (start["type"], end["type"]) == ("start", "end")
    assert {message["series_id"] for message in (start, *came, end)} == {7}
    assert len({message["series_unique_id"] for message in (start, *came, end)}) == 1
    assert (start["image_size_x"], start["image_size_y"], start["channels"]) == (COLUMNS, ROWS, ["default"])
    assert start["incident_energy"] == pytest.approx(12400)
    assert start["incident_wavelength"] == pytest.approx(0.99987, rel=1e-4)
    assert start["detector_translation"] == [0.0, 0.0, pytest.approx(0.12)]
    assert (start["beam_center_x"], start["pixel_size_x"]) == (63.5, pytest.approx(75e-6))
    assert (start["number_of_images"], start["saturation_value"], start["count_time"]) == (6, 32700, 0.001)
    assert abs(start["arm_date"].timestamp() - time.time()) < 60
    assert [message["image_id"] for message in came] == list(range(6))
    for message in came:
        image = message["data"]["default"]
        assert image.dtype == np.dtype("<u2")
        assert (image == as_uint16(expected[message["image_id"] % len(expected)].view(np.int16))).all()
        assert message["real_time"] == [1_000_000, 1_000_000_000]
        assert message["stop_time"][0] - message["start_time"][0] == 1_000_000
        assert message["user_data"]["complete"]


def test_pixels_that_never_came_are_65535_and_the_message_counts_them() -> None:
    with contextlib.ExitStack() as held:
        run, stream, port = held.enter_context(streaming(StreamOptions(address=ANY)))
        theirs = held.enter_context(consumer(stream.address))
        go_through(run, stream, port, 6, "drop=0.1")
        stream.close()
        came, expected = theirs.all()[1:-1], sent(run)
        assert len(came) == run.tally.complete + run.tally.incomplete
    lost = 0
    for message in came:
        image, truth = (
            message["data"]["default"],
            as_uint16(expected[message["image_id"] % len(expected)].view(np.int16)),
        )
        differ = image != truth
        assert (image[differ] == 65535).all()
        assert message["user_data"]["holes"] >= differ.sum()
        assert message["user_data"]["complete"] == (message["user_data"]["holes"] == 0)
        lost += message["user_data"]["holes"]
    assert lost > 0


def test_raw_words_and_photons_with_their_codes_are_sent_as_they_are() -> None:
    for options, plan in (
        (StreamOptions(address=ANY), {"pixels": "raw"}),
        (StreamOptions(address=ANY, pixels="int16"), {}),
    ):
        with contextlib.ExitStack() as held:
            run, stream, port = held.enter_context(streaming(options, 2, None, **plan))
            theirs = held.enter_context(consumer(stream.address))
            go_through(run, stream, port, 2)
            stream.close()
            start, *came, _ = theirs.all()
            expected = sent(run)
        assert start["user_data"]["image_dtype"] == ("uint16" if plan else "int16")
        for message in came:
            image = message["data"]["default"]
            assert image.dtype.name == start["user_data"]["image_dtype"]
            assert (image.view(np.uint16) == expected[message["image_id"] % len(expected)].view(np.uint16)).all()


@pytest.mark.parametrize(
    ("options", "chosen"),
    [
        ({"send": "all"}, lambda kept: [*range(8)]),
        ({"send": "accepted"}, lambda kept: kept),
        ({"send": "all", "every": 3}, lambda kept: [0, 3, 6]),
        ({"send": "accepted", "every": 2}, lambda kept: kept[::2]),
        ({"send": "all", "rate": 1e-3}, lambda kept: [0]),
    ],
)
def test_a_stream_has_the_frames_that_its_options_want(
    options: dict[str, Any], chosen: Callable[[list[int]], list[int]]
) -> None:
    with contextlib.ExitStack() as held:
        made = StreamOptions(address=ANY, **options)
        run, stream, port = held.enter_context(streaming(made, 8, Processing(threshold=5)))
        theirs = held.enter_context(consumer(stream.address))
        photons = [each.view(np.int16) for each in sent(run)]
        peaks = [int(((each >= 5) & (each <= 32700)).sum()) for each in photons]
        run.change_veto(minimum_peaks=int(np.median(peaks)))
        go_through(run, stream, port, 8)
        stream.close()
        came = theirs.all()[1:-1]
        counts = stream.counts
    kept = [number for number, found in enumerate(peaks) if found >= np.median(peaks).astype(int)]
    assert 2 < len(kept) < 8
    assert [message["image_id"] for message in came] == chosen(kept)
    assert counts.sent + counts.not_wanted == counts.offered == 8
    for message in came:
        assert message["user_data"]["accepted"] == bool(message["data"]) == (message["image_id"] in kept)
        assert message["user_data"]["peaks"] == peaks[message["image_id"]]


def test_a_consumer_that_stalls_costs_no_frame_and_what_it_missed_is_counted() -> None:
    """It is connected, and takes nothing: images wait up to the queue, then they are not even copied."""
    frames, queue = 300, 3
    with contextlib.ExitStack() as held:
        run, stream, port = held.enter_context(streaming(StreamOptions(address=ANY, queue=queue), frames, rows=512))
        held.enter_context(consumer(stream.address, RCVHWM=1, RCVBUF=4096))
        go_through(run, stream, port, frames)
        assert run.tally.complete == run.tally.sent == frames
        assert stream.counts.dropped > 0
        assert stream.counts.waiting <= queue + 1, "no more than wait, and the one that is being sent"
        begun = time.monotonic()
        stream.close()
        assert time.monotonic() - begun < 10
        counts = stream.counts
    assert counts.offered == frames == counts.sent + counts.dropped
    assert counts.dropped > 0


def test_without_a_consumer_frames_wait_for_one_that_comes_and_the_others_are_counted() -> None:
    with contextlib.ExitStack() as held:
        run, stream, port = held.enter_context(streaming(StreamOptions(address=ANY, queue=3), 8))
        go_through(run, stream, port, 8)
        assert (stream.counts.dropped, stream.counts.waiting) == (5, 3)
        theirs = held.enter_context(consumer(stream.address))
        assert theirs.next()["type"] == "start"
        assert [theirs.next()["image_id"] for _ in range(3)] == [0, 1, 2]
        stream.close()
        assert theirs.next()["type"] == "end"
        assert (stream.counts.sent, stream.counts.waiting) == (3, 0)


def test_all_subscribers_get_each_image_and_one_that_comes_later_hears_how_the_series_began() -> None:
    with contextlib.ExitStack() as held:
        options = StreamOptions(address=ANY, socket="pub", reduce=4)
        run, stream, port = held.enter_context(streaming(options))
        first = held.enter_context(consumer(stream.address, "pub"))
        assert first.next()["type"] == "start"
        second = held.enter_context(consumer(stream.address, "pub"))
        start = second.next()
        assert (start["type"], start["image_size_x"], start["image_size_y"]) == ("start", COLUMNS // 4, ROWS // 4)
        assert start["beam_center_x"] == pytest.approx((63.5 + 0.5) / 4 - 0.5)
        go_through(run, stream, port, 6)
        stream.close()
        expected = [as_uint16(each.view(np.int16)) for each in sent(run)]
        for theirs in (first, second):
            came = [message for message in theirs.all() if message["type"] == "image"]
            assert [message["image_id"] for message in came] == list(range(6))
            for message in came:
                blocks = expected[message["image_id"]].reshape(ROWS // 4, 4, COLUMNS // 4, 4)
                assert (message["data"]["default"] == blocks.max((1, 3))).all()


def test_nothing_is_copied_for_a_publisher_whom_nobody_hears() -> None:
    with streaming(StreamOptions(address=ANY, socket="pub")) as (run, stream, port):
        go_through(run, stream, port, 6)
        assert (stream.counts.dropped, stream.counts.waiting) == (6, 0)


def test_a_frame_of_a_gpu_that_has_failed_is_counted_and_the_receiver_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tee, "about_frame", Mock(side_effect=GpuError("the GPU has failed")))
    with streaming(StreamOptions(address=ANY), 2) as (run, stream, port):
        go_through(run, stream, port, 2)
        assert (stream.counts.offered, stream.counts.dropped) == (2, 2)
        assert run.tally.complete == 2


def test_the_newest_stream_takes_a_frame_when_the_last_has_gone_and_calls_none_lost() -> None:
    with contextlib.ExitStack() as held:
        run, stream, port = held.enter_context(streaming(StreamOptions(address=ANY, send="newest"), 40))
        theirs = held.enter_context(consumer(stream.address))
        assert theirs.next()["type"] == "start"
        go_through(run, stream, port, 40)
        stream.close()
        numbers = [message["image_id"] for message in theirs.all()[:-1]]
        counts = stream.counts
    assert 0 < len(numbers) == counts.sent <= 40
    assert numbers == sorted(set(numbers))
    assert counts.sent + counts.not_wanted == counts.offered == 40
    assert counts.dropped == 0


def test_the_file_of_a_run_is_the_same_beside_a_stream(tmp_path: Path) -> None:
    with contextlib.ExitStack() as held:
        run, stream, port = held.enter_context(streaming(StreamOptions(address=ANY)))
        recorder = held.enter_context(Recorder(run, tmp_path / "run.h5"))
        theirs = held.enter_context(consumer(stream.address))
        host, link = run.serve()
        with run.beside(emulate, to=f"{host}:{link}", port=port, frames=6):
            for frame in run:
                stream.write(frame)
                recorder.write(frame)
        stream.close()
        came = theirs.all()[1:-1]
    with h5py.File(tmp_path / "run.h5") as file:
        assert [message["image_id"] for message in came] == file["entry/data/frame_number"][:].tolist()
        for message, image in zip(came, file["entry/data/data"], strict=True):
            assert (message["data"]["default"] == as_uint16(image)).all()


def test_the_next_run_has_the_address_of_the_last_one_at_once() -> None:
    with streaming(StreamOptions(address=ANY)) as (_, stream, _), consumer(stream.address) as theirs:
        address = stream.address
        stream.close()
        assert theirs.next()["type"] == "start"
    with streaming(StreamOptions(address=address)) as (_, stream, _), consumer(address) as theirs:
        assert stream.address == address
        assert theirs.next()["type"] == "start"


def test_an_address_that_another_has_and_one_of_no_machine_here_are_a_sentence() -> None:
    with zmq.Context() as context, context.socket(zmq.PULL) as other:
        taken = f"tcp://127.0.0.1:{other.bind_to_random_port('tcp://127.0.0.1')}"
        for address, why in (
            (taken, "Address already in use"),
            ("tcp://192.0.2.1:31001", "Cannot assign|No such device"),
        ):
            with (
                pytest.raises(TransportError, match=f"cannot listen at {address}: ({why})"),
                streaming(StreamOptions(address=address)),
            ):
                pass


def test_the_consumer_of_the_page_prints_what_comes(capsys: pytest.CaptureFixture[str]) -> None:
    page = (Path(__file__).parents[3] / "docs" / "serve" / "streams.md").read_text()
    (block,) = re.findall(r"^    import cbor2.*?print\(.*?\n", page, re.MULTILINE | re.DOTALL)
    with streaming(StreamOptions(address=ANY), 3) as (run, stream, port):
        code = textwrap.dedent(block).replace("tcp://127.0.0.1:31001", stream.address)
        assert code.count(stream.address) == code.count("while True:") == 1
        go_through(run, stream, port, 3)
        names: dict[str, Any] = {}
        exec(compile(code.replace("while True:", "for _ in range(4):"), "streams.md", "exec"), names)
        names["socket"].context.destroy(0)
    assert capsys.readouterr().out == "start None\nimage 0\nimage 1\nimage 2\n"
    assert names["message"]["data"]["default"].shape == (ROWS, COLUMNS)


def test_a_stream_of_a_spelling() -> None:
    found = StreamOptions.parse("tcp://*:31002,newest,pub,reduce=4,rate=10,queue=2,every=3,int16")
    assert found == StreamOptions(
        address="tcp://*:31002", send="newest", socket="pub", reduce=4, rate=10.0, queue=2, every=3, pixels="int16"
    )
    assert str(found).startswith("tcp://*:31002 (send newest, every 3, rate 10.0")
    assert str(StreamOptions(address=ANY)) == ANY


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("localhost:31001", "'localhost:31001' is not an address of a stream: give tcp://HOST:PORT"),
        ("ipc:///tmp/x", "is not an address of a stream"),
        ("tcp://*:65536", "is not an address of a stream"),
        (f"{ANY},every=0", "every 0 of a stream: give 1 to"),
        (f"{ANY},every=x", "'x' is not a number"),
        (f"{ANY},rate=nan", "rate nan of a stream"),
        (f"{ANY},reduce=65", "reduce 65 of a stream: give 1 to 64"),
        (f"{ANY},newest,all", "has send twice"),
        (f"{ANY},fastest", "'fastest' of the stream tcp://127.0.0.1:0 is not known: all, accepted, newest"),
        (f"{ANY},send=all", "is not known"),
    ],
)
def test_a_stream_that_cannot_be_is_a_sentence(text: str, sentence: str) -> None:
    with pytest.raises(ConfigError) as refused:
        StreamOptions.parse(text)
    assert sentence in str(refused.value)


def test_what_a_program_gives_that_cannot_be_is_refused_as_well() -> None:
    with pytest.raises(ConfigError, match="send 'some' of a stream is not known: choose all, accepted, newest"):
        StreamOptions(send="some")  # type: ignore[arg-type]


def test_without_pyzmq_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "zmq", None)
    with (
        pytest.raises(ConfigError, match=r'pyzmq is not installed: pip install "framelane\[stream\]"'),
        streaming(StreamOptions(address=ANY)),
    ):
        pass
