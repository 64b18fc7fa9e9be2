"""Raw frames are found in the files of several writers, and anything else is one sentence."""

from pathlib import Path
from typing import Any

import h5py
import hdf5plugin
import numpy as np
import pytest

from dark_runs import write_frames
from framelane.base.errors import InputError
from framelane.calibration.raw_frames import RawFrames
from framelane.models.jungfrau.jf_packet import JfHeader
from framelane.receiver.jungfrau.detector_frame import DetectorFrame
from framelane.receiver.jungfrau.recorder import Recorder

FRAMES = np.arange(48, dtype=np.uint16).reshape(2, 4, 6)
DAQ = "data/JF07T32V02/data"


@pytest.mark.parametrize("name", ["raw", "entry/data/data", DAQ])
def test_frames_are_found_where_recorders_put_them(tmp_path: Path, name: str) -> None:
    with RawFrames(write_frames(tmp_path / "run.h5", FRAMES, name)) as file:
        assert (file.n_frames, file.rows, file.columns, file.name) == (2, 4, 6, name)
        assert np.array_equal(np.concatenate([batch.words for batch in file.batches()]), FRAMES)
        assert file.high_gain is None


def test_frames_elsewhere_are_read_where_they_are_named(tmp_path: Path) -> None:
    path = write_frames(tmp_path / "run.h5", FRAMES, "data/raw")
    with pytest.raises(InputError, match=r"has no dataset raw: needed is raw, .* or the dataset that is named"):
        RawFrames(path)
    with RawFrames(path, "data/raw") as file:
        assert file.n_frames == 2


@pytest.mark.parametrize("name", ["/raw", "raw/", "//raw", "./raw"])
def test_a_dataset_is_the_same_by_whatever_path(tmp_path: Path, name: str) -> None:
    path = write_frames(tmp_path / "run.h5", FRAMES)
    with h5py.File(path, "r+") as file:
        file["packets"] = np.full((2, 1), 128, np.uint16)
        file["high_gain"] = np.ones((2, 1), np.bool_)
        file["storage_cell"] = np.array([[0], [1]], np.uint8)
    with RawFrames(path, name) as frames:
        assert (frames.name, frames.high_gain, frames.storage_cells) == ("raw", True, [0, 1])


def test_the_root_of_a_file_is_no_dataset(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="/ is not a dataset: Group"):
        RawFrames(write_frames(tmp_path / "run.h5", FRAMES), "/")


def test_compressed_and_big_endian_words_are_read(tmp_path: Path) -> None:
    with h5py.File(tmp_path / "run.h5", "w") as file:
        file.create_dataset("raw", data=FRAMES.astype(">u2"), chunks=(1, 4, 6), **hdf5plugin.Bitshuffle())
    with RawFrames(tmp_path / "run.h5") as frames:
        ((_, batch),) = frames.batches()
        assert batch.dtype == np.dtype("=u2")
        assert np.array_equal(batch, FRAMES)


def test_of_two_detectors_in_a_file_one_has_to_be_named(tmp_path: Path) -> None:
    path = write_frames(tmp_path / "run.h5", FRAMES, DAQ)
    with h5py.File(path, "r+") as file:
        file["data/JF01T03V01/data"] = FRAMES
    with pytest.raises(InputError, match=f"choose with dataset data/JF01T03V01/data or {DAQ}"):
        RawFrames(path)
    with RawFrames(path, DAQ) as frames:
        assert frames.n_frames == 2


@pytest.mark.parametrize("shape", [(2,), (2, 1)])
def test_frames_that_the_acquisition_calls_bad_are_left_out(tmp_path: Path, shape: tuple[int, ...]) -> None:
    path = write_frames(tmp_path / "run.h5", FRAMES, DAQ, is_good_frame=np.array([0, 1]).reshape(shape))
    with RawFrames(path) as file:
        assert (file.n_frames, file.n_good) == (2, 1)
        ((indices, words),) = file.batches()
        assert (indices.tolist(), words.tolist()) == ([1], FRAMES[1:].tolist())


def test_a_run_without_any_good_frame_is_refused(tmp_path: Path) -> None:
    path = write_frames(tmp_path / "run.h5", FRAMES, DAQ, is_good_frame=np.zeros((2, 1), np.int8))
    with pytest.raises(InputError, match="is_good_frame is 0 for each of 2 frames"):
        RawFrames(path)


