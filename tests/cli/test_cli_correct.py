"""`framelane correct`: recorded frames to photons, and to images of the detector."""

import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import h5py
import hdf5plugin  # noqa: F401  (so that h5py reads compressed datasets)
import numpy as np
import pytest
from numpy.typing import NDArray

from framelane.base.real_time import iso
from framelane.calibration import raw_frames
from framelane.calibration.calibration_file import write_calibration
from framelane.models.jungfrau.jf_calibration import Calibration
from framelane.models.jungfrau.jf_correct import correct_float, correct_int16
from framelane.models.jungfrau.jf_detector import Detector, DetectorConfig
from framelane.models.jungfrau.jf_fixed import quantize
from framelane.models.jungfrau.jf_packet import JfHeader
from framelane.receiver.geometry.assembly import Assembly
from framelane.receiver.geometry.geometry_file import load
from framelane.receiver.jungfrau.detector_frame import DetectorFrame
from framelane.receiver.jungfrau.recorder import Recorder
from nxmx_reader import read_nxmx

RunCli = Callable[..., tuple[int, str, str]]
DETECTOR = Detector(DetectorConfig(seed=2))
RAW = np.stack([DETECTOR.frame(number).raw for number in range(3)])
RAW[1, 40:44] = 0x8000
PACKETS = [128, 127, 128]
TWO = "name = 'two'\nrows = 1040\ncolumns = 1030\n[[module]]\nx = 0\ny = 520\n[[module]]\nx = 0\ny = 0\nmasked = true\n"


def record(path: Path, high_gain: list[bool], cells: tuple[int, ...] | list[int] = (0, 0, 0)) -> None:
    """Write RAW as a recorder does, over what is there."""
    with Recorder(path, 1, force=True) as file:
        for index, (image, packets, high, cell) in enumerate(zip(RAW, PACKETS, high_gain, cells, strict=True)):
            header = JfHeader(5 + index, bunch_id=50 + index, timestamp=10 * index, daq_info=cell << 8 | high)
            file.write(DetectorFrame(5 + index, image, np.array([packets], np.uint16), (header,), 0))


@pytest.fixture
def run(run_cli: RunCli, tmp_path: Path) -> RunCli:
    """Correct RAW to out.h5."""
    record(tmp_path / "raw.h5", [False] * 3)
    write_calibration(tmp_path / "c.h5", DETECTOR.calibration)

    def start(*options: object) -> tuple[int, str, str]:
        (tmp_path / "out.h5").unlink(missing_ok=True)
        files = {"--input": tmp_path / "raw.h5", "--calibration": tmp_path / "c.h5", "--output": tmp_path / "out.h5"}
        return run_cli("correct", *(part for option in files.items() for part in option), *options)

    return start


@pytest.fixture
def image(tmp_path: Path) -> Callable[..., NDArray[Any]]:
    """Read a dataset of out.h5, the images if none is named."""

    def get(name: str = "entry/data/data") -> NDArray[Any]:
        with h5py.File(tmp_path / "out.h5") as file:
            return np.asarray(file[name][()])

    return get


def test_photons_are_those_of_the_model_with_what_is_known_of_each_frame(run: RunCli, image: Any) -> None:
    status, out, err = run()
    assert (status, err) == (0, "")
    assert "3 frames corrected" in out
    assert image().dtype == np.int16
    assert (image() == correct_int16(RAW, quantize(DETECTOR.calibration))).all()
    assert (image()[1, 40:44] == -32768).all()
    assert image("entry/data/frame_number").tolist() == [5, 6, 7]
    assert image("entry/data/bunch_id").tolist() == [50, 51, 52]
    assert image("entry/data/timestamp_ns").tolist() == [0, 1000, 2000]
    assert image("entry/data/holes").tolist() == [0, 4096, 0]
    mask = image("entry/instrument/detector/pixel_mask")
    assert ((mask == 2) == ~DETECTOR.calibration.usable[0]).all()


NOW = 1_730_000_000_000_000_000, 1_730_000_001_000_000_000, 1_730_000_002_500_000_000
FIRST, LAST = "2024-10-27T03:33:20Z", "2024-10-27T03:33:22.500000Z"


