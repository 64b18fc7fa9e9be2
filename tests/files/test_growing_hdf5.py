"""A growing file can be read whatever ends its writer: any write of it is taken for the last one.

The disk of these tests notes what is written, page by page, and what is synced. A process that is killed leaves a
beginning of these writes; a machine that loses its power leaves all up to the last sync, and any of those behind it.
"""

import io
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
from numpy.typing import NDArray

from framelane.calibration.raw_frames import RawFrames
from framelane.files.committed_file import PAGE
from framelane.files.forgiving import ForgivingFile
from framelane.files.recorded_file import RecordedFile
from framelane.files.unended import unended
from framelane.models.jungfrau.jf_packet import JfHeader
from framelane.models.peaks.peak_settings import PeakSettings
from framelane.receiver.geometry.describe import describe
from framelane.receiver.jungfrau import recorder as jungfrau_recorder
from framelane.receiver.jungfrau.detector_frame import DetectorFrame
from framelane.receiver.pipeline.judging import Judging
from framelane.receiver.pipeline.result import Counts, Result, SparseRows
from framelane.receiver.pipeline.veto import Reason, Verdict
from framelane.receiver.ring.receiver import ReceivedFrame
from framelane.receiver.sinks.file_options import FileOptions
from framelane.receiver.sinks.hdf5 import Hdf5Sink
from framelane.receiver.sinks.rank_file import RankFile
from framelane.receiver.sinks.verdict_file import VerdictFile
from framelane.session.metadata import Metadata
from framelane.session.session import Session
from made_peaks import check_peaks, made_peaks

JUDGING = Judging(rungs=(1, 2, 4, 8), bragg=PeakSettings(limit=3))
COMMITS = 12
EACH = 1 if os.environ.get("FRAMELANE_EVERY_WRITE") else 5
"""One write in so many is taken for the last; in `make nightly` every one is."""


@dataclass
class Log:
    """What happened to a file: (position, bytes) of a page or a part of it, a new size, or None for a sync."""

    events: list[tuple[int, bytes] | int | None] = field(default_factory=list)
    committed: list[tuple[int, int]] = field(default_factory=list)
    """After how many events so many frames were promised."""
    total: int = 0
    """Frames written in all: the last of them came after the last commit."""


class NotingFile(ForgivingFile):
    """A file that notes what it does."""

    def __init__(self, path: Path, log: Log) -> None:
        super().__init__(path)
        self._log = log
        self.full: OSError | None = None  # its disk has room

    def put(self, view: memoryview, at: int) -> None:
        while view:
            n = PAGE - at % PAGE
            self._log.events.append((at, bytes(view[:n])))
            super().put(view[:n], at)
            view, at = view[n:], at + n

    def sync(self) -> None:
        self._log.events.append(None)

    def truncate(self, size: int | None = None) -> int:
        assert size is not None
        self._log.events.append(size)
        return super().truncate(size)


class Disk:
    """The bytes of a file after some of its events."""

    def __init__(self) -> None:
        self.bytes = bytearray()

    def apply(self, event: tuple[int, bytes] | int | None) -> None:
        if isinstance(event, int):
            self.bytes = self.bytes[:event] + bytes(max(0, event - len(self.bytes)))
        elif event is not None:
            at, data = event
            self.bytes += bytes(max(0, at + len(data) - len(self.bytes)))
            self.bytes[at : at + len(data)] = data


def image(number: int, shape: tuple[int, ...]) -> NDArray[np.int16]:
    return np.random.default_rng(number).integers(1, 100, shape, np.int16)


EXPERIMENT = Metadata(
    **{"distance_mm": 120.0, "beam_x": 5.0, "beam_y": 6.0, "energy_kev": 12.4, "material": "Si", "thickness_um": 320.0},
    **{"sample": "a", "source_name": "b", "instrument": "c", "count_time_s": 1e-4, "frame_time_s": 1e-3},
    **{"total_flux": 1e12, "serial_number": "d", "firmware": "e", "clock": "utc"},
)
"""All that can be said."""


