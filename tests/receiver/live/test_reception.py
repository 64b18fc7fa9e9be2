"""The receiver as an iterator, used as from a notebook: each frame once, in order, lost pixels known one by one."""

import socket
import threading
import time
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path

import h5py
import numpy as np
import pytest
from numpy.typing import NDArray

from framelane.base.errors import ConfigError, OptionError
from framelane.base.stopping import Stop
from framelane.calibration.calibration_file import write_calibration
from framelane.cli.option_names import sentence
from framelane.models.jungfrau.jf_calibration import Calibration
from framelane.models.jungfrau.jf_correct import correct_int16
from framelane.models.jungfrau.jf_fixed import quantize
from framelane.packets.pcap import PcapWriter
from framelane.receiver.gpu.gpu_error import GpuError
from framelane.receiver.live.frame import Frame
from framelane.receiver.live.packet_source import Capture, Live
from framelane.receiver.live.processing import Processing
from framelane.receiver.live.reception import Reception, receive
from framelane.receiver.live.recorder import Recorder
from framelane.receiver.pipeline.cpu_frame_pipeline import CpuFramePipeline
from framelane.receiver.pipeline.pipeline import Pipeline
from framelane.receiver.pipeline.result import Result
from framelane.receiver.pipeline.veto import Reason
from framelane.receiver.ring.receiver import ReceivedFrame, Receiver
from framelane.receiver.sinks.hdf5 import Hdf5Sink
from framelane.receiver.sinks.what_if import disagreements, replay_veto
from framelane.session.session import Session
from framelane.session.session_client import SessionClient
from framelane.session.session_plan import SessionPlan
from live_recv import Source
from own_source import own_address, own_port

MakeSession = Callable[..., Session]
LOST = 1
"""The packet of frame 2 that the capture lacks: so many payloads from the frame's start."""


@pytest.fixture
def session(make_session: MakeSession) -> Session:
    return make_session(rows=16, columns=128, n_slots=3, mtu=1024)


@pytest.fixture
def source(session: Session) -> Source:
    return Source(session, 0)


@pytest.fixture
def capture(session: Session, source: Source, tmp_path: Path) -> Capture:
    """Frames 0 to 4, of which 3 has lost a packet; of frame 2 nothing came."""
    session.save(tmp_path / "session.json")
    with PcapWriter(tmp_path / "tx.pcap") as pcap:
        for number in range(5):
            packets = source.packets(number)
            if number != 2:
                for packet in packets[:LOST] + packets[LOST + 1 :] if number == 3 else packets:
                    pcap.write(packet)
    return Capture(tmp_path / "tx.pcap", tmp_path / "session.json")


@pytest.fixture
def calibration(tmp_path: Path) -> Calibration:
    gain = np.ones((3, 16, 128)) * np.array([[[40.0]], [[-1.5]], [[-0.1]]])
    calibration = Calibration(np.full(gain.shape, 3000.0), gain, 12.4)
    write_calibration(tmp_path / "calibration.h5", calibration)
    return calibration


def missing() -> NDArray[np.bool_]:
    """The pixels of frame 3 that were lost: those of one payload of 1024 bytes."""
    mask = np.zeros(16 * 128, bool)
    mask[LOST * 512 : (LOST + 1) * 512] = True
    return mask.reshape(16, 128)


def test_a_capture_gives_photons_holes_verdict_number_and_time_of_each_frame(
    capture: Capture, calibration: Calibration, source: Source, tmp_path: Path
) -> None:
    processing = Processing(calibration=tmp_path / "calibration.h5", threshold=2, minimum_peaks=1)
    with receive(capture, processing) as run:
        frames = [frame.copy() for frame in run]
    assert [frame.number for frame in frames] == [0, 1, 3, 4]
    assert [frame.timestamp_ns for frame in frames] == [1000, 1001, 1003, 1004]
    assert [frame.bunch_id for frame in frames] == [7] * 4
    assert [frame.complete for frame in frames] == [True, True, False, True]
    assert [frame.holes for frame in frames] == [0, 0, 512, 0]
    for frame in frames:
        raw = source.image(frame.number).copy()
        lost = missing() if frame.number == 3 else np.zeros(raw.shape, bool)
        raw[lost] = 0x8000
        assert frame.photons is not None
        expected = correct_int16(raw, quantize(calibration))
        assert np.array_equal(frame.photons, expected)
        assert np.array_equal(frame.hole_mask(), lost)
        assert frame.verdict.peaks == ((expected >= 2) & (expected <= 32700)).sum()
        assert frame.accepted
    assert str(run.tally).startswith("5 sent = 3 complete + 1 incomplete")
    assert run.tally.missing == 1
    assert run.fault == ""
    assert not run.sources_ended, "a capture does not tell"


