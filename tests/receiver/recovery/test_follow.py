"""Files are read by other programs while they grow: by `follow`, and by silx, which viewers open files with."""

import os
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import h5py
import numpy as np
import pytest
import silx.io

from framelane.base.claim import Claim
from framelane.base.errors import ConfigError, InputError
from framelane.files.series import Series
from framelane.receiver import follow
from framelane.receiver.pipeline.raw_words import RawWords
from framelane.receiver.ring.receiver import ReceivedFrame
from framelane.receiver.sinks import judged_frames
from framelane.receiver.sinks.hdf5 import Hdf5Sink
from framelane.session.session import Session

MOST = 10


@pytest.fixture
def series(
    tmp_path: Path, make_session: Callable[..., Session], monkeypatch: pytest.MonkeyPatch
) -> Iterator[Series[Hdf5Sink]]:
    """A run that goes on in another file every 10 frames."""
    monkeypatch.setattr(judged_frames, "MOST_CHUNKS", MOST)
    session = make_session(rows=4, columns=32)

    def make(path: Path | Claim, before: Hdf5Sink | None) -> Hdf5Sink:
        return Hdf5Sink(path, session, before=before)

    made = Series(tmp_path / "frames.h5", make)
    yield made
    made.leave()


def write(series: Series[Hdf5Sink], numbers: range) -> None:
    for number in numbers:
        words = np.full((4, 32), number, np.uint16)
        with series.changing() as file:
            file.write(ReceivedFrame(number, 0, words, number % 2, (None,)), RawWords()(words))


def test_frames_are_followed_from_file_to_file_until_the_run_ends(tmp_path: Path, series: Series[Hdf5Sink]) -> None:
    asked = [threading.Event() for _ in range(4)]

    def run() -> None:
        for turn, start in enumerate(asked):
            start.wait(30)
            write(series, range(8 * turn, 8 * turn + 8))
            series.current.commit()
        series.close()

    writer = threading.Thread(target=run)
    writer.start()
    asked[0].set()
    numbers = []
    for frame in follow(tmp_path / "frames.h5", idle=30):
        assert (frame.image == frame.number).all()
        assert frame.index == frame.number == frame.record["frame_number"]
        numbers.append(frame.number)
        if frame.number % 8 == 7 and frame.number < 31:  # the next are written when these were seen
            asked[frame.number // 8 + 1].set()
    writer.join()
    assert numbers == list(range(32))


def test_a_writer_that_was_killed_is_not_waited_for(tmp_path: Path, series: Series[Hdf5Sink]) -> None:
    write(series, range(3))
    series.current.commit()
    assert len([*follow(tmp_path / "frames.h5", idle=0.3)]) == 3
    assert [*follow(tmp_path / "nosuch.h5", idle=0.2)] == []


def test_what_holds_no_frames_is_a_sentence(tmp_path: Path, small_file: Path) -> None:
    (tmp_path / "text.h5").write_text("no")
    with pytest.raises(InputError, match=r"text\.h5 is damaged or not an HDF5 file"):
        next(follow(tmp_path / "text.h5"))
    with pytest.raises(ConfigError, match="idle 0 is too short"):
        next(follow(tmp_path / "text.h5", idle=0))


def test_silx_opens_every_file_of_a_run_that_grows(tmp_path: Path, series: Series[Hdf5Sink]) -> None:
    write(series, range(2 * MOST + 3))
    series.current.commit()
    assert len([*tmp_path.glob("*.h5")]) == 4
    with silx.io.open(os.fspath(tmp_path / "frames.h5")) as file:
        assert file["entry/data/data"].shape == (2 * MOST + 3, 4, 32)
        assert (file["entry/data/data"][-1] == 2 * MOST + 2).all()
    for part in tmp_path.glob("frames_data_*.h5"):
        with silx.io.open(os.fspath(part)) as file, h5py.File(part) as same:
            assert file["entry/data/data"].shape == same["entry/data/data"].shape
