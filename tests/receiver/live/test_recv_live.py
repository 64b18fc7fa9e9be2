"""`framelane recv` from the wire: a process receives what another sends, and accounts for every frame of it."""

import functools
import importlib.util
import re
import signal
import socket
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from framelane.base.errors import TransportError
from framelane.calibration.calibration_file import write_calibration
from framelane.models.jungfrau.jf_calibration import Calibration
from framelane.models.placement.flow import FrameEvent
from framelane.models.placement.slots import HOLE_WORD
from framelane.receiver.live import live_wire
from framelane.session.session import Session
from live_recv import COLUMNS, FRAMELANE, ROWS, SLOTS, Source, receiving, wait_until, write_plan

RunCli = Callable[..., tuple[int, str, str]]


@pytest.fixture
def plan(tmp_path: Path, free_port: int) -> Callable[..., list[object]]:
    """Write a plan; the options of a receiver of it."""
    return functools.partial(write_plan, tmp_path, free_port)


@pytest.fixture
def free_port() -> int:
    """A UDP port that nobody uses now."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.fixture
def receive(tmp_path: Path) -> Callable[..., Any]:
    return functools.partial(receiving, tmp_path)


def test_frames_of_a_source_on_the_link_arrive_whole_and_the_run_ends_with_it(
    receive: Any, plan: Any, free_port: int
) -> None:
    with receive(*plan()) as run, run.link(0) as link:
        source = Source(link.session, free_port)
        end = time.monotonic() + 30
        for number in range(30):
            while link.window_end <= number:
                assert time.monotonic() < end, f"no credit for frame {number}"
                time.sleep(0.001)
            source.send(number)
        link.report(0, offered=30, dropped=0, ended=True)
        status, out, err = run.end()
    assert (status, err) == (0, "")
    assert "30 sent = 30 complete + 0 incomplete + 0 dropped at source + 0 dropped by host + 0 missing" in out
    np.testing.assert_array_equal(run.dataset("frame_number"), range(30))
    for number, image in enumerate(run.dataset("data")):
        np.testing.assert_array_equal(image, source.image(number))


def test_a_source_that_ran_out_of_credit_gets_it_back_by_its_report(receive: Any, plan: Any, free_port: int) -> None:
    with receive(*plan()) as run, run.link(0) as link:
        source = Source(link.session, free_port)
        source.send(0)
        # Frames 1 to 99 are offered without being sent: the receiver hears nothing of them but the report.
        link.report(0, offered=100, dropped=99)
        end = time.monotonic() + 10
        while link.window_end <= 100 and time.monotonic() < end:
            time.sleep(0.005)
        assert link.window_end == 100 + SLOTS
        source.tx.bd_gen.frame(FrameEvent(99, 0, 0, 0))
        link.report(0, offered=101, dropped=100, ended=True)
        status, out, _ = run.end()
    assert status == 0
    assert "101 sent = 1 complete + 0 incomplete + 100 dropped at source + 0 dropped by host + 0 missing" in out


def test_frames_flow_again_after_the_receiver_stood_still_for_longer_than_its_ring_lasts(
    receive: Any, plan: Any, free_port: int, tmp_path: Path
) -> None:
    with receive(*plan(n_slots=16)) as run, run.link() as watch:
        host, port = run.address
        command = ["emulate", "--to", f"{host}:{port}", "--port", str(free_port), "--rate", "100"]
        with subprocess.Popen([*FRAMELANE, *command], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as source:
            try:
                assert wait_until(lambda: watch.window_end > 50)
                run.process.send_signal(signal.SIGSTOP)
                time.sleep(1)
                stood = watch.window_end
                run.process.send_signal(signal.SIGCONT)
                assert wait_until(lambda: watch.window_end > stood + 150), "credit comes back again and again"
            finally:
                source.send_signal(signal.SIGINT)
        status, out, _ = run.end()
    sent, complete, dropped = (
        int(re.findall(rf"(\d+) {what}", out)[0]) for what in ("sent", "complete", "dropped at s")
    )
    assert status == 0
    assert dropped > 0
    assert sent == complete + dropped
    assert run.dataset("frame_number")[-1] > sent - 50, "the last frames came again"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_the_run_and_all_that_arrived_is_written(
    receive: Any, plan: Any, free_port: int, number: int
) -> None:
    with receive(*plan()) as run:
        session = run.session
        source = Source(session, free_port)
        source.send(0, 1)
        lost = source.packets(2)
        source.send_packets(lost[:4] + lost[6:-1])
        status, out, err = run.end(number)
    assert (status, err) == (0, "")
    assert "3 sent = 2 complete + 1 incomplete" in out
    images = run.dataset("data")
    np.testing.assert_array_equal(images[:2], [source.image(0), source.image(1)])
    expected = source.image(2).copy().reshape(-1)
    expected[4 * 128 : 6 * 128] = HOLE_WORD  # pixels of a packet: MTU 256
    np.testing.assert_array_equal(images[2].reshape(-1), expected)


def test_two_sources_fill_one_image(receive: Any, plan: Any, free_port: int) -> None:
    with receive(*plan(sources=2)) as run, run.link(0) as link, run.link(1) as other:
        upper, lower = Source(link.session, free_port, 0), Source(link.session, free_port, 1)
        upper.send(0)
        lower.send(0)
        link.report(0, offered=1, dropped=0, ended=True)
        other.report(1, offered=1, dropped=0, ended=True)
        status, out, _ = run.end()
    assert status == 0
    assert "1 sent = 1 complete" in out
    half = ROWS // 2
    (image,) = run.dataset("data")
    np.testing.assert_array_equal(image[:half], upper.image(0)[:half])
    np.testing.assert_array_equal(image[half:], lower.image(0)[half:])


def test_a_session_is_served_again_after_the_receiver_was_killed(
    receive: Any, plan: Any, free_port: int, tmp_path: Path
) -> None:
    with receive(*plan()) as run:
        session = run.session
        run.process.kill()
    with receive("--session", tmp_path / "session.json", "--port", free_port, "--frames", 1) as run, run.link() as link:
        assert link.session == session
        source = Source(session, free_port)
        source.send(0)
        status, _, _ = run.end()
    assert status == 0
    np.testing.assert_array_equal(run.dataset("data"), [source.image(0)])


def test_where_nothing_comes_the_status_says_so_and_no_frame_is_written(receive: Any, plan: Any) -> None:
    with receive(*plan(), "--idle", 0.2) as run:
        status, out, _ = run.end()
    assert status == 1
    assert "0 packets" in out
    assert "0 sent = 0 complete" in out


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ([], "packets come from a capture or from the wire: give --pcap, or else --transport"),
        (
            ["--plan", "x"],
            "--plan is of a live receiver: give --transport udp, packet, verbs, pcie, jungfrau or detector as well",
        ),
        (["--link-port", 0], "--link-port is of a live receiver"),
        (["--transport", "udp"], "serves a new session or an old one: give --plan, or else --session"),
        (["--transport", "udp", "--plan", "p", "--session", "s"], "give --plan, or else --session"),
        (["--transport", "verbs", "--session", "s"], "an RDMA device makes a QP and a region anew every time"),
        (
            ["--transport", "udp", "--session", "s", "--publish", "p"],
            "--publish and --free-running are of a new session",
        ),
        (["--transport", "packet", "--plan", "p"], "takes what comes in on an interface: give --interface"),
        (["--transport", "udp", "--plan", "p", "--interface", "lo"], "--interface is of --transport packet"),
        (["--transport", "udp", "--plan", "p", "--device", "rxe0"], "--device is of --transport verbs"),
        (["--transport", "packet", "--plan", "p", "--gid-index", 0], "--gid-index is of --transport verbs"),
        (["--transport", "udp", "--plan", "p", "--polling"], "--polling is of --transport verbs"),
        (["--transport", "udp", "--plan", "nosuch.toml"], "cannot read the plan nosuch.toml: No such file"),
        (["--transport", "udp", "--plan", "p", "--frames", 0], "--frames 0 is too few"),
        (["--transport", "udp", "--plan", "p", "--max-rate", "inf"], "--max-rate inf is not a frame rate: give frames"),
        (["--transport", "udp", "--plan", "p", "--max-rate", "1e308"], "above 0 and at most 1e+12"),
        (["--transport", "udp", "--plan", "p", "--idle", "nan"], "--idle nan is not a time to wait"),
        (["--pcap", "a.pcap"], "a capture does not say what it holds: give --session"),
        (["--transport", "udp", "--plan", "p", "--ring", "gpu"], "--ring is of --transport verbs: leave it out with"),
        (["--pcap", "a.pcap", "--session", "s", "--ring", "gpu"], "--ring is of a live receiver"),
        (["--transport", "verbs", "--plan", "p", "--ring", "gpu"], "for frames that a GPU processes: give --gpu as"),
        (
            ["--transport", "verbs", "--plan", "p", "--ring", "gpu", "--huge-pages"],
            "--huge-pages are of the host: leave them out with --ring gpu",
        ),
        (["--transport", "udp", "--plan", "p", "--gpu"], "by a calibration: give --calibration as well"),
    ],
)
def test_options_that_cannot_be_are_one_sentence(
    run_cli: RunCli, tmp_path: Path, arguments: list[object], sentence: str
) -> None:
    status, _, err = run_cli("recv", "--output", tmp_path / "frames.h5", *arguments)
    assert status == 2
    assert sentence in err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("how", ["pcap", "live"])
def test_a_calibration_of_another_shape_is_said_with_the_plan_or_the_session(
    run_cli: RunCli, plan: Any, tmp_path: Path, make_session: Callable[..., Session], how: str
) -> None:
    make_session(rows=ROWS, columns=COLUMNS).save(tmp_path / "old.json")
    plan()
    gain = np.ones((3, 8, COLUMNS)) * np.array([[[40.0]], [[-1.5]], [[-0.1]]])
    write_calibration(tmp_path / "c.h5", Calibration(np.full(gain.shape, 3000.0), gain, 12.4))
    live = ["--transport", "udp", "--plan", tmp_path / "plan.toml", "--link-port", 0, "--port", 0]
    capture = ["--pcap", tmp_path / "a.pcap", "--session", tmp_path / "old.json"]
    (tmp_path / "a.pcap").touch()
    options = ["--calibration", tmp_path / "c.h5", "--output", tmp_path / "frames.h5"]
    status, _, err = run_cli("recv", *(live if how == "live" else capture), *options)
    which = f"plan {tmp_path}/plan.toml" if how == "live" else f"session {tmp_path}/old.json"
    assert status == 2
    assert f"c.h5 is for 8 x {COLUMNS} pixels, the {which} for {ROWS} x {COLUMNS}: give the calibration" in err


@pytest.mark.parametrize("how", ["pcap", "live"])
def test_images_that_are_corrected_already_are_nothing_for_a_gpu(
    run_cli: RunCli, plan: Any, tmp_path: Path, make_session: Callable[..., Session], how: str
) -> None:
    """This is said before a GPU is looked for."""
    make_session(pixels="corrected").save(tmp_path / "session.json")
    plan(pixels="corrected")
    live = ["--transport", "udp", "--plan", tmp_path / "plan.toml", "--link-port", 0, "--port", 0]
    capture = ["--pcap", tmp_path / "a.pcap", "--session", tmp_path / "session.json"]
    (tmp_path / "a.pcap").touch()
    options = ["--gpu", "--calibration", tmp_path / "c.h5", "--output", tmp_path / "frames.h5"]
    status, _, err = run_cli("recv", *(live if how == "live" else capture), *options)
    assert (status, err.count("\n")) == (2, 1)
    assert "corrected by their source, the GPU has nothing to correct: leave out --gpu and --calibration" in err
    assert not (tmp_path / "frames.h5").exists()


@pytest.mark.skipif(importlib.util.find_spec("cupy") is not None, reason="CuPy is here")
@pytest.mark.parametrize("how", ["pcap", "live"])
def test_without_cupy_the_gpu_is_refused_in_a_sentence(
    run_cli: RunCli, plan: Any, tmp_path: Path, make_session: Callable[..., Session], how: str
) -> None:
    session = make_session(rows=ROWS, columns=COLUMNS)
    session.save(tmp_path / "old.json")
    plan()
    gain = np.ones((3, ROWS, COLUMNS)) * np.array([[[40.0]], [[-1.5]], [[-0.1]]])
    write_calibration(tmp_path / "c.h5", Calibration(np.full(gain.shape, 3000.0), gain, 12.4))
    live = ["--transport", "udp", "--plan", tmp_path / "plan.toml", "--link-port", 0, "--port", 0]
    capture = ["--pcap", tmp_path / "a.pcap", "--session", tmp_path / "old.json"]
    options = ["--gpu", "--calibration", tmp_path / "c.h5", "--output", tmp_path / "frames.h5"]
    status, _, err = run_cli("recv", *(live if how == "live" else capture), *options)
    assert (status, err.count("\n")) == (2, 1)
    assert "the GPU cannot be used without CuPy: install framelane[gpu]" in err
    assert not (tmp_path / "frames.h5").exists()
    assert not (tmp_path / "session.json").exists()


@pytest.mark.parametrize(
    ("arguments", "chosen"),
    [
        ([], {"device": None, "gid_index": None, "completions": "events"}),
        (["--gid-index", 3, "--device", "rxe1"], {"device": "rxe1", "gid_index": 3, "completions": "events"}),
        (["--polling"], {"device": None, "gid_index": None, "completions": "polling"}),
    ],
)
def test_the_rdma_device_is_opened_as_the_options_say(
    run_cli: RunCli, plan: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[object], chosen: object
) -> None:
    asked: dict[str, object] = {}

    def open_device(memory: object, plan: object, **options: object) -> None:
        asked.update(options)
        raise TransportError("no device is opened here")

    monkeypatch.setattr(live_wire, "VerbsTransport", open_device)
    plan()
    live = ("--transport", "verbs", "--plan", tmp_path / "plan.toml", "--output", tmp_path / "frames.h5")
    status, _, err = run_cli("recv", *live, *arguments)
    assert (status, "no device is opened here" in err) == (2, True)
    del asked["window_end"]
    assert asked == chosen


def test_a_session_that_is_published_may_be_read_by_its_owner_only(receive: Any, plan: Any, tmp_path: Path) -> None:
    with receive(*plan(), "--idle", 0.2) as run:
        run.end()
    assert (tmp_path / "session.json").stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("rows = ", "is not TOML"),
        ("rows = 16\n", "columns: is missing"),
        ("[" * 10_000, "is not TOML"),
        ("\xff", "is not text in UTF-8: line 1 has the byte 0xff"),
    ],
)
def test_a_plan_that_is_none_is_one_sentence(run_cli: RunCli, tmp_path: Path, text: str, sentence: str) -> None:
    (tmp_path / "plan.toml").write_bytes(text.encode("latin-1"))
    output = tmp_path / "frames.h5"
    status, _, err = run_cli("recv", "--output", output, "--transport", "udp", "--plan", tmp_path / "plan.toml")
    assert status == 2
    assert f"the plan {tmp_path}/plan.toml" in err
    assert sentence in err
    assert not output.exists()