def test_raw_words_are_no_photons(capture: Capture, source: Source) -> None:
    with receive(capture) as run:
        first = next(run)
        assert np.array_equal(first.image, source.image(0))
        assert first.photons is None
        assert not first.hole_mask().any()
        rest = [frame.hole_mask() for frame in run]
    assert np.array_equal(rest[1], missing())


def test_a_rejected_frame_has_a_verdict_and_no_photons(
    capture: Capture, calibration: Calibration, tmp_path: Path
) -> None:
    with receive(capture, Processing(calibration=tmp_path / "calibration.h5", minimum_peaks=10**6)) as run:
        seen = [(frame.number, frame.accepted, frame.photons is None) for frame in run]
    assert seen == [(0, False, True), (1, False, True), (3, True, False), (4, False, True)], "3 cannot be judged"


def test_whoever_breaks_off_can_go_on_and_in_the_end_every_frame_is_accounted_for(capture: Capture) -> None:
    with receive(capture) as run:
        for frame in run:
            if frame.number == 1:
                break
        assert next(run).number == 3
    assert str(run.tally).startswith("4 sent = 2 complete + 1 incomplete"), "frame 4 was never looked for"


def test_a_copy_lives_longer_than_its_slot(capture: Capture, source: Source) -> None:
    with receive(capture) as run:
        views = [(frame.copy(), frame.image) for frame in run]
    assert np.array_equal(views[0][0].image, source.image(0))
    assert not np.array_equal(views[0][1], source.image(0)), "its slot was filled with holes, and has frame 3"


def test_a_recorder_writes_what_the_command_line_writes(capture: Capture, tmp_path: Path) -> None:
    with receive(capture) as run, Recorder(run, tmp_path / "frames.h5") as recorder:
        for frame in run:
            recorder.write(frame)
    assert (recorder.frames, recorder.incomplete) == (4, [3])
    assert recorder.statistics.reasons == {Reason.ENOUGH_PEAKS: 4}
    with h5py.File(tmp_path / "frames.h5") as file:
        assert file["entry/data/frame_number"][:].tolist() == [0, 1, 3, 4]
        assert file["entry/data/holes"][:].tolist() == [0, 0, 512, 0]


