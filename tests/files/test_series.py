"""Files that go on in others: one file shows all frames, at any moment, and whatever ends the run."""

import errno
import resource
import threading
import time
from collections.abc import Callable
from pathlib import Path

import h5py
import numpy as np
import pytest

from framelane.base.claim import Claim
from framelane.base.errors import InputError
from framelane.files import series as series_of_files
from framelane.files.series import Series
from framelane.models.peaks.peak_settings import PeakSettings
from framelane.receiver.pipeline.judging import Judging
from framelane.receiver.pipeline.result import Counts, Result, SparseRows
from framelane.receiver.pipeline.veto import Reason, Verdict
from framelane.receiver.ring.receiver import ReceivedFrame
from framelane.receiver.sinks import judged_frames
from framelane.receiver.sinks.hdf5 import Hdf5Sink
from framelane.receiver.sinks.verdict_file import VerdictFile
from framelane.session.session import Session
from made_peaks import check_peaks, made_peaks

MOST = 7
Begin = Callable[[], Series[Hdf5Sink]]


@pytest.fixture
def no_commit_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("framelane.files.growing_hdf5.COMMIT_S", 1e6)


@pytest.fixture
def session(make_session: Callable[..., Session]) -> Session:
    return make_session(rows=4, columns=32)


@pytest.fixture
def begin(tmp_path: Path, session: Session, monkeypatch: pytest.MonkeyPatch) -> Begin:
    monkeypatch.setattr(judged_frames, "MOST_CHUNKS", MOST)

    def make(path: Path | Claim, before: Hdf5Sink | None) -> Hdf5Sink:
        judging = Judging(sparse=1, rungs=(1, 2), bragg=PeakSettings(limit=3))
        return Hdf5Sink(path, session, photon_energy_kev=12.4, judging=judging, sparse=True, before=before)

    return lambda: Series(tmp_path / "frames.h5", make)


def write(series: Series[Hdf5Sink], number: int) -> None:
    pixels = np.full((4, 32), number % 1000, np.int16)
    pixels[0] = 0
    rows = SparseRows(np.array([0, 0, 2, 4, 5]), np.arange(5, dtype=np.int32), np.full(5, number % 1000, np.int16))
    verdict = Verdict(number, 10, 0, Reason.ENOUGH_PEAKS)
    frame = ReceivedFrame(number, 0, pixels.view(np.uint16), 0, (None,))
    with series.changing() as file:
        counts, rungs = Counts(0, 0, 0, 0, number), np.array([number, number])
        file.write(frame, Result(pixels, counts, verdict, rows, rungs, made_peaks(number)))


def check(path: Path, n: int) -> None:
    with h5py.File(path) as file:
        data, sparse = file["entry/data"], file["entry/sparse"]
        assert data["data"].shape == (n, 4, 32)
        assert (data["data"][:, 1, 1] == np.arange(n) % 1000).all()
        for name in ("frame_number", "peaks"):
            assert (data[name][()] == np.arange(n)).all()
        assert (data["ladder"][:, 1] == np.arange(n)).all()
        assert h5py.check_enum_dtype(data["reason"].dtype) == {reason.name: reason.value for reason in Reason}
        assert data["data"].attrs["code_hole"] == -32768
        assert data["data"].fillvalue == -32768
        check_peaks(file, range(n))
        assert sparse.attrs["first_value"] == 0, "pointers count through all files"
        assert (sparse.attrs["threshold"], sparse.attrs["threshold_units"]) == (1, "photons")
        for f in range(n):
            pointers = sparse["pointers"][f]
            assert (pointers - pointers[0]).tolist() == [0, 0, 2, 4, 5]
            assert (sparse["values"][pointers[0] : pointers[-1]] == f % 1000).all()
        assert file["entry"].attrs["NX_class"] == "NXentry"
        assert file.attrs["default"] == "entry"


@pytest.mark.parametrize("n", [1, MOST, MOST + 1, 3 * MOST, 3 * MOST + 2])
def test_one_file_shows_the_frames_of_all(tmp_path: Path, begin: Begin, n: int) -> None:
    with begin() as series:
        for number in range(n):
            write(series, number)
    check(tmp_path / "frames.h5", n)
    parts = (n - 1) // MOST + 1
    names = [f"frames_data_{k:06}.h5" for k in range(1, parts + 1)] if parts > 1 else []
    assert sorted(path.name for path in tmp_path.iterdir()) == ["frames.h5", *names]
    with h5py.File(tmp_path / "frames.h5") as file:
        assert "end_time" in file["entry"]
    with VerdictFile(tmp_path / "frames.h5") as verdicts:
        assert len(verdicts.numbers) == n


def test_the_file_can_be_read_while_it_grows(tmp_path: Path, begin: Begin) -> None:
    path, n, begun = tmp_path / "frames.h5", 0, set[bytes]()
    with begin() as series:
        for _ in range(12):
            for _ in range(3):
                write(series, n)
                n += 1
            series.current.commit()
            check(path, n)
            with h5py.File(path) as file:
                assert "end_time" not in file["entry"]
                begun.add(file["entry/start_time"][()])
            with h5py.File(path, swmr=True) as file:
                assert len(file["entry/data/data"]) == n
    assert len(begun) == 1


@pytest.mark.usefixtures("no_commit_of_its_own")
def test_parts_that_are_full_before_a_commit_are_shown_all_the_same(tmp_path: Path, begin: Begin) -> None:
    series = begin()
    for number in range(3 * MOST + 1):
        write(series, number)
    check(tmp_path / "frames.h5", 3 * MOST)
    series.leave()


