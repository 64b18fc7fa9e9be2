"""Streams of a service: each run is a series, consumers stay, and what they miss is in its metrics."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from framelane.serve import Client, ServiceError
from framelane.session.session import Session
from framelane.source.emulate_images import images
from own_source import own_port
from served import configuration, metrics_of, served
from stream2_consumer import as_uint16, consumer


def streaming(address: str, **options: Any) -> dict[str, Any]:
    return configuration() | {"streams": [{"address": address, **options}]}


def test_a_consumer_stays_over_runs_each_of_which_is_a_series(tmp_path: Path) -> None:
    address = f"tcp://127.0.0.1:{own_port()}"
    with served(tmp_path) as here, Client(here.url) as client, consumer(address) as theirs:
        expected = None
        for run, frames in ((1, 6), (2, 3)):
            client.configure(streaming(address))
            client.arm()
            here.send(frames)
            status = client.wait_for("ended", 30)
            start, *came, end = theirs.all()
            assert (start["series_id"], end["series_id"], start["type"]) == (run, run, "start")
            assert [message["image_id"] for message in came] == list(range(frames))
            expected = expected or images(Session.load(tmp_path / "session.json"), None, None, 1)
            for message in came:
                photons = np.asarray(expected[message["image_id"]]).view(np.int16)
                assert (message["data"]["default"] == as_uint16(photons)).all()
            assert not any("stream" in line for line in status["troubles"])
        found = metrics_of(here)
        assert found["framelane_stream_frames_total", (address, "sent")] == 9
        assert found["framelane_stream_frames_total", (address, "dropped")] == 0
        assert found["framelane_stream_bytes_total", (address,)] > 9 * 100
        assert found["framelane_stream_waiting", (address,)] == 0


def test_what_nobody_takes_is_said_and_counted_and_the_run_has_every_frame(tmp_path: Path) -> None:
    address = f"tcp://127.0.0.1:{own_port()}"
    with served(tmp_path) as here, Client(here.url) as client:
        client.configure(streaming(address, queue=2))
        client.arm()
        here.send(10)
        status = client.wait_for("ended", 30)
        assert status["loss"]["complete"] == status["loss"]["sent"] == 10
        found = metrics_of(here).items()
        fates = {labels[1]: value for (name, labels), value in found if name == "framelane_stream_frames_total"}
        assert sum(fates.values()) == 10
        assert fates["dropped"] == 10
        assert any(f"frames of the stream {address} were taken by nobody" in line for line in status["troubles"])


def test_a_stream_that_cannot_be_is_refused_when_it_is_configured_or_armed(tmp_path: Path) -> None:
    with served(tmp_path) as here, Client(here.url) as client:
        for stream, sentence in (
            ({"address": "ipc:///tmp/x"}, "is not an address of a stream"),
            ({"address": "tcp://*:1", "reduce": 65}, "reduce 65 of a stream: give 1 to 64"),
            ({"address": "tcp://*:1", "sent": "all"}, "sent: is not a key here: did you mean send?"),
        ):
            with pytest.raises(ServiceError, match="stream") as refused:
                client.configure(configuration() | {"streams": [stream]})
            assert refused.value.status == 422
            assert sentence in str(refused.value)
        client.configure(streaming("tcp://192.0.2.1:31001"))
        with pytest.raises(ServiceError, match=r"cannot listen at tcp://192\.0\.2\.1:31001") as refused:
            client.arm()
        assert refused.value.status == 503
        assert client.status()["state"] == "error"