def test_a_gpu_that_fails_under_a_frame_ends_the_run_and_keeps_what_was_written(
    capture: Capture, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def failing(frame: Frame) -> bool:
        if frame.number == 3:
            raise GpuError("the GPU cannot go on: it was unplugged")
        return True

    monkeypatch.setattr(Frame, "complete", property(failing))
    with receive(capture) as run, Recorder(run, tmp_path / "frames.h5") as recorder:
        for frame in run:
            recorder.write(frame)
    assert run.fault == "the run ended early: the GPU cannot go on: it was unplugged"
    assert (recorder.frames, recorder.unwritten) == (2, 1)
    with h5py.File(tmp_path / "frames.h5") as file:
        assert file["entry/data/frame_number"][:].tolist() == [0, 1]


def test_every_frame_that_comes_after_a_gpu_has_failed_is_counted(
    capture: Capture, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def failing(frame: Frame) -> bool:
        if frame.number >= 1:
            raise GpuError("the GPU cannot go on: it was unplugged")
        return True

    monkeypatch.setattr(Frame, "complete", property(failing))
    with receive(capture) as run, Recorder(run, tmp_path / "frames.h5") as recorder:
        monkeypatch.setattr(run, "end", lambda reason: None)  # frames that a live run has under way come after its end
        for frame in run:
            recorder.write(frame)
    assert (recorder.frames, recorder.unwritten) == (1, 3)


def test_a_gpu_that_fails_as_a_slot_is_given_back_ends_the_run(
    capture: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    release = Receiver.release

    def failing(receiver: Receiver, frame: ReceivedFrame) -> bool:
        if frame.number == 1:
            raise GpuError("the GPU cannot go on: it was unplugged")
        return release(receiver, frame)

    monkeypatch.setattr(Receiver, "release", failing)
    with receive(capture) as run:
        assert [frame.number for frame in run] == [0, 1]
    assert run.fault == "the run ended early: the GPU cannot go on: it was unplugged"


def test_every_frame_that_cannot_be_processed_is_counted(
    session: Session, capture: Capture, calibration: Calibration, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = Source(session, 0)

    def refusing(pipeline: object, frame: object, keep: bool) -> Result:
        raise ConfigError("the image does not fit")

    monkeypatch.setattr(Pipeline, "__call__", refusing)
    with PcapWriter(capture.path, force=True) as pcap:
        for packet in source.packets(0)[:-1] + source.packets(1):  # without its trailer frame 0 is over with frame 1
            pcap.write(packet)
    with receive(capture, Processing(calibration=tmp_path / "calibration.h5")) as run:
        assert list(run) == []
    assert run.unprocessed == 2
    assert run.fault == "the run ended early: the image does not fit"


def test_a_recorder_of_a_capture_leaves_nothing_where_its_block_raises(capture: Capture, tmp_path: Path) -> None:
    def broken_off() -> None:
        with receive(capture) as run, Recorder(run, tmp_path / "frames.h5") as recorder:
            recorder.write(next(run))
            raise ZeroDivisionError

    before = sorted(tmp_path.iterdir())
    with pytest.raises(ZeroDivisionError):
        broken_off()
    assert sorted(tmp_path.iterdir()) == before


def test_a_recorder_never_writes_over_what_it_reads(capture: Capture) -> None:
    with receive(capture) as run, pytest.raises(Exception, match="is an input of this run"):
        Recorder(run, capture.path)


def test_a_run_that_is_ended_gives_what_had_come_and_says_why(capture: Capture) -> None:
    with receive(capture) as run:
        for frame in run:
            if frame.number == 1:
                run.end("the cryostat is warm")
    assert run.fault == "the run ended early: the cryostat is warm"


@pytest.fixture
def port() -> int:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def plan() -> SessionPlan:
    ends = {"source": own_address(), "receiver": "127.0.0.1"}
    nodes: dict[str, object] = {end: {"mac": "02:00:00:00:00:01", "ip": ip} for end, ip in ends.items()}
    fields = {"rows": 16, "columns": 128, "n_slots": 3, "mtu": 1024, "src_port": own_port()}
    return SessionPlan.model_validate(fields | nodes)


class Sending:
    """A source in a thread of its own, which heeds the credit: what credit it saw before each frame."""

    def __init__(self, run: Reception, port: int, frames: int, ends: bool = True) -> None:
        self.credit: list[int] = []
        self._address, self._port, self._frames, self._ends = run.serve(), port, frames, ends
        self._session = run.session
        self.done = threading.Event()
        self._thread = threading.Thread(target=self._send)

    def __enter__(self) -> "Sending":
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self.done.set()
        self._thread.join(30)

    def _send(self) -> None:
        source = Source(self._session, self._port)
        with SessionClient(*self._address, 0) as link:
            for number in range(self._frames):
                end = time.monotonic() + 30
                while link.window_end <= number and time.monotonic() < end:
                    if self.done.wait(0.002):
                        return
                self.credit.append(link.window_end)
                source.send(number)
            if self._ends:
                link.report(0, offered=self._frames, dropped=0, ended=True)
            self.done.wait(30)


@pytest.fixture
def live(port: int) -> Iterator[Reception]:
    with receive(Live(transport="udp", plan=plan(), port=port, link_port=0)) as run:
        yield run


def test_a_live_run_gives_credit_as_frames_are_given_back(live: Reception, port: int) -> None:
    numbers = []
    with Sending(live, port, 20) as sending:
        for frame in live:
            numbers.append(frame.number)
            assert frame.complete
            assert max(sending.credit) <= frame.number + 3, "the slot of a frame that is looked at is not given away"
    assert numbers == list(range(20))
    assert all(one <= other for one, other in pairwise(sending.credit))
    assert str(live.tally).startswith("20 sent = 20 complete")
    assert live.sources_ended


@pytest.mark.parametrize("within", [False, True])
def test_a_file_in_which_a_write_was_broken_off_is_not_ended(
    live: Reception, port: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, within: bool
) -> None:
    write = Hdf5Sink.write

    def failing(sink: Hdf5Sink, frame: ReceivedFrame, result: Result) -> None:
        if within and frame.number == 2:
            raise ZeroDivisionError
        write(sink, frame, result)

    def record() -> None:
        with Recorder(live, tmp_path / "frames.h5") as recorder:
            for frame in live:
                recorder.write(frame)
                if frame.number == 2:
                    raise ZeroDivisionError

    monkeypatch.setattr(Hdf5Sink, "write", failing)
    with Sending(live, port, 5), pytest.raises(ZeroDivisionError):
        record()
    if within:
        assert not (tmp_path / "frames.h5").exists(), "it stays as it was last committed, so soon not at all"
        return
    with h5py.File(tmp_path / "frames.h5") as file:
        assert file["entry/data/frame_number"][:].tolist() == [0, 1, 2]
        assert "end_time" in file["entry"]


def test_a_live_run_ends_when_it_is_told_to(live: Reception, port: int) -> None:
    with Sending(live, port, 5, ends=False):
        for frame in live:
            if frame.number == 4:
                live.stop.wanted = True
    assert live.tally.complete == 5
    assert not live.sources_ended


def test_who_stops_looking_loses_no_count(port: int) -> None:
    with (
        receive(Live(transport="udp", plan=plan(), port=port, link_port=0), stop=Stop()) as run,
        Sending(run, port, 5),
    ):
        next(run)
    assert run.tally.complete >= 1
    assert run.tally.holds


def test_a_run_that_was_served_gives_its_wire_and_its_pipeline_back(port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    closed: list[bool] = []
    monkeypatch.setattr(CpuFramePipeline, "close", lambda self: closed.append(True))
    for _ in range(2):
        with receive(Live(transport="udp", plan=plan(), port=port, link_port=0, idle=0.1)) as run:
            assert list(run) == []
        assert not any(thread.name == "transport" for thread in threading.enumerate())
        with pytest.raises(ConfigError, match="the run has ended"):
            run.serve()
    assert closed == [True, True]


@pytest.mark.parametrize(
    ("options", "python", "dashes"),
    [
        ({"transport": "udp"}, "give plan, or else session", "give --plan, or else --session"),
        ({"transport": "udp", "plan": plan(), "link_port": 70000}, "link_port 70000 does", "--link-port 70000 does"),
        ({"transport": "udp", "plan": plan(), "gid_index": 1}, "gid_index is of transport verbs", "--gid-index is of"),
    ],
)
def test_options_are_named_as_they_were_given(options: dict[str, object], python: str, dashes: str) -> None:
    with pytest.raises(OptionError) as error:
        Live(**options)  # type: ignore[arg-type]
    assert python in str(error.value)
    assert dashes in sentence(error.value)


def test_processing_that_cannot_be_is_refused() -> None:
    with pytest.raises(ConfigError, match="gpu corrects raw words, by a calibration: give calibration as well"):
        Processing(gpu=True)


def test_another_veto_holds_from_the_next_frame_on_and_the_file_says_of_each_frame_which_it_was(
    capture: Capture, calibration: Calibration, tmp_path: Path
) -> None:
    def judged(name: str, first: tuple[int, int], then: tuple[int, int]) -> dict[str, list[int]]:
        processing = Processing(calibration=tmp_path / "calibration.h5", threshold=first[0], minimum_peaks=first[1])
        with receive(capture, processing) as run, Recorder(run, tmp_path / name) as recorder:
            for frame in run:
                recorder.write(frame)
                if frame.number == 1:
                    run.change_veto(threshold=then[0])
                    assert run.change_veto(minimum_peaks=then[1]) == run.veto
        names = "threshold", "minimum_peaks", "peaks", "accepted", "reason"
        with h5py.File(tmp_path / name) as file:
            return {each: file["entry/data"][each][()].tolist() for each in names}

    low, high = (3, 1), (300, 1 << 20)
    changed, lows, highs = judged("changed.h5", low, high), judged("low.h5", low, low), judged("high.h5", high, high)
    assert lows["peaks"] != highs["peaks"]
    assert changed == {name: lows[name][:2] + highs[name][2:] for name in changed}
    assert (changed["threshold"], changed["minimum_peaks"]) == ([3, 3, 300, 300], [1, 1, 1 << 20, 1 << 20])
    assert changed["accepted"] == [True, True, True, False]  # of the third pixels are missing
    record = replay_veto(tmp_path / "changed.h5", threshold=4, minimum_peaks=1).record
    assert disagreements(record) == 0
    assert 3 not in record.counts, "of two frames it is not known"
    assert set(record.counts) == {2**k for k in range(15)}


def test_a_veto_that_cannot_be_is_refused_and_the_old_one_stays(
    capture: Capture, calibration: Calibration, tmp_path: Path
) -> None:
    processing = Processing(calibration=tmp_path / "calibration.h5", threshold=2, peaks="bragg")
    with receive(capture, processing) as run:
        with pytest.raises(ConfigError, match="the threshold of Bragg peaks stays 2 while a run lasts"):
            run.change_veto(threshold=3)
        with pytest.raises(ConfigError, match="give a threshold of"):
            run.change_veto(minimum_peaks=-1)
        assert run.veto == processing.veto
        assert run.change_veto(minimum_peaks=7).minimum == 7
    with receive(capture) as raw, pytest.raises(OptionError, match="raw words have no peaks to judge by"):
        raw.change_veto(threshold=3)