@pytest.mark.parametrize(
    ("attributes", "stamps", "options", "wanted"),
    [
        ({"begun": FIRST, "ended": LAST}, None, (), [(FIRST, "the recording"), (LAST, "the recording")]),
        ({"begun": FIRST}, None, (), [(FIRST, "the recording"), None]),
        (
            {"begun": FIRST},
            NOW,
            (),
            [(FIRST, "the recording"), (LAST, "the first and the last timestamp_ns, utc or tai")],
        ),
        ({}, NOW, (), [(at, "the first and the last timestamp_ns, utc or tai") for at in (FIRST, LAST)]),
        (
            {},
            [at + 37_000_000_000 for at in NOW],
            ("--clock", "tai"),
            [(at, "the first and the last timestamp_ns, tai") for at in (FIRST, LAST)],
        ),
        ({}, NOW, ("--clock", "own"), None),
        ({}, None, (), None),
    ],
)
def test_times_are_those_of_the_frames_where_the_input_knows_them(
    run: RunCli, tmp_path: Path, attributes: dict[str, str], stamps: Any, options: Any, wanted: Any
) -> None:
    """As of a recording that was ended, of one that was killed, and of files of others."""
    with h5py.File(tmp_path / "raw.h5", "r+") as file:
        for name in ("begun", "ended"):
            del file.attrs[name]
        file.attrs.update(attributes)
        if stamps:
            file["timestamp_ns"][:] = stamps
    before = iso(time.time_ns())
    assert run(*options)[0] == 0
    with h5py.File(tmp_path / "out.h5") as file:
        entry = file["entry"]
        found = [
            (entry[n].asstr()[()], entry[n].attrs["by"]) if n in entry else None for n in ("start_time", "end_time")
        ]
        estimate = entry["end_time_estimated"].asstr()[()]
    if wanted:
        assert found == wanted
        assert estimate == (wanted[1] or wanted[0])[0]
    else:
        assert all(each and each[0] > before and each[1].startswith("the correction: the input") for each in found)


def test_floats_have_limits_outside_of_which_no_value_is(run: RunCli, tmp_path: Path) -> None:
    """By the lines of examples/integrate.py."""
    for option in ("--output-type", "--photons-as"):
        assert run(option, "float32")[0] == 0
        with h5py.File(tmp_path / "out.h5") as file:
            photons, known = file["entry/data/data"][()], file["entry/instrument/detector"]
            good = (photons >= known["underload_value"][()]) & (photons <= known["saturation_value"][()])
        assert (good == (correct_float(RAW, DETECTOR.calibration).codes == 0)).all()
        assert 0 < good.sum() < good.size


def test_energies_are_photons_times_the_photon_energy(run: RunCli, image: Any) -> None:
    assert run("--output-type", "float32", "--unit", "keV")[0] == 0
    reference = correct_float(RAW, DETECTOR.calibration, "keV")
    assert image().dtype == np.float32
    assert (np.isnan(image()) == (reference.codes != 0)).all()
    assert np.nanmax(np.abs(image() - reference.values)) < 0.05
    assert run("--unit", "keV")[0] == 0
    valid = reference.codes == 0
    assert np.abs(image() - reference.values.clip(-32700, 32700))[valid & (reference.values < 1000)].max() < 2


@pytest.mark.parametrize("mode", [None, "keep", "mask", "split"])
def test_modules_are_assembled(run: RunCli, image: Any, mode: Any) -> None:
    options = () if mode is None else ("--double-pixels", mode)
    assert run("--geometry", "jungfrau_500k", *options)[0] == 0
    assembly = Assembly(load("jungfrau_500k"), mode or "keep")
    assert (image() == assembly(correct_int16(RAW, quantize(DETECTOR.calibration)))).all()
    usable = DETECTOR.calibration.usable[0]
    assert (image("entry/instrument/detector/pixel_mask") == assembly.pixel_mask(usable)).all()


def test_corrected_images_are_nxmx_where_the_experiment_is_known(run: RunCli, image: Any, tmp_path: Path) -> None:
    assert run("--geometry", "jungfrau_500k")[0] == 0
    with h5py.File(tmp_path / "out.h5") as file:
        assert "definition" not in file["entry"]
        assert file["entry/data/timestamp_ns"].attrs["epoch"].startswith("none")
    known = "--distance", 90, "--beam-x", 515, "--beam-y", 257, "--material", "Si", "--thickness", 320
    assert run("--geometry", "jungfrau_500k", "--double-pixels", "split", "--photons-as", "uint16", *known)[0] == 0
    read = read_nxmx(tmp_path / "out.h5")
    assert read["wavelength"] == pytest.approx(12.398419843320026 / DETECTOR.calibration.photon_energy_kev)
    (panel,) = read["panels"]
    assert (panel["origin"], panel["size"]) == ((0, 0), (514, 1030))
    assert panel["corner"] == pytest.approx([515 * 0.075, 257 * 0.075, 90])
    assert image().dtype == np.uint16
    low, high = read["trusted"]
    bad = (read["mask"] & 0xFFFF != 0) | (image() < low) | (image() > high)
    photons = Assembly(load("jungfrau_500k"), "split")(correct_int16(RAW, quantize(DETECTOR.calibration)))
    assert (bad == ((photons < -32700) | (photons > 32700))).all()
    assert (image()[~bad] == photons[~bad].clip(0)).all()


