"""A receiver as a service, used as its users do: over HTTP, with real packets, and files that are read."""

import asyncio
import contextlib
import gzip
import io
import json
import socket
import struct
import time
from collections.abc import Iterator
from importlib import resources
from typing import Any

import h5py
import hdf5plugin  # noqa: F401
import matplotlib.image
import numpy as np
import pytest
from numpy.typing import NDArray

import jungfrau_packets
from framelane.models.jungfrau.jf_correct import PixelCode
from framelane.receiver import recover, replay_veto
from framelane.serve import AsyncClient, Client, ServiceError, served_run
from framelane.session.session import Session
from framelane.source.emulate_images import images
from jungfrau_live import free_ports
from live_recv import wait_until
from made_up_detector import EXAMPLE_COLUMNS, EXAMPLE_ROWS, counts, example
from served import COLUMNS, ROWS, Served, configuration, served


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with served(tmp_path_factory.mktemp("served")) as service:
        yield service


@pytest.fixture
def client(here: Served) -> Iterator[Client]:
    with Client(here.url) as client:
        client.abort()
        yield client


def sent(here: Served) -> list[NDArray[np.generic]]:
    """The images that the emulator sends, again and again: by itself, not by what came."""
    return images(Session.load(here.service.folder / "session.json"), None, None, 1)


def frames_of(here: Served, status: dict[str, Any]) -> Any:
    return h5py.File(here.service.folder / status["file"])["entry/data"]


def test_frames_that_are_sent_to_an_armed_service_are_in_its_file_and_in_every_answer(
    here: Served, client: Client
) -> None:
    assert client.configure(configuration())["state"] == "idle"
    armed = client.arm()
    assert (armed["state"], armed["loss"]["sent"], armed["slots"]) == ("armed", 0, 64)
    assert client.start()["state"] == "running"
    here.send(20, rate=100)
    status = client.wait_for("ended", 30)
    assert status["loss"] == {
        **dict.fromkeys(("incomplete", "missing", "dropped_at_source", "dropped_by_host", "wrong_size"), 0),
        **{"sent": 20, "complete": 20, "holds": True},
    }
    data = frames_of(here, status)
    expected = sent(here)
    assert data["frame_number"][()].tolist() == list(range(20))
    assert all((data["data"][n] == expected[n % len(expected)]).all() for n in range(20))
    statistics = client.statistics()
    assert (statistics["written"], statistics["packets"]["refused"]) == (20, {})
    assert statistics["packets"]["received"] == statistics["packets"]["placed"] > 20
    records = client.frames(last=3)
    assert [record["number"] for record in records] == [17, 18, 19]
    assert [record["peaks"] for record in records] == data["peaks"][-3:].tolist()
    verdicts = client.verdicts()
    assert verdicts["reasons"]["ENOUGH_PEAKS"] == sum(verdicts["frames"]) == 20
    bins = np.histogram(data["peaks"][()], [*verdicts["edges"], 1 << 40])[0]
    assert verdicts["frames"] == bins.tolist()


def test_lost_packets_are_counted_as_they_are_in_the_file_and_said(here: Served, client: Client) -> None:
    client.configure(configuration())
    client.arm()
    here.send(30, rate=100, impair="drop=0.02,corrupt:icrc=0.01")
    status = client.wait_for("ended", 30)
    loss, data = status["loss"], frames_of(here, status)
    assert loss["holds"]
    assert loss["incomplete"] > 0
    assert loss["incomplete"] == int((~data["complete"][()]).sum())
    assert loss["sent"] == 30 == sum(loss[fate] for fate in loss if fate not in ("sent", "holds"))
    assert any("refused for icrc, first" in line for line in status["troubles"])
    assert any("packets lost on the way" in line for line in status["troubles"])