def written(session: Session, path: Path, log: Log, monkeypatch: pytest.MonkeyPatch) -> None:
    """A received file of rejected and accepted frames with sparse rows, committed now and then."""
    monkeypatch.setattr(Hdf5Sink, "_open", lambda self, name: NotingFile(name, log))
    monkeypatch.setattr("framelane.files.growing_hdf5.COMMIT_S", 1e6)
    rng = np.random.default_rng(1)
    shape = session.rows, session.columns
    options = FileOptions(metadata=EXPERIMENT)
    known = describe(EXPERIMENT, shape)
    assert not known.missing
    with Hdf5Sink(path, session, photon_energy_kev=12.4, description=known, options=options, judging=JUDGING) as sink:
        number = 0
        for commits in range(COMMITS + 1):
            for _ in range(rng.integers(1, 40)):
                accepted = bool(number % 5)
                pixels = image(number, shape)
                rows = SparseRows(
                    np.arange(session.rows + 1, dtype=np.int64) * session.columns,
                    np.tile(np.arange(session.columns, dtype=np.int32), session.rows),
                    pixels.reshape(-1),
                )
                verdict = Verdict(number, 10, 0, Reason.ENOUGH_PEAKS if accepted else Reason.TOO_FEW_PEAKS)
                frame = ReceivedFrame(number, 0, pixels.view(np.uint16), 0, (None,))
                counts = Counts(0, 0, 0, 0, number)
                found = rows if accepted else None, np.full(4, number), made_peaks(number)
                sink.write(frame, Result(pixels, counts, verdict, *found))
                number += 1
                if number % 17 == 0:
                    sink.retract()
                    sink.write(frame, Result(pixels, counts, verdict, *found))
            if commits < COMMITS:
                sink.commit()
                log.committed.append((len(log.events), number))
        log.total = number