def test_a_geometry_of_the_users_own_is_followed(run: RunCli, image: Any, tmp_path: Path) -> None:
    text = "name = 'mine'\nrows = 1040\ncolumns = 600\n[[module]]\nx = 50\ny = 7\nrotate = 180\nflip = 'columns'\n"
    (tmp_path / "mine.toml").write_text(text)
    assert "module 0 at x = 50, y = 7 takes 514 rows" in run("--geometry", tmp_path / "mine.toml")[2]
    (tmp_path / "mine.toml").write_text(text.replace("180", "90"))
    assert run("--geometry", tmp_path / "mine.toml", "--output-type", "float32")[0] == 0
    assert image().shape == (3, 1040, 600)
    corrected = correct_float(RAW[0], DETECTOR.calibration).values
    # Flipped, and turned clockwise: the last pixel of a row comes first, and rows become columns from the right.
    for row, column in ((0, 0), (10, 1000), (500, 20)):
        y, x = 7 + 1029 - (column + 2 * (column // 256)), 50 + 513 - (row + 2 * (row // 256))
        assert image()[0, y, x] == pytest.approx(corrected[row, column], abs=1e-3)
    assert np.isnan(image()[:, :7]).all()


def test_frames_in_several_batches_are_all_corrected_once(
    run: RunCli, image: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(raw_frames, "BATCH_BYTES", 2 * RAW[0].nbytes)
    assert run()[0] == 0
    assert (image() == correct_int16(RAW, quantize(DETECTOR.calibration))).all()


def test_any_file_with_raw_words_will_do(run: RunCli, image: Any, tmp_path: Path) -> None:
    with h5py.File(tmp_path / "plain.h5", "w") as file:
        file["raw"] = RAW[:1].astype(">u2")
    assert run("--input", tmp_path / "plain.h5")[0] == 0
    assert (image() == correct_int16(RAW[:1], quantize(DETECTOR.calibration))).all()


def test_frames_in_high_gain_need_a_calibration_of_the_high_gain(run: RunCli, image: Any, tmp_path: Path) -> None:
    record(tmp_path / "raw.h5", [True] * 3)
    status, _, err = run()
    assert status == 2
    assert "has no calibration of the high gain" in err
    normal = DETECTOR.calibration
    high = Calibration(normal.pedestal, normal.gain, normal.photon_energy_kev, ~normal.usable, high_gain=True)
    write_calibration(tmp_path / "c.h5", high, force=True)
    assert run()[0] == 0
    assert (image() == correct_int16(RAW, quantize(high))).all()


def test_the_mode_of_a_recording_chooses_the_calibration(
    run: RunCli, image: Any, tmp_path: Path, write_both: Callable[[Path, Calibration], None]
) -> None:
    normal = DETECTOR.calibration
    write_both(tmp_path / "c.h5", normal)
    high = replace(normal, pedestal=normal.pedestal + 100.0, mask=~normal.usable, high_gain=True)
    for mode, calibration in (("normal", normal), ("hg0", high)):
        record(tmp_path / "raw.h5", [calibration.high_gain] * 3)
        assert run()[0] == 0
        assert (image() == correct_int16(RAW, quantize(calibration))).all()
        with h5py.File(tmp_path / "plain.h5", "w") as file:
            file["raw"] = RAW
        status, _, err = run("--input", tmp_path / "plain.h5")
        assert status == 2
        assert "c.h5 is for both gain modes" in err
        assert run("--input", tmp_path / "plain.h5", "--gain-mode", mode)[0] == 0
        assert (image() == correct_int16(RAW, quantize(calibration))).all()


def test_frames_of_the_acquisition_are_corrected_but_for_the_bad_ones(run: RunCli, image: Any, tmp_path: Path) -> None:
    with h5py.File(tmp_path / "psi.h5", "w") as file:
        file["data/JF01T01V01/data"] = RAW
        file["data/JF01T01V01/is_good_frame"] = np.array([[1], [0], [1]])
        file["data/JF01T01V01/daq_rec"] = np.zeros((3, 1), np.int64)
    status, out, _ = run("--input", tmp_path / "psi.h5")
    assert status == 0
    assert "2 frames corrected, 1 left out whose is_good_frame is 0" in out
    assert (image() == correct_int16(RAW[::2], quantize(DETECTOR.calibration))).all()


def test_received_raw_frames_are_corrected_with_their_records(run: RunCli, image: Any, tmp_path: Path) -> None:
    numbers = np.array([1 << 63, 6, 7], np.uint64)
    with h5py.File(tmp_path / "recv.h5", "w") as file:
        file["entry/data/data"], file["entry/data/bunch_id"] = RAW, numbers
        file["other/frames"] = RAW[:1]
    assert run("--input", tmp_path / "recv.h5")[0] == 0
    assert (image() == correct_int16(RAW, quantize(DETECTOR.calibration))).all()
    assert image("entry/data/bunch_id").tolist() == numbers.tolist()
    assert run("--input", tmp_path / "recv.h5", "--dataset", "/other/frames")[0] == 0
    assert (image() == correct_int16(RAW[:1], quantize(DETECTOR.calibration))).all()


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (("--double-pixels", "split"), "--double-pixels is for assembled images: give --geometry as well"),
        (("--geometry", "jungfrau_4m"), "frames of 512 x 1024 pixels do not fit the geometry 'JUNGFRAU 4M'"),
        (("--geometry", "two.toml"), "frames of 512 x 1024 pixels do not fit the geometry 'two', whose 2 modules"),
        (("--geometry", "nosuch.toml"), "cannot read the geometry nosuch.toml"),
        (("--calibration", "small.h5"), "small.h5 is for 8 x 8 pixels, the frames of raw.h5 have 512 x 1024"),
        (("--calibration", "raw.h5"), "raw.h5 has no dataset pedestal_adu"),
        (("--input", "c.h5"), "c.h5 has no dataset raw: needed is raw, entry/data/data or data/<detector>/data"),
        (("--dataset", "entry/raw"), "raw.h5 has no dataset entry/raw"),
        (("--gain-mode", "hg0"), "raw.h5 says that its gain mode is normal, not hg0: leave out --gain-mode"),
        (("--input", "cells.h5"), "cells.h5 has frames of the storage cells 0, 3, each of which has its own pedestals"),
        (("--input", "cells.h5", "--dataset", "/raw"), "cells.h5 has frames of the storage cells 0, 3"),
        (("--input", "nosuch.h5"), "there is no file nosuch.h5"),
        (("--input", "mixed.h5"), "mixed.h5 has frames in high gain and others: record them apart"),
        (("--output", "raw.h5"), "it is an input of this run"),
        (("--output", "nowhere/out.h5"), "cannot write nowhere/out.h5"),
    ],
)
def test_what_cannot_be_is_one_sentence_and_leaves_nothing_behind(
    run: RunCli,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    make_calibration: Callable[..., Calibration],
    options: tuple[str, str],
    sentence: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    write_calibration(tmp_path / "small.h5", make_calibration((8, 8)))
    record(tmp_path / "mixed.h5", [True, False, True])
    record(tmp_path / "cells.h5", [False] * 3, [0, 0, 3])
    (tmp_path / "two.toml").write_text(TWO)
    before = sorted(tmp_path.iterdir())
    status, _, err = run("--input", "raw.h5", *options)
    assert status == 2
    assert sentence in err
    assert err.count("\n") == 1
    assert sorted(tmp_path.iterdir()) == before


def test_a_frame_that_is_damaged_leaves_nothing_behind(run: RunCli, tmp_path: Path) -> None:
    with h5py.File(tmp_path / "raw.h5", "r+") as file:
        words = file["raw"][()]
        del file["raw"]
        dataset = file.create_dataset("raw", data=words, chunks=(1, 512, 1024), fletcher32=True)
        offset = dataset.id.get_chunk_info(2).byte_offset
    data = bytearray((tmp_path / "raw.h5").read_bytes())
    data[offset] ^= 1
    (tmp_path / "raw.h5").write_bytes(data)
    status, _, err = run()
    assert status == 2
    assert "cannot read frames 0 to 2 of raw" in err
    assert not (tmp_path / "out.h5").exists()