def test_the_last_image_is_what_was_sent_raw_and_as_png_and_for_viewers(here: Served, client: Client) -> None:
    client.configure(configuration(frames=1))
    client.arm()
    here.send(1)
    client.wait_for("ended", 30)
    expected = np.asarray(sent(here)[0]).view(np.int16)
    image = client.image()
    assert image is not None
    assert (image.frame, image.unit, image.scale) == (0, "photons", 1.0)
    assert image.pixels.dtype == np.int16
    assert (image.pixels == expected).all()
    png = matplotlib.image.imread(io.BytesIO(get(client, "/api/image?maximum=100")), "png")
    values = expected.astype(float).clip(0, 100)
    valued = expected > -32700
    assert png.shape == (ROWS, COLUMNS)
    assert np.abs(png - np.sqrt(values / 100))[valued & (expected < 32767)].max() < 0.05  # levels of 4.6 %
    assert (png[~valued] == 1).all()
    head, pixels = viewed(get(client, "/api/picture"))
    exact = valued & (expected >= 0) & (expected < 128)
    assert (pixels[exact] == expected[exact]).all()
    levels = np.array(head["levels"])
    above = valued & (expected >= 128) & (expected < 32767)
    assert (levels[pixels[above]] <= expected[above]).all()
    assert (levels[pixels[above]] > expected[above] * 0.95 - 1).all()
    assert (pixels[expected == PixelCode.MASKED] == 253).all()
    halved, reduced = viewed(get(client, "/api/picture?reduce=2"))
    assert (halved["rows"], halved["columns"], halved["shape"]) == (ROWS // 2, COLUMNS // 2, [ROWS, COLUMNS])
    assert (reduced == pixels.reshape(ROWS // 2, 2, COLUMNS // 2, 2).max((1, 3))).all()
    assert get(client, f"/api/picture?after={head['sequence']}&wait_s=0.05") == b""


def get(client: Client, path: str) -> bytes:
    answer = client._http.get(path)
    assert answer.is_success, answer.text
    return answer.content


def viewed(data: bytes) -> tuple[dict[str, Any], NDArray[np.uint8]]:
    """A picture as the page takes it apart."""
    data = gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data
    (length,) = struct.unpack("<I", data[:4])
    head = json.loads(data[4 : 4 + length])
    return head, np.frombuffer(data[4 + length :], np.uint8).reshape(head["rows"], head["columns"])


def test_thresholds_change_while_frames_come_and_the_file_tells_which_each_was_judged_by(
    here: Served, client: Client
) -> None:
    client.configure(configuration() | {"judging": {"threshold": 30}})
    client.arm()
    here_sends = asyncio.run(_sent_while_changed(here))
    status = client.wait_for("ended", 30)
    data = frames_of(here, status)
    thresholds, minimums = data["threshold"][()], data["minimum_peaks"][()]
    first = int((thresholds == 30).sum())
    assert 0 < first < here_sends
    assert thresholds.tolist() == [30] * first + [3] * (here_sends - first)
    assert set(minimums[first:].tolist()) == {1 << 20}
    assert not data["accepted"][()][first:].any()
    assert data["accepted"][()][:first].all()
    pixels = np.asarray(sent(here)[first % 8]).view(np.int16)
    assert data["peaks"][first] == int(((pixels >= 3) & (pixels < 32767)).sum())
    replayed = replay_veto(here.service.folder / status["file"], threshold=4, minimum_peaks=1)
    assert replayed.known.all()
    assert client.thresholds() == {"threshold": 3, "minimum_peaks": 1 << 20}


async def _sent_while_changed(here: Served) -> int:
    frames = 60
    async with AsyncClient(here.url) as client:
        source = asyncio.create_task(asyncio.to_thread(here.send, frames, rate=60))
        await client.wait_for("running", 20)
        end = time.monotonic() + 20
        while not await client.frames(last=1):
            assert time.monotonic() < end
            await asyncio.sleep(0.01)
        assert await client.thresholds(threshold=3, minimum_peaks=1 << 20) == await client.thresholds()
        await source
    return frames


def test_a_run_is_stopped_with_what_has_arrived_and_one_without_frames_leaves_no_file(
    here: Served, client: Client
) -> None:
    client.configure(configuration())
    empty = client.arm()
    ended = client.stop()
    assert (ended["state"], ended["said"]) == ("ended", "no frame came: there is no file")
    assert not (here.service.folder / empty["file"]).exists()
    client.arm()
    asyncio.run(_stopped_in_the_midst(here))
    status = client.status()
    assert status["state"] == "ended"
    assert status["loss"]["holds"]
    found = recover(here.service.folder / status["file"], check=True)
    assert found.sound
    assert found.frames == status["loss"]["complete"] + status["loss"]["incomplete"] > 0


async def _stopped_in_the_midst(here: Served) -> None:
    async with AsyncClient(here.url) as client:
        source = asyncio.create_task(asyncio.to_thread(here.send, 1000, rate=100))
        await client.wait_for("running", 20)
        await asyncio.sleep(0.2)
        assert (await client.stop())["state"] == "ended"
        await source


def test_an_aborted_run_keeps_what_came_and_is_no_error(here: Served, client: Client) -> None:
    client.configure(configuration())
    client.arm()
    asyncio.run(_aborted(here))
    status = client.status()
    assert status["state"] == "ended"
    assert recover(here.service.folder / status["file"]).sound
    assert client.abort()["state"] == "idle"


async def _aborted(here: Served) -> None:
    async with AsyncClient(here.url) as client:
        source = asyncio.create_task(asyncio.to_thread(here.send, 1000, rate=100))
        await client.wait_for("running", 20)
        await client.abort()
        await source


def test_what_the_state_does_not_allow_is_refused_and_changes_nothing(here: Served, client: Client) -> None:
    client.configure(configuration())
    for command, sentence in ((client.start, "arm it first"), (client.stop, "there is no run to stop")):
        with pytest.raises(ServiceError, match=sentence) as refused:
            command()
        assert refused.value.status == 409
    client.arm()
    with pytest.raises(ServiceError, match="stop or abort the run, then arm") as refused:
        client.arm()
    assert refused.value.status == 409
    with pytest.raises(ServiceError, match="then configure"):
        client.configure(configuration())
    assert client.status()["state"] == "armed"
    client.stop()


def test_a_configuration_that_cannot_be_is_said_in_a_sentence(here: Served, client: Client) -> None:
    plan = configuration()["source"]["plan"]
    wrong: list[tuple[Any, str]] = [
        ({}, "source: is missing"),
        ({"source": {}}, "give plan, or else session"),
        ({"source": {"plan": plan | {"mtu": 1000}}}, "mtu: 1000 is impossible"),
        ({"source": {"plan": plan | {"sources": 3}}}, "64 rows do not part evenly among 3 sources"),
        ({"source": {"plan": plan | {"columms": 3}}}, "did you mean columns"),
        ({"source": {"plan": plan}, "judging": {"snr": 3}}, "give peaks bragg as well"),
        ({"source": {"plan": plan}, "judging": {"calibration": "none.h5"}}, "there is no calibration none.h5"),
        ({"source": {"plan": plan}, "judging": {"calibration": "../../etc/passwd"}}, "judging.calibration"),
        ({"source": {"plan": plan}, "name": "../run"}, "name"),
        ({"source": {"plan": plan}, "metadata": {"distance_mm": -3}}, "distance_mm"),
        ({"source": {"transport": "jungfrau", "plan": plan}}, "a detector knows of no session"),
        ({"source": {"transport": "detector"}}, "give detector, which describes them"),
        ({"source": {"transport": "detector", "detector": "none.toml"}}, "none.toml"),
        ({"source": {"transport": "detector", "detector": "../example"}}, "source.detector"),
        ({"source": {"transport": "jungfrau", "detector": "eiger"}}, "detector is of transport detector"),
        ({"source": {"plan": plan | {"pixels": "raw"}}, "judging": {"threshold": 3}}, "give calibration as well"),
    ]
    before = client.status()
    for document, sentence in wrong:
        with pytest.raises(ServiceError) as refused:
            client.configure(document)
        assert (refused.value.status, sentence in str(refused.value)) == (422, True), (document, str(refused.value))
    assert client.status()["state"] == before["state"]


def test_a_port_that_is_taken_is_an_error_that_says_so_and_the_next_run_goes_on(here: Served, client: Client) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as other:
        other.bind(("127.0.0.1", 0))
        client.configure(configuration(port=other.getsockname()[1]))
        with pytest.raises(ServiceError, match="in use") as refused:
            client.arm()
    assert refused.value.status == 503
    assert client.status()["state"] == "error"
    assert client.arm()["state"] == "armed"
    client.stop()


def test_raw_words_are_recorded_as_they_are_and_shown_without_their_gain_bits(here: Served, client: Client) -> None:
    raw = configuration(frames=1)
    raw["source"]["plan"]["pixels"] = "raw"
    client.configure(raw)
    client.arm()
    here.send(1, impair="drop=0.1")
    status = client.wait_for("ended", 30)
    words = frames_of(here, status)["data"][0]
    image = client.image()
    assert image is not None
    assert (image.unit, image.pixels.dtype.name) == ("ADU", "uint16")
    assert (image.pixels == words).all()
    head, pixels = viewed(get(client, "/api/picture"))
    holes = words == 0x8000
    assert holes.any()
    assert ((pixels == 255) == holes).all()
    values, adu = np.array(head["levels"]), (words & 0x3FFF).astype(int)
    low, high = values[0], values[-1]
    inside = ~holes & (adu >= low) & (adu < high)
    assert inside.mean() > 0.8
    assert np.abs(values[pixels[inside]] - adu[inside]).max() <= (high - low) / 251 + 1
    with pytest.raises(ServiceError, match="give calibration"):
        client.thresholds(threshold=3)


def test_the_detectors_own_packets_are_served_and_a_module_that_does_not_send_is_named(
    here: Served, client: Client
) -> None:
    port = free_ports(2)
    client.configure({"source": {"transport": "jungfrau", "host": "127.0.0.1", "modules": 2, "port": port}})
    assert client.arm()["address"] == f"127.0.0.1:{port}"
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as detector:
        for number in range(6):
            packets = [packet for stream, packet in jungfrau_packets.sent(number, 2) if stream == 0]
            for at, packet in enumerate(packets):
                detector.sendto(packet, ("127.0.0.1", port))
                if at % 8 == 7:
                    time.sleep(0.002)
    silent = f"port {port + 1} got nothing: module 1"
    assert wait_until(lambda: silent in client.status()["troubles"])
    assert wait_until(lambda: client.status()["loss"]["incomplete"] == 6)
    status = client.stop()
    assert silent in status["troubles"]
    data = frames_of(here, status)["data"]
    assert (data[5][:512] == jungfrau_packets.raw(5, 2)[:512]).all()
    assert (data[5][512:] == 0x8000).all()


@pytest.mark.parametrize("described", ["example", "mine.toml"])
def test_packets_of_a_described_detector_are_served(here: Served, client: Client, described: str) -> None:
    """By a description of the package, or by one in the service's folder, with a port that the list gives."""
    folder = here.service.folder
    shipped = resources.files("framelane.packets") / "detectors" / "example.toml"
    (folder / "mine.toml").write_text(shipped.read_text())
    port = free_ports(1)
    source = {"transport": "detector", "detector": described, "host": "127.0.0.1", "modules": 2, "ports": [port]}
    client.configure({"source": {**source, "frames": 3}})
    assert client.arm()["address"] == f"127.0.0.1:{port}"
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as detector:
        for number in range(7, 10):
            for at, (_, packet) in enumerate(example(number, modules=2)):
                detector.sendto(packet, ("127.0.0.1", port))
                if at % 8 == 7:
                    time.sleep(0.002)
    status = client.wait_for("ended", 30)
    data = frames_of(here, status)
    assert data["detector_frame"][:].tolist() == [7, 8, 9]
    for number, image in zip((7, 8, 9), data["data"][:], strict=True):
        assert (image == counts(number, (2 * EXAMPLE_ROWS, EXAMPLE_COLUMNS))).all()


def test_viewers_that_ask_and_never_read_cost_the_run_nothing(here: Served, client: Client) -> None:
    client.configure(configuration())
    client.arm()
    asked = b"GET /api/picture?wait_s=0 HTTP/1.1\r\nHost: localhost\r\n\r\n" * 400
    with contextlib.ExitStack() as stalled:
        for _ in range(8):
            viewer = stalled.enter_context(socket.create_connection(("127.0.0.1", here.serving.port)))
            viewer.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
            viewer.setblocking(False)
            with contextlib.suppress(BlockingIOError):
                viewer.send(asked)
        here.send(60, rate=100)
        status = client.wait_for("ended", 30)
    assert (status["loss"]["sent"], status["loss"]["complete"]) == (60, 60)


def test_where_nothing_comes_after_the_start_the_doctor_says_what_to_look_at(
    here: Served, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(served_run, "_NOTHING_S", 0.3)
    client.configure(configuration())
    client.arm()
    time.sleep(0.6)
    assert client.status()["troubles"] == [], "it was not started"
    client.start()
    assert wait_until(lambda: any("the source is not sending" in line for line in client.status()["troubles"]))
    here.send(3)
    assert client.wait_for("ended", 20)["troubles"] == []