def check_received(file: Any, n: int, shape: tuple[int, int]) -> None:
    """The first `n` frames are there: all records, and some of the images."""
    images = file["entry/data"]
    assert (images["frame_number"][:n] == np.arange(n)).all()
    assert (images["peaks"][:n] == np.arange(n)).all()
    assert (images["ladder"][:n] == np.arange(n)[:, None]).all()
    assert len(images["data"]) >= n
    check_peaks(file, {0, n // 2, n - 2, n - 1} - {-1})
    for f in {0, n // 2, n - 3, n - 2, n - 1} - {-1, -2}:
        accepted = bool(f % 5)
        assert (images["data"][f] == (image(f, shape) if accepted else -32768)).all()


def check_rows(file: Any, n: int, shape: tuple[int, int]) -> None:
    """The sparse rows of some of the first `n` frames."""
    sparse = file["entry/sparse"]
    for f in {0, n // 2, n - 2, n - 1} - {-1}:
        accepted = bool(f % 5)
        pointers = sparse["pointers"][f]
        values = sparse["values"][pointers[0] : pointers[-1]]
        assert (values == (image(f, shape).reshape(-1) if accepted else [])).all()


def recorded(session: Session, path: Path, log: Log, monkeypatch: pytest.MonkeyPatch) -> None:
    """A raw recording of eight modules."""
    monkeypatch.setattr(jungfrau_recorder.RawFile, "_open", lambda self, name: NotingFile(name, log))
    monkeypatch.setattr("framelane.files.growing_hdf5.COMMIT_S", 1e6)
    monkeypatch.setattr(jungfrau_recorder, "MODULE_ROWS", session.rows)
    monkeypatch.setattr(jungfrau_recorder, "MODULE_COLUMNS", session.columns)
    rng, number = np.random.default_rng(2), 0
    with jungfrau_recorder.RawFile(path, modules=8, compress=True) as file:
        for commits in range(COMMITS + 1):
            for _ in range(rng.integers(1, 40)):
                pixels = image(number, (8 * session.rows, session.columns)).view(np.uint16)
                header = JfHeader(frame_number=number, bunch_id=number)
                packets = np.full(8, 128, np.uint16)
                file.write(DetectorFrame(number, pixels, packets, (header,) * 8, number))
                number += 1
            if commits < COMMITS:
                file.commit()
                log.committed.append((len(log.events), number))
        log.total = number


def check_recorded(file: Any, n: int, shape: tuple[int, int]) -> None:
    assert (file["frame_number"][:n] == np.arange(n)).all()
    assert (file["packets"][:n] == 128).all()
    assert (file["guarded"][:n] == np.arange(n)).all()
    for f in {0, n // 2, n - 1}:
        assert (file["raw"][f] == image(f, (8 * shape[0], shape[1])).view(np.uint16)).all()


Write = Callable[[Session, Path, Log, pytest.MonkeyPatch], None]
Check = Callable[[Any, int, tuple[int, int]], None]


@pytest.fixture(params=[(written, check_received), (recorded, check_recorded)], ids=["received", "raw"])
def run(
    request: pytest.FixtureRequest,
    tmp_path: Path,
    make_session: Callable[..., Session],
    monkeypatch: pytest.MonkeyPatch,
) -> tuple[Log, Callable[..., None]]:
    write: Write
    check: Check
    write, check = request.param
    session, log = make_session(rows=8, columns=32), Log()
    write(session, tmp_path / "file.h5", log, monkeypatch)

    def holds(content: bytearray, n: int, *, rows: bool = True) -> None:
        with h5py.File(io.BytesIO(content), "r") as file:
            check(file, n, (session.rows, session.columns))
            if rows and "entry" in file:
                check_rows(file, n, (session.rows, session.columns))

    return log, holds


def promised(log: Log) -> Iterator[tuple[int, int]]:
    """Each event's number, and how many frames were committed before it."""
    n, commits = 0, iter([*log.committed, (len(log.events) + 1, 0)])
    events, frames = next(commits)
    for number in range(len(log.events)):
        while number >= events:
            n = frames
            events, frames = next(commits)
        yield number, n


Run = tuple[Log, Callable[..., None]]


def test_a_process_that_is_killed_leaves_all_that_was_committed(run: Run) -> None:
    log, holds = run
    disk = Disk()
    assert sum(isinstance(event, tuple) for event in log.events) > 500
    frames, end = 0, 0
    for number, n in promised(log):
        if n > frames:
            frames, end = n, len(disk.bytes)
        event, before = log.events[number], log.events[number - 1]
        # Most writes are behind the end of what is committed: of those every eighth is taken for the last.
        inside = any(isinstance(each, tuple) and each[0] < end for each in (event, before))
        if n and number % (EACH if inside else 8 * EACH) == 0:
            holds(disk.bytes, n)
        disk.apply(event)


def test_a_machine_that_loses_its_power_leaves_all_that_was_committed(run: Run) -> None:
    log, holds = run
    rng = np.random.default_rng(3)
    synced, waiting = Disk(), list[tuple[int, bytes] | int]()
    for number, n in promised(log):
        event = log.events[number]
        if n and number % (3 * EACH) == 0:
            disk = Disk()
            disk.bytes = bytearray(synced.bytes)
            for each in waiting:
                if isinstance(each, int) or rng.integers(2):
                    disk.apply(each)
            holds(disk.bytes, n, rows=False)  # the last chunk of sparse rows is written again
        if event is None:
            for each in waiting:
                synced.apply(each)
            waiting = []
        else:
            waiting.append(event)


def test_our_own_readers_take_a_file_whose_commit_ended_between_two_datasets(run: Run, tmp_path: Path) -> None:
    log, _ = run
    shape = (8, 32)
    disk, path, uneven = Disk(), tmp_path / "left.h5", 0
    for number, n in promised(log):
        event = log.events[number]
        disk.apply(event)
        if not n or number % 2 or not isinstance(event, tuple) or event[1][:4] not in (b"OHDR", b"OCHK"):
            continue
        path.write_bytes(disk.bytes)
        with h5py.File(path) as file:
            received = "entry" in file
            places = ("entry/data", "entry/result_1") if received else ("/",)
            lengths = {len(found) for place in places for found in file[place].values()}
        uneven += len(lengths) > 1
        if received:
            with VerdictFile(path) as verdicts, RankFile(path) as rank:
                numbers = verdicts.numbers
                assert len(verdicts.counts[10]) == len(rank.numbers) == len(rank.record("peaks")) == len(numbers)
            with h5py.File(path) as file:
                check_rows(file, len(numbers), shape)
        else:
            with RawFrames(path) as frames, RecordedFile(path) as recorded:
                numbers = recorded.records()["frame_number"]
                assert frames.n_good == recorded.n_frames == len(frames.records()["holes"]) == len(numbers)
        with h5py.File(path) as file:
            left = unended(file)
        assert len(numbers) == (left.frames if left else log.total), "a file that says it was ended has all frames"
        assert n <= len(numbers) <= min(lengths)
        assert received or len(numbers) == min(lengths)
        assert (numbers == np.arange(len(numbers))).all()
    assert uneven > 20
