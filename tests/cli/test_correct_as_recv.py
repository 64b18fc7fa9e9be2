"""`framelane correct` judges recorded frames as `framelane recv` does those that it receives: bit for bit."""

import itertools
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
from numpy.typing import NDArray

from framelane.calibration.calibration_file import write_calibration
from framelane.models.jungfrau.jf_correct import correct_float, correct_int16
from framelane.models.jungfrau.jf_detector import Detector, DetectorConfig
from framelane.models.jungfrau.jf_fixed import quantize
from framelane.models.jungfrau.jf_geometry import Geometry, ModulePlace
from framelane.models.jungfrau.jf_scene import Scene
from framelane.models.peaks.peak_finder import Peaks, find_peaks
from framelane.models.peaks.peak_settings import Panel, PeakSettings
from framelane.models.tx import tx
from framelane.packets.pcap import PcapWriter
from framelane.receiver.geometry.assembly import Assembly
from framelane.receiver.geometry.geometry_file import load
from framelane.session.session import Session

RunCli = Callable[..., tuple[int, str, str]]
FRAMES = 5
DETECTOR = Detector(DetectorConfig(seed=3, dark_period=2, scene=Scene(spots=60, overloads=1)))
RAW = np.stack([DETECTOR.frame(number).raw for number in range(FRAMES)])
CALIBRATION = quantize(DETECTOR.calibration)
BRAGG = ("--peaks", "bragg", "--snr", 7, "--minimum-peaks", 10, "--keep-rejected", 0.5, "--keep-seed", 1)
PIXELS = ("--threshold", 15, "--minimum-peaks", 40, "--ladder", "3,30,300")


@pytest.fixture
def received(run_cli: RunCli, tmp_path: Path, make_session: Callable[..., Session]) -> Callable[..., Path]:
    """Receive the frames, some packets of which are lost, as photons or as raw words."""
    session = make_session(rows=512, columns=1024, n_slots=FRAMES, mtu=4096)
    session.save(tmp_path / "session.json")
    write_calibration(tmp_path / "c.h5", DETECTOR.calibration)
    with PcapWriter(tmp_path / "tx.pcap") as capture:
        for number, packet in enumerate(tx([image.tobytes() for image in RAW], session.tx_config())):
            if number not in (260, 261, 256 + 257 + 256):  # of the second frame; the trailer of the third
                capture.write(packet)

    def run(name: str, *options: object) -> Path:
        inputs = "--pcap", tmp_path / "tx.pcap", "--session", tmp_path / "session.json"
        assert run_cli("recv", *inputs, "--output", tmp_path / name, *options)[0] == 0
        return tmp_path / name

    return run


@pytest.fixture
def corrected(run_cli: RunCli, tmp_path: Path) -> Callable[..., Path]:
    """Correct a file of raw frames, each time into another one."""
    number = itertools.count()

    def run(raw: Path, *options: object) -> Path:
        path = tmp_path / f"corrected{next(number)}.h5"
        files = "--input", raw, "--calibration", tmp_path / "c.h5", "--output", path
        status, out, err = run_cli("correct", *files, *options)
        assert (status, err) == (0, ""), err
        assert "rejected" in out or "--minimum-peaks" not in options
        return path

    return run


def contents(group: Any) -> Iterator[tuple[str, Any]]:
    """Name and value of every dataset and attribute of images, records, peaks and sparse rows."""
    for name in ("data", "result_1", "sparse"):
        for child, dataset in group[name].items() if name in group else ():
            yield f"{name}/{child}", dataset[()]
            yield from ((f"{name}/{child}.{key}", value) for key, value in dataset.attrs.items())


@pytest.mark.parametrize("options", [(), PIXELS, (*BRAGG, "--sparse", 8)], ids=["default", "pixels", "bragg"])
def test_what_was_received_raw_is_judged_as_if_it_had_been_corrected_then(
    received: Any, corrected: Any, tmp_path: Path, options: tuple[object, ...]
) -> None:
    live = received("photons.h5", "--calibration", tmp_path / "c.h5", *options)
    later = corrected(received("raw.h5"), *options)
    with h5py.File(live) as one, h5py.File(later) as other:
        these, those = dict(contents(one["entry"])), dict(contents(other["entry"]))
        assert these.keys() == those.keys()
        for name, value in these.items():
            assert np.asarray(value).dtype == np.asarray(those[name]).dtype, name
            assert np.array_equal(value, those[name], equal_nan=np.asarray(value).dtype.kind == "f"), name
        images = one["entry/data"]
        assert images["complete"][:].tolist() == [True, False, False, True, True]
        if options:
            assert len(set(images["reason"][:].tolist())) > 1


