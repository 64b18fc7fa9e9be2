"""A flipped bit in a compressed chunk of our files is one sentence: it never reaches the plugin, which may crash."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest

from framelane.base.errors import InputError
from framelane.calibration.calibration_file import CalibrationFile, write_calibration
from framelane.calibration.raw_frames import RawFrames
from framelane.models.jungfrau.jf_calibration import Calibration
from framelane.models.jungfrau.jf_packet import JfHeader
from framelane.models.peaks.peak_settings import PeakSettings
from framelane.receiver.geometry.corrected_file import CorrectedFile
from framelane.receiver.geometry.describe import describe
from framelane.receiver.jungfrau.detector_frame import DetectorFrame
from framelane.receiver.jungfrau.recorder import Recorder
from framelane.receiver.pipeline.corrected import CorrectedImages
from framelane.receiver.pipeline.judging import Judging
from framelane.receiver.pipeline.raw_words import RawWords
from framelane.receiver.ring.receiver import ReceivedFrame
from framelane.receiver.sinks.hdf5 import Hdf5Sink
from framelane.receiver.sinks.pixel_form import form_of
from framelane.session.metadata import Metadata
from framelane.session.session import Session

MODULE = np.random.default_rng(3).integers(2300, 2500, (512, 1024), np.uint16)


def refuse_flips(path: Path, name: str, read: Callable[[], object]) -> None:
    """Flip a bit of the first chunk, in its data and then in each byte of its header: `read` must refuse each."""
    read()
    with h5py.File(path) as file:
        assert file[name].fletcher32, "what follows would crash"
        chunk = file[name].id.get_chunk_info(0)
    good = path.read_bytes()
    for place in (chunk.size // 2, *range(20)):  # 12 bytes of bitshuffle, 4 of the first block, the first of LZ4
        bad = bytearray(good)
        bad[chunk.byte_offset + place] ^= 0x80
        path.write_bytes(bad)
        with pytest.raises(InputError, match=f"{path.name} is damaged or not an HDF5 file: cannot read "):
            read()


@pytest.mark.parametrize("name", ["pedestal_adu", "gain_adu_per_kev", "mask"])
def test_a_flipped_bit_of_a_calibration(
    tmp_path: Path, make_calibration: Callable[..., Calibration], name: str
) -> None:
    path = tmp_path / "c.h5"
    write_calibration(path, make_calibration((64, 256)))

    def read() -> None:
        with CalibrationFile(path):
            pass

    refuse_flips(path, name, read)


def test_a_flipped_bit_of_a_calibrations_root(tmp_path: Path, make_calibration: Callable[..., Calibration]) -> None:
    write_calibration(tmp_path / "c.h5", make_calibration((64, 256)))
    data = bytearray((tmp_path / "c.h5").read_bytes())
    data[56] ^= 0x80  # the header of the root group follows the 48 bytes of the superblock
    (tmp_path / "c.h5").write_bytes(data)
    with pytest.raises(InputError, match=r"c.h5 is damaged or not an HDF5 file: cannot read high_gain"):
        CalibrationFile(tmp_path / "c.h5")


def test_a_flipped_bit_of_compressed_raw_frames(tmp_path: Path) -> None:
    path = tmp_path / "run.h5"
    with Recorder(path, 1, compress=True) as recorder:
        recorder.write(DetectorFrame(0, MODULE, np.array([128], np.uint16), (JfHeader(0),), 0))

    def read() -> None:
        with RawFrames(path) as frames:
            list(frames.batches())

    refuse_flips(path, "raw", read)


def test_a_flipped_bit_of_received_raw_frames(tmp_path: Path, make_session: Callable[..., Session]) -> None:
    path, session = tmp_path / "frames.h5", make_session()
    image = MODULE.reshape(-1)[: session.rows * session.columns].reshape(session.rows, session.columns)
    with Hdf5Sink(path, session) as sink:
        sink.write(ReceivedFrame(0, 0, image, 0, ()), RawWords()(image))

    def read() -> None:
        with RawFrames(path) as frames:
            list(frames.batches())

    refuse_flips(path, "entry/data/data", read)


@pytest.mark.parametrize(
    "name", ["entry/data/data", "entry/instrument/detector/pixel_mask", "entry/result_1/peakXPosRaw"]
)
def test_a_corrected_file_has_checksums(tmp_path: Path, name: str) -> None:
    judging = Judging(bragg=PeakSettings())
    described = describe(Metadata(), MODULE.shape)
    options: Any = {"records": ["frame_number"], "judging": judging}
    with CorrectedFile(tmp_path / "out.h5", described, form_of(None), **options) as sink:
        sink.write({"frame_number": 0}, CorrectedImages(MODULE.shape, judging)(MODULE))
    with h5py.File(tmp_path / "out.h5") as file:
        assert file[name].fletcher32