@pytest.mark.parametrize(
    ("words", "good", "mode"),
    [([0x1001, 0x1001], [1, 1], True), ([0, 0], [1, 1], False), ([0, 1], [1, 1], None), ([0, 1], [0, 1], True)],
)
def test_the_gain_mode_is_that_of_all_good_frames_or_not_known(
    tmp_path: Path, words: list[int], good: list[int], mode: bool | None
) -> None:
    columns = {"daq_rec": np.array(words).reshape(2, 1), "is_good_frame": np.array(good).reshape(2, 1)}
    with RawFrames(write_frames(tmp_path / "run.h5", FRAMES, DAQ, **columns)) as file:
        assert file.high_gain is mode


def test_a_recording_tells_its_gain_mode_storage_cells_and_time_of_the_modules_that_came(tmp_path: Path) -> None:
    path = write_frames(tmp_path / "run.h5", FRAMES)
    with h5py.File(path, "r+") as file:
        file["packets"] = np.array([[128, 0], [128, 5]], np.uint16)
        file["high_gain"] = np.array([[True, False], [True, True]])
        file["storage_cell"] = np.array([[15, 0], [15, 15]], np.uint8)
        file.attrs["begun"] = "2026-01-02T03:04:05+00:00"
    with RawFrames(path) as frames:
        assert frames.high_gain is True
        assert frames.storage_cells == [15]
        assert frames.begun == "2026-01-02T03:04:05+00:00"
    with h5py.File(path, "r+") as file:
        file["high_gain"][1, 1] = False
        file["storage_cell"][1, 1] = 0
    with RawFrames(path) as frames:
        assert frames.high_gain is None
        assert frames.storage_cells == [0, 15]


def test_a_recorder_s_file_is_a_dark_run(tmp_path: Path) -> None:
    header = JfHeader(frame_number=7, daq_info=0x0301)
    frame = DetectorFrame(7, np.full((512, 1024), 2400, np.uint16), np.array([128], np.uint16), (header,), 0)
    with Recorder(tmp_path / "run.h5", modules=1) as recorder:
        recorder.write(frame)
    with RawFrames(tmp_path / "run.h5") as frames:
        assert (frames.n_frames, frames.rows, frames.columns) == (1, 512, 1024)
        assert (frames.high_gain, frames.storage_cells) == (True, [3])
        assert frames.begun


@pytest.mark.parametrize(
    ("beside", "sentence"),
    [
        ({"daq_rec": np.zeros((3, 1), np.int64)}, r"daq_rec has the shape \(3, 1\), needed is \(2, any\)"),
        ({"daq_rec": np.int64(1)}, r"daq_rec has the shape \(\), needed is \(2\)"),
        ({"is_good_frame": np.zeros((2, 1, 1), np.int64)}, "is_good_frame has the shape"),
        ({"is_good_frame": np.ones(2)}, "is_good_frame has the dtype float64, needed is unsigned integers or integers"),
    ],
)
def test_numbers_that_do_not_fit_the_frames_are_refused(tmp_path: Path, beside: dict[str, Any], sentence: str) -> None:
    path = write_frames(tmp_path / "run.h5", FRAMES, DAQ, **beside)
    with pytest.raises(InputError, match=sentence):
        RawFrames(path)


@pytest.mark.parametrize(
    ("frames", "sentence"),
    [
        (np.zeros((0, 4, 6), np.uint16), r"raw has the shape \(0, 4, 6\), needed is \(any, any, any\)"),
        (np.zeros((4, 6), np.uint16), r"raw has the shape \(4, 6\)"),
        (np.zeros((2, 4, 6), np.int16), "raw has the dtype int16, needed is uint16"),
        (np.zeros((2, 4, 6)), "raw has the dtype float64"),
    ],
)
def test_what_are_no_frames_is_refused(tmp_path: Path, frames: Any, sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        RawFrames(write_frames(tmp_path / "run.h5", frames))


@pytest.mark.parametrize("share", [0.0, 0.2, 0.9])
def test_a_truncated_run_is_refused(tmp_path: Path, share: float) -> None:
    path = write_frames(tmp_path / "run.h5", FRAMES)
    path.write_bytes(path.read_bytes()[: int(path.stat().st_size * share)])
    with pytest.raises(InputError, match=r"run.h5 is damaged or not an HDF5 file"):
        RawFrames(path)


def test_a_damaged_frame_is_named_when_it_is_read(tmp_path: Path) -> None:
    path = tmp_path / "run.h5"
    with h5py.File(path, "w") as file:
        dataset = file.create_dataset("raw", data=FRAMES, chunks=(1, 4, 6), fletcher32=True)
        offset = dataset.id.get_chunk_info(1).byte_offset
    data = bytearray(path.read_bytes())
    data[offset] ^= 1
    path.write_bytes(data)
    with RawFrames(path) as frames, pytest.raises(InputError, match=r"run.h5 .*cannot read frames 0 to 1 of raw"):
        list(frames.batches())