def crystfel_peaks(path: Path, frame: int) -> NDArray[np.float32]:
    """X, y and intensity of each peak as libcrystfel reads them (image-hdf5.c: read_peak_count, read_peak_line)."""
    with h5py.File(path) as file:

        def line(name: str, dimensions: int, made: NDArray[Any]) -> NDArray[Any]:
            dataset = h5py.h5d.open(file.id, f"/entry/result_1/{name}".encode())
            space = dataset.get_space()
            assert space.get_simple_extent_ndims() == dimensions
            shape = space.get_simple_extent_dims()
            made = np.empty((1, *shape[1:]), made.dtype)
            space.select_hyperslab((frame, 0)[:dimensions], made.shape)
            kind = h5py.h5t.NATIVE_INT32 if made.dtype.kind == "i" else h5py.h5t.NATIVE_FLOAT
            dataset.read(h5py.h5s.create_simple(made.shape), space, made, kind)
            row: NDArray[Any] = made[0]
            return row

        found = int(line("nPeaks", 1, np.empty(0, np.int32)))
        names = "peakXPosRaw", "peakYPosRaw", "peakTotalIntensity"
        lines = [line(name, 2, np.empty(0, np.float32)) for name in names]
        assert all(len(each) >= found for each in lines)
        return np.stack(lines)[:, :found]


def check_peaks(path: Path, images: NDArray[np.int16], panels: list[Panel] | None = None) -> Peaks:
    """The peaks in the file are those of the model in its images."""
    peaks = find_peaks(images, PeakSettings(), panels)
    described = peaks.described()
    for frame in range(len(images)):
        own = described[described["frame"] == frame]
        wanted = np.stack([own["column"], own["row"], own["intensity"]]).astype(np.float32)
        assert np.array_equal(crystfel_peaks(path, frame), wanted)
    with h5py.File(path) as file:
        table = file["entry/result_1"]
        assert table["nPeaks"][:].tolist() == np.bincount(described["frame"], minlength=len(images)).tolist()
        assert file["entry/data/bragg_peaks"][:].tolist() == peaks.found.tolist()
        behind = np.arange(table["peakXPosRaw"].shape[1]) >= table["nPeaks"][:][:, None]
        assert np.isnan(table["peakTotalIntensity"][:][behind]).all()
        assert (table["peakNPixels"][:][behind] == 0).all()
        assert (table["peakNPixels"][:][~behind] == described["pixels"]).all()
        assert (table["peakMaximumValue"][:][~behind] == described["max_value"]).all()
        assert file["entry/data/bragg_peaks"].attrs["limit"] == table["peakXPosRaw"].shape[1]
    return peaks


@pytest.fixture
def raw(tmp_path: Path) -> Path:
    """The frames alone, with a hole."""
    write_calibration(tmp_path / "c.h5", DETECTOR.calibration)
    with h5py.File(tmp_path / "raw.h5", "w") as file:
        file["raw"] = RAW
        file["raw"][1, 100:110, 200:210] = 0x8000
    return tmp_path / "raw.h5"


def words(raw: Path) -> NDArray[np.uint16]:
    with h5py.File(raw) as file:
        return np.asarray(file["raw"][()])


def test_crystfel_finds_the_peaks_that_the_model_finds(corrected: Any, raw: Path) -> None:
    path = corrected(raw, "--peaks", "bragg")
    peaks = check_peaks(path, correct_int16(words(raw), CALIBRATION))
    assert peaks.found[0] > 20
    assert peaks.found[1] < 5, "a dark frame"


@pytest.mark.parametrize("double_pixels", ["keep", "split"])
def test_assembled_images_are_judged_as_they_are_in_the_file(corrected: Any, raw: Path, double_pixels: Any) -> None:
    path = corrected(
        *(raw, "--peaks", "bragg", "--geometry", "jungfrau_500k", "--double-pixels", double_pixels, "--sparse", 10)
    )
    assembly = Assembly(load("jungfrau_500k"), double_pixels)
    images = assembly(correct_int16(words(raw), CALIBRATION))
    check_peaks(path, images)
    with h5py.File(path) as file:
        data, sparse = file["entry/data"], file["entry/sparse"]
        assert (data["data"][:] == images).all()
        assert data["holes"][:].tolist() == (images == -32768).sum((1, 2)).tolist()
        assert data["masked"][:].tolist() == (images == -32767).sum((1, 2)).tolist()
        assert (sparse.attrs["threshold"], sparse.attrs["threshold_units"]) == (10, "photons")
        for frame, image in enumerate(images):
            pointers = sparse["pointers"][frame]
            assert np.diff(pointers).tolist() == ((image >= 10) & (image <= 32700)).sum(1).tolist()