@pytest.mark.usefixtures("no_commit_of_its_own")
def test_what_is_left_as_it_was_committed_has_all_of_that(tmp_path: Path, begin: Begin) -> None:
    series = begin()
    for number in range(2 * MOST + 3):
        write(series, number)
    series.current.commit()
    write(series, 2 * MOST + 3)
    series.leave()
    check(tmp_path / "frames.h5", 2 * MOST + 3)


def test_an_error_leaves_no_part_behind(tmp_path: Path, begin: Begin) -> None:
    series = begin()
    for number in range(2 * MOST + 3):
        write(series, number)
    series.current.commit()
    series.discard()
    assert not list(tmp_path.iterdir())
    assert "commit" not in [thread.name for thread in threading.enumerate()]


def test_the_frame_that_began_a_part_can_be_taken_out_again(tmp_path: Path, begin: Begin) -> None:
    with begin() as series:
        for number in range(MOST + 1):
            write(series, number)
        series.current.retract()
    check(tmp_path / "frames.h5", MOST)


def test_a_part_replaces_no_file_that_came_meanwhile(tmp_path: Path, begin: Begin) -> None:
    series = begin()
    (tmp_path / "frames_data_000002.h5").write_bytes(b"mine")
    for number in range(MOST):
        write(series, number)
    with pytest.raises(InputError, match=r"frames_data_000002\.h5: there is a file of this name"):
        write(series, MOST)
    assert series.stopped
    series.close()
    assert (tmp_path / "frames_data_000002.h5").read_bytes() == b"mine"
    check(tmp_path / "frames.h5", MOST)


def test_parts_of_an_older_file_are_refused_before_any_work_and_go_with_it_by_force(
    tmp_path: Path, begin: Begin
) -> None:
    with begin() as series:
        for number in range(3 * MOST):
            write(series, number)
    (tmp_path / "frames.h5").unlink()
    with pytest.raises(InputError, match=r"frames_data_000001\.h5 is a part of an older file of this name: give anoth"):
        begin()
    with Series(tmp_path / "frames.h5", series._make, force=True) as series:
        write(series, 0)
        assert len(series_of_files.parts_of(tmp_path / "frames.h5")) == 3, "until there is a new one"
    assert [path.name for path in tmp_path.iterdir()] == ["frames.h5"]
    check(tmp_path / "frames.h5", 1)


def test_a_part_that_cannot_be_begun_costs_nothing_of_those_before(
    tmp_path: Path, begin: Begin, monkeypatch: pytest.MonkeyPatch
) -> None:
    series = begin()
    for number in range(2 * MOST):
        write(series, number)

    def full(self: Hdf5Sink, path: Path) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Hdf5Sink, "_open", full)
    with pytest.raises(InputError, match=r"frames_data_000003\.h5: No space left on device"):
        write(series, 2 * MOST)
    assert "No space left on device" in str(series.stopped)
    series.close()
    series.leave()
    check(tmp_path / "frames.h5", 2 * MOST)
    with h5py.File(tmp_path / "frames.h5") as file:
        assert "end_time" in file["entry"], "it is ended as any other"
    assert len(list(tmp_path.iterdir())) == 3


def test_a_link_that_fails_is_made_with_the_next_commit(
    tmp_path: Path, begin: Begin, monkeypatch: pytest.MonkeyPatch
) -> None:
    series = begin()
    for number in range(MOST + 1):
        write(series, number)
    made = series_of_files.link

    def fails(*arguments: object, **options: object) -> None:
        monkeypatch.setattr(series_of_files, "link", made)
        raise InputError("no room")

    monkeypatch.setattr(series_of_files, "link", fails)
    series.current.commit()
    check(tmp_path / "frames.h5", MOST)
    write(series, MOST + 1)
    series.current.commit()
    check(tmp_path / "frames.h5", MOST + 2)
    series.leave()


def test_a_file_that_cannot_be_begun_leaves_nothing_behind(tmp_path: Path, session: Session) -> None:
    with pytest.raises(AttributeError):
        Hdf5Sink(tmp_path / "frames.h5", session, share=0.5)  # type: ignore[arg-type]
    assert not list(tmp_path.iterdir())
    assert "commit" not in [thread.name for thread in threading.enumerate()]


def test_a_run_of_many_parts_needs_no_more_open_files_than_a_short_one(begin: Begin, tmp_path: Path) -> None:
    """And at the end of a part it opens the one that ended and the first, whatever the number."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    parts = 30
    with begin() as series:
        write(series, 0)
        resource.setrlimit(resource.RLIMIT_NOFILE, (len(list(Path("/proc/self/fd").iterdir())) + 16, hard))
        try:
            for number in range(1, MOST * parts):
                write(series, number)
            series.close()
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert len(series_of_files.parts_of(tmp_path / "frames.h5")) == parts
    check(tmp_path / "frames.h5", MOST * parts)


def test_a_commit_that_fails_by_anything_is_told_to_who_writes(begin: Begin, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(self: Hdf5Sink) -> None:
        raise MemoryError("none left")

    monkeypatch.setattr(Hdf5Sink, "_complete", fails)
    series = begin()
    write(series, 0)
    end = time.monotonic() + 20
    while not series.current._disk.error:
        assert time.monotonic() < end
        time.sleep(0.02)
    with pytest.raises(InputError, match="could not be committed: none left"):
        series.current.check()
    series.leave()
