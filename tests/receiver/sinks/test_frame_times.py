"""What a file says of its frames' times: per frame what each is worth, and once since when they count."""

from collections.abc import Callable, Collection
from pathlib import Path

import h5py
import numpy as np
import pytest

from framelane.calibration.raw_frames import RawFrames
from framelane.models.placement.trailer import Trailer
from framelane.models.time.time_flags import MASKS, TimeFlags, TimeSource
from framelane.receiver.pipeline.corrected import CorrectedImages
from framelane.receiver.pipeline.judging import Judging
from framelane.receiver.pipeline.raw_words import RawWords
from framelane.receiver.ring.receiver import ReceivedFrame
from framelane.receiver.sinks.file_options import FileOptions
from framelane.receiver.sinks.hdf5 import Hdf5Sink
from framelane.session.metadata import Metadata
from framelane.session.session import Session

MakeSession = Callable[..., Session]
NOW_NS = 1_780_000_000_000_000_000
"""In 2026."""
LOCKED = TimeFlags(stamped=True, locked=True, source=TimeSource.PTP, utc_known=True, tai_utc=37, accuracy=0x21)
FREE = TimeFlags(stamped=True, accuracy=0xFE)


def write(
    path: Path, session: Session, flags: TimeFlags, first_ns: int, clock: str | None = None, lost: Collection[int] = ()
) -> Path:
    """Three frames of these flags; the trailers of those that are `lost` did not come."""
    shape = session.rows, session.columns
    make = RawWords(1) if session.pixels == "raw" else CorrectedImages(shape, Judging())
    with Hdf5Sink(path, session, options=FileOptions(metadata=Metadata(clock=clock))) as sink:
        for number in range(3):
            words = np.zeros(shape, np.uint16)
            end = Trailer(0, 0, number, first_ns + number, 5, session.image_bytes, 1, 0, number, flags.pack())
            sink.write(ReceivedFrame(number, 0, words, 0, (None if number in lost else end,)), make(words))
    return path


@pytest.mark.parametrize(
    ("first_ns", "flags", "clock", "said"),
    [
        (NOW_NS, LOCKED, None, "tai"),
        (NOW_NS, LOCKED, "utc", "tai"),
        (NOW_NS, FREE, None, "tai"),
        (77, FREE, "tai", "own"),
        (NOW_NS, TimeFlags(locked=True), "utc", "utc"),
    ],
)
def test_a_stamp_s_flags_say_its_clock_whatever_else_is_said(
    tmp_path: Path, make_session: MakeSession, first_ns: int, flags: TimeFlags, clock: str | None, said: str
) -> None:
    path = write(tmp_path / "frames.h5", make_session(pixels="corrected"), flags, first_ns, clock)
    with h5py.File(path) as file:
        stamps = file["entry/data/timestamp_ns"].attrs
        assert (stamps["clock"], stamps["epoch"][:4]) == (said, "none" if said == "own" else "1970")
        assert stamps["clock_known_by"] == ("time_flags of the first frame" if flags.stamped else "metadata")
        assert stamps.get("tai_minus_utc_s") == (37 if flags.utc_known else None)
        assert file["entry/data/time_flags"][()].tolist() == [flags.pack()] * 3


def test_the_first_frame_whose_time_came_says_the_clock(tmp_path: Path, make_session: MakeSession) -> None:
    path = write(tmp_path / "frames.h5", make_session(pixels="corrected"), LOCKED, NOW_NS, lost=[0])
    with h5py.File(path) as file:
        assert file["entry/data/timestamp_ns"].attrs["clock"] == "tai"
        assert file["entry/data/time_flags"][()].tolist() == [0, LOCKED.pack(), LOCKED.pack()]


def test_the_fields_of_the_word_are_named_beside_it(tmp_path: Path, make_session: MakeSession) -> None:
    path = write(tmp_path / "frames.h5", make_session(pixels="corrected"), LOCKED, NOW_NS)
    with h5py.File(path) as file:
        named = file["entry/data/time_flags"].attrs
        assert dict(zip(named["flag_meanings"].split(), named["flag_masks"].tolist(), strict=True)) == MASKS


def test_frames_of_tai_were_taken_37_s_earlier_in_utc(tmp_path: Path, make_session: MakeSession) -> None:
    path = write(tmp_path / "frames.h5", make_session(), LOCKED, NOW_NS)
    with h5py.File(path, "r+") as file:
        del file["entry/start_time"], file["entry/end_time"]
    with RawFrames(path) as frames:
        taken = frames.taken()
        assert taken is not None
        assert taken.start == "2026-05-28T20:26:03Z"
        assert frames.records()["time_flags"].tolist() == [LOCKED.pack()] * 3