def test_no_peak_crosses_the_modules_of_a_geometry(corrected: Any, tmp_path: Path) -> None:
    """Two modules that touch, the second turned; a spot across their border is two."""
    places = (ModulePlace(x=0, y=0), ModulePlace(x=0, y=514, rotate=180))
    two = Geometry(name="two", rows=1028, columns=1030, module=places)
    modules = "[[module]]\nx = 0\ny = 0\n[[module]]\nx = 0\ny = 514\nrotate = 180\n"
    (tmp_path / "two.toml").write_text(f"name = 'two'\nrows = 1028\ncolumns = 1030\n{modules}")
    detector = Detector(DetectorConfig(modules=2, seed=3, dark_period=1))
    write_calibration(tmp_path / "c.h5", detector.calibration)
    frame = detector.frame(0).raw
    more = np.uint16(round(41 * 12.4 * 20))
    frame[510:512, 100:102] += more
    frame[1022:1024, 1024 - 102 : 1024 - 100] += more
    with h5py.File(tmp_path / "raw.h5", "w") as file:
        file["raw"] = frame[None]
    path = corrected(tmp_path / "raw.h5", "--peaks", "bragg", "--geometry", tmp_path / "two.toml")
    images = Assembly(two)(correct_int16(frame[None], quantize(detector.calibration)))
    peaks = check_peaks(path, images, [Panel(0, 0, 514, 1030), Panel(514, 0, 514, 1030)])
    assert peaks.found.tolist() == [2]


def test_float_images_are_judged_by_whole_photons(corrected: Any, raw: Path) -> None:
    options = ("--peaks", "bragg", "--minimum-peaks", 10, "--output-type", "float32")
    with h5py.File(corrected(raw, *options)) as file:
        data = file["entry/data"]
        images, accepted = data["data"][:], data["accepted"][:]
        assert accepted.tolist() == [True, True, True, False, True], "a dark frame with holes is kept"
        assert images.dtype == np.float32
        assert np.isnan(images[~accepted]).all()
        reference = correct_float(words(raw), DETECTOR.calibration)
        assert (np.isnan(images[0]) == (reference.codes[0] != 0)).all()
        assert np.nanmax(np.abs(images[0] - reference.values[0])) < 1e-2
    with h5py.File(corrected(raw, *options[:4])) as file:
        assert (file["entry/data/accepted"][:] == accepted).all()


def test_thresholds_are_of_the_unit_of_the_images(corrected: Any, raw: Path) -> None:
    with h5py.File(corrected(raw, "--unit", "keV", "--threshold", 100)) as file:
        data = file["entry/data"]
        images = data["data"][:]
        assert data["peaks"].attrs["threshold_units"] == "keV"
        assert data["peaks"][:].tolist() == ((images >= 100) & (images <= 32700)).sum((1, 2)).tolist()


def test_a_file_of_corrected_frames_can_be_asked_for_other_vetoes(corrected: Any, raw: Path, run_cli: RunCli) -> None:
    path = corrected(raw, *PIXELS)
    status, out, err = run_cli("whatif", path, "--minimum-peaks", 1, "--threshold", 300)
    assert (status, err) == (0, "")
    with h5py.File(path) as file:
        lost = int(((file["entry/data/ladder"][:, 2] < 1) & (file["entry/data/reason"][:] == 0)).sum())
    assert f"{lost} frames would be rejected that were accepted" in out


def test_what_cannot_be_judged_is_said_before_anything_is_written(run_cli: RunCli, raw: Path, tmp_path: Path) -> None:
    files = "--input", raw, "--calibration", tmp_path / "c.h5", "--output", tmp_path / "no.h5"
    for options, said in {
        ("--snr", 5): "--snr is of the peak finder: give --peaks bragg as well",
        ("--sparse", 0): "--sparse 0 is not a threshold",
        ("--ladder", "5,5"): "the thresholds 5,5 are not a ladder",
        ("--ladder", "a"): "--ladder a is not a list of thresholds",
    }.items():
        status, _, err = run_cli("correct", *files, *options)
        assert (status, err.count("\n")) == (2, 1)
        assert said in err
        assert not (tmp_path / "no.h5").exists()
