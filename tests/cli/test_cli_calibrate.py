"""`framelane calibration`: from dark runs and gain maps to a file that corrects frames, and nothing from bad input."""

import hashlib
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
from numpy.typing import NDArray

from dark_runs import dark_frames, write_frames
from framelane.calibration.calibration_file import CalibrationFile
from framelane.calibration.stage_pedestal import Reason, Stage
from framelane.models.jungfrau.jf_calibration import Calibration
from framelane.models.jungfrau.jf_correct import PixelCode, correct_float, correct_int16
from framelane.models.jungfrau.jf_detector import Detector, DetectorConfig
from framelane.models.jungfrau.jf_fixed import quantize
from framelane.models.jungfrau.jf_packet import JfHeader
from framelane.models.placement.flow import FrameEvent
from framelane.models.tx import Tx
from framelane.packets.pcap import PcapWriter
from framelane.receiver.jungfrau.detector_frame import DetectorFrame
from framelane.receiver.jungfrau.jungfrau_file import JungfrauFile
from framelane.receiver.jungfrau.recorder import Recorder
from framelane.session.session import Session

FRAMES = 16
HG0_GAIN = 2.5
"""HG0 over G0."""

RunCli = Callable[..., tuple[int, str, str]]


@pytest.fixture(scope="module")
def truth() -> Calibration:
    """The calibration of a simulated module, nothing masked."""
    return Detector(DetectorConfig(stuck_in_g1=0, stuck_saturated=0)).calibration


def pedestal_of(stage: Stage, truth: Calibration) -> NDArray[Any]:
    plane: NDArray[Any] = truth.pedestal[{"G0": 0, "G1": 1, "G2": 2, "HG0": 0}[stage]]
    return plane + (150 if stage is Stage.HG0 else 0)


def six_planes(truth: Calibration) -> NDArray[Any]:
    return np.concatenate([truth.gain, truth.gain * np.array([HG0_GAIN, 1.01, 1.02]).reshape(3, 1, 1)])


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory, truth: Calibration) -> Path:
    """Make a folder with a dark run of each stage, dark_g0.h5 for example, and gain maps of three and of six planes."""
    folder = tmp_path_factory.mktemp("runs")
    for stage in Stage:
        frames = dark_frames(stage, pedestal_of(stage, truth), FRAMES)
        if stage is Stage.G0:
            frames[:, 100, 200] = frames[0, 100, 200]
            frames[:, 300, 400] |= 0x4000
        write_frames(folder / f"dark_{stage.lower()}.h5", frames)
    truth.gain.astype("<f8").tofile(folder / "three.bin")
    six_planes(truth).astype("<f8").tofile(folder / "six.bin")
    return folder


@pytest.fixture
def make(run_cli: RunCli, runs: Path, tmp_path: Path) -> RunCli:
    """Make out/c.h5 from the runs, with options changed: (True: a flag; None: not given; a list: given repeatedly)."""
    (tmp_path / "out").mkdir()

    def run(**changes: Any) -> tuple[int, str, str]:
        if "force" not in changes:
            (tmp_path / "out/c.h5").unlink(missing_ok=True)
        options: dict[str, Any] = {f"dark-{stage}": runs / f"dark_{stage}.h5" for stage in ("g0", "g1", "g2")}
        options |= {"gain-maps": runs / "three.bin", "energy": 12.4, "output": tmp_path / "out/c.h5"}
        arguments: list[object] = []
        for name, value in (options | {name.replace("_", "-"): value for name, value in changes.items()}).items():
            for each in value if isinstance(value, list) else [value]:
                arguments += [] if each is None else [f"--{name}"] if each is True else [f"--{name}", each]
        return run_cli("calibration", "make", *arguments)

    return run


@pytest.fixture
def out(tmp_path: Path) -> Path:
    """Name the file that is made."""
    return tmp_path / "out/c.h5"


def row(table: str, name: str) -> list[str]:
    """The columns of a row of the first table that has it."""
    return next(line for line in table.splitlines() if line.strip().startswith(name)).strip()[len(name) :].split()


def test_dark_runs_and_gain_maps_give_the_calibration_of_the_module(
    make: RunCli, out: Path, truth: Calibration
) -> None:
    status, printed, err = make()
    assert (status, err) == (0, "")
    with CalibrationFile(out) as file:
        made = file.calibration
    assert np.argwhere(~made.usable).tolist() == [[i, *at] for i in range(3) for at in ([100, 200], [300, 400])]
    for plane, sigma in enumerate((24, 3, 3)):
        error = (made.pedestal[plane] - truth.pedestal[plane])[made.usable[plane]]
        assert np.abs(error).max() < 6 * sigma / FRAMES**0.5
        assert error.std() == pytest.approx(np.hypot(sigma, 12**-0.5) / FRAMES**0.5, rel=0.01)
    assert np.array_equal(made.gain, truth.gain.astype(np.float32))
    assert row(printed, "frames") == ["16", "16", "16"]
    assert row(printed, "masked pixels") == ["2", "2", "2"]
    assert (row(printed, "dead"), row(printed, "wrong stage")) == (["1", "0", "0"], ["1", "0", "0"])


def test_the_limits_are_those_that_are_given(make: RunCli, truth: Calibration) -> None:
    _, printed, _ = make(max_offset=450, max_noise=1.5)
    g0 = truth.pedestal[0]
    far = np.count_nonzero(np.abs(g0 - np.median(g0)) > 450)
    assert int(row(printed, "out of range")[0]) == pytest.approx(far, rel=0.05)
    assert all(0 < int(noisy) < 0.02 * g0.size for noisy in row(printed, "noisy"))


def test_real_frames_are_corrected_as_with_the_constants_that_went_in(
    make: RunCli, out: Path, real_file: JungfrauFile, tmp_path: Path
) -> None:
    real_file.gain_adu_per_kev.astype("<f8").tofile(tmp_path / "gainMaps_M049.bin")
    gains = {"gain_maps": tmp_path / "gainMaps_M049.bin", "pedestals": real_file.path}
    assert make(**gains, dark_g0=None, dark_g1=None, dark_g2=None)[0] == 0
    with CalibrationFile(out) as file:
        made = file.calibration
    original = real_file.calibration
    for index in range(real_file.n_frames):
        words = real_file.image(index)
        assert np.array_equal(correct_int16(words, quantize(made)), correct_int16(words, quantize(original)))
        assert np.array_equal(correct_float(words, made).values, correct_float(words, original).values, equal_nan=True)


def test_real_frames_are_corrected_with_pedestals_from_dark_runs_within_their_statistics(
    make: RunCli, out: Path, real_file: JungfrauFile, tmp_path: Path
) -> None:
    original = real_file.calibration
    original.gain.astype("<f8").tofile(tmp_path / "gainMaps_M049.bin")
    with h5py.File(real_file.path) as file:
        rms = file["pedestal_g0_rms_adu"][()]
    noise = {"g0": np.minimum(rms, 200), "g1": 3.0, "g2": 3.0}
    darks: dict[str, Path] = {}
    for (name, sigma), pedestal in zip(noise.items(), original.pedestal, strict=True):
        frames = dark_frames(Stage(name.upper()), pedestal, FRAMES, np.broadcast_to(sigma, pedestal.shape))
        darks[f"dark_{name}"] = write_frames(tmp_path / f"{name}.h5", frames)
    assert make(gain_maps=tmp_path / "gainMaps_M049.bin", **darks)[0] == 0
    with CalibrationFile(out) as calibration:
        made = calibration.calibration
    assert 0 < np.count_nonzero(~made.usable[0]) < 1500
    words = real_file.image(0)
    ours, theirs = correct_float(words, made), correct_float(words, original)
    both = (ours.codes == 0) & (theirs.codes == 0)
    assert both.sum() > both.size - 1500
    stage = np.array([0, 1, 2, 2])[words >> 14]
    sigma = np.choose(stage, [np.hypot(rms, 12**-0.5), np.hypot(3, 12**-0.5), np.hypot(3, 12**-0.5)])
    allowed = 6 * sigma / FRAMES**0.5 / np.abs(np.choose(stage, original.gain)) / 12.4
    assert (np.abs(ours.values - theirs.values)[both] < allowed[both]).all()


def test_the_high_gain_is_made_beside_the_normal_one(make: RunCli, out: Path, runs: Path, truth: Calibration) -> None:
    status, printed, _ = make(gain_maps=runs / "six.bin", dark_hg0=runs / "dark_hg0.h5")
    assert status == 0
    assert printed.index("normal gain") < printed.index("high gain ")
    with CalibrationFile(out, high_gain=True) as file:
        made = file.calibration
        assert not file.mask_reasons.any()
    assert made.high_gain
    assert np.allclose(made.gain, six_planes(truth)[3:])
    assert abs(np.median(made.pedestal[0] - truth.pedestal[0]) - 150) < 1
    with CalibrationFile(out) as file:
        assert not file.calibration.high_gain
        assert np.allclose(file.gain_adu_per_kev, truth.gain)


def test_the_high_gain_alone_needs_no_run_of_g0(make: RunCli, out: Path, runs: Path) -> None:
    assert make(gain_maps=runs / "six.bin", dark_hg0=runs / "dark_hg0.h5", dark_g0=None)[0] == 0
    with CalibrationFile(out) as file:
        assert file.calibration.high_gain


def test_one_recording_with_all_stages_of_both_gain_modes_gives_both(
    make: RunCli, out: Path, runs: Path, truth: Calibration, tmp_path: Path
) -> None:
    with Recorder(tmp_path / "all.h5", 1) as recorder:
        for stage in Stage:
            for image in dark_frames(stage, pedestal_of(stage, truth), FRAMES):
                header = JfHeader(recorder.frames, daq_info=int(stage is Stage.HG0))
                recorder.write(DetectorFrame(recorder.frames, image, np.array([128], np.uint16), (header,), 0))
    darks = {f"dark_{stage.lower()}": tmp_path / "all.h5" for stage in Stage}
    status, _, err = make(gain_maps=runs / "six.bin", **darks)
    assert (status, err) == (0, "")
    with CalibrationFile(out, high_gain=False) as normal, CalibrationFile(out, high_gain=True) as high:
        assert abs(np.median(normal.pedestal_adu[0] - truth.pedestal[0])) < 1
        assert abs(np.median(high.pedestal_adu[0] - truth.pedestal[0]) - 150) < 1
        assert (normal.count[0] == FRAMES).all()
        assert (high.count[0] == FRAMES).all()


def test_a_new_run_of_g0_renews_an_older_calibration(make: RunCli, out: Path, runs: Path, tmp_path: Path) -> None:
    assert make()[0] == 0
    old = out.rename(tmp_path / "old.h5")
    later = dark_frames(Stage.G0, np.full((512, 1024), 2500.0), 12)
    new = write_frames(tmp_path / "new_g0.h5", later)
    status, printed, _ = make(dark_g0=new, dark_g1=None, dark_g2=None, pedestals=old)
    assert status == 0
    assert row(printed, "frames") == ["12", "16", "16"]
    assert "pedestals of G1, G2: old.h5" in printed
    with CalibrationFile(out) as file, CalibrationFile(old) as before:
        assert np.array_equal(file.pedestal_adu[1:], before.pedestal_adu[1:])
        assert not file.mask_reasons.any()  # what was bad in the old run of G0 is not in the new one


def test_hg0_in_a_pedestal_file_is_left_out_where_the_gain_maps_have_none(
    make: RunCli, out: Path, runs: Path, truth: Calibration, tmp_path: Path
) -> None:
    planes = np.stack([pedestal_of(stage, truth) for stage in (Stage.G0, Stage.G1, Stage.G2, Stage.HG0)])
    with h5py.File(tmp_path / "res.h5", "w") as file:
        file["gains"] = planes
    darks = {"dark_g0": None, "dark_g1": None, "dark_g2": None, "pedestals": tmp_path / "res.h5"}
    status, printed, _ = make(**darks)
    assert status == 0
    assert "res.h5 has HG0, the gain maps have not" in printed
    with CalibrationFile(out) as calibration:
        assert not calibration.has_high_gain
    assert make(**darks, gain_maps=runs / "six.bin")[0] == 0
    with CalibrationFile(out) as calibration:
        assert calibration.has_high_gain


def test_the_file_says_what_went_into_it(make: RunCli, out: Path, runs: Path, run_cli: RunCli) -> None:
    assert make()[0] == 0
    with CalibrationFile(out) as file:
        provenance = file.provenance
    assert provenance is not None
    assert provenance.command.startswith("framelane calibration make --dark-g0 ")
    assert [(source.role, source.name, source.used) for source in provenance.sources] == [
        ("gain map of module 0", "three.bin", 0),
        ("dark run of G0", "dark_g0.h5", FRAMES),
        ("dark run of G1", "dark_g1.h5", FRAMES),
        ("dark run of G2", "dark_g2.h5", FRAMES),
    ]
    for source in provenance.sources:
        assert source.sha256 == hashlib.sha256((runs / source.name).read_bytes()).hexdigest()
        assert source.size == (runs / source.name).stat().st_size
    status, printed, _ = run_cli("calibration", "show", out)
    assert status == 0
    assert f"dark run of G2: dark_g2.h5, {FRAMES} of {FRAMES} frames" in printed
    assert provenance.sources[0].sha256 in printed


def test_a_calibration_without_provenance_is_shown(run_cli: RunCli, small_file: Path) -> None:
    status, printed, _ = run_cli("calibration", "show", small_file)
    assert status == 0
    assert "32 x 256 pixels, 12.4 keV" in printed
    assert row(printed, "rms, ADU") == row(printed, "frames") == ["-", "-", "-"]
    assert row(printed, "masked pixels") == row(printed, "given") == ["7", "7", "7"]
    assert "no provenance" in printed


def test_two_modules_are_stacked_and_one_may_be_bad(
    make: RunCli, out: Path, runs: Path, truth: Calibration, tmp_path: Path
) -> None:
    darks: dict[str, Path] = {}
    for stage in (Stage.G0, Stage.G1, Stage.G2):
        frames = dark_frames(stage, np.tile(pedestal_of(stage, truth), (2, 1)), 12)
        if stage is not Stage.G0:
            frames[:, :512] &= 0x3FFF  # module 0 does not switch
        darks[f"dark_{stage.lower()}"] = write_frames(tmp_path / f"{stage}.h5", frames)
    (tmp_path / "dead.bin").write_bytes(bytes(3 * 512 * 1024 * 8))
    maps = [tmp_path / "dead.bin", runs / "three.bin"]
    status, _, err = make(gain_maps=maps, **darks)
    assert status == 2
    assert "of module 0 none is in G1" in err
    assert not out.exists()
    assert make(gain_maps=maps, bad_module=0, **darks)[0] == 0
    with CalibrationFile(out) as file:
        usable = file.calibration.usable
    assert not usable[:, :512].any()
    assert usable[:, 512:].all()


def nan_gain(runs: Path, path: Path) -> None:
    planes = np.fromfile(runs / "three.bin").reshape(3, 512, 1024)
    planes[2, 7, 8] = np.nan
    planes.tofile(path)


def test_bad_gains_are_masked_where_that_is_wanted(make: RunCli, out: Path, runs: Path, tmp_path: Path) -> None:
    nan_gain(runs, tmp_path / "nan.bin")
    status, printed, _ = make(gain_maps=tmp_path / "nan.bin", mask_bad_gains=True)
    assert status == 0
    assert row(printed, "bad gain") == ["0", "0", "1"]
    with CalibrationFile(out) as file:
        assert not file.calibration.usable[2, 7, 8]
        assert file.calibration.usable[0, 7, 8]


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"dark_g0": "dark_g1.h5"}, r"dark_g1.h5 is not a dark run of G0: .* \(16 in G1\): give a run"),
        ({"dark_g1": "dark_g2.h5"}, "dark_g2.h5 is not a dark run of G1"),
        ({"dark_g2": "dark_g0.h5"}, "dark_g0.h5 is not a dark run of G2"),
        ({"dark_g2": None}, "there are no pedestals of G2: give a dark run of each, or --pedestals"),
        ({"dark_g0": None, "dark_g1": None}, "no pedestals of G0, G1: give a dark run of each, or --pedestals"),
        ({"dark_g0": "nowhere.h5"}, "there is no file .*nowhere.h5"),
        ({"dark_g0": "three.bin"}, "three.bin is damaged or not an HDF5 file"),
        ({"dataset": "data/raw"}, "dark_g0.h5 has no dataset data/raw"),
        ({"min_frames": 17}, "dark_g0.h5 has 16 frames in G0 .* needed are 17"),
        ({"min_frames": 1}, "1 frames tell no noise"),
        ({"max_noise": 0.5}, "limits of 0.5 times the median noise"),
        ({"gain_maps": ["three.bin", "three.bin"]}, r"dark_g0.h5 has 512 x 1024 pixels \(1 modules\), the 2 gain maps"),
        ({"gain_maps": "dark_g0.h5"}, "dark_g0.h5 has [0-9]* bytes, gain maps of a module"),
        ({"gain_maps": "nowhere.bin"}, "cannot read .*nowhere.bin: No such file"),
        ({"dark_hg0": "dark_hg0.h5"}, "three.bin has three planes, those of the normal gain: for HG0"),
        (
            {"gain_maps": "six.bin", "dark_hg0": "dark_g0.h5"},
            "dark_g0.h5 and .*dark_g0.h5 are the same run, which does not say its gain modes: G0",
        ),
        ({"energy": 0}, "--energy 0.0 keV cannot be"),
        ({"energy": "nan"}, "--energy nan keV cannot be"),
        ({"bad_module": 1}, "--bad-module 1: there are gain maps of 1 modules: give 0 to 0"),
        ({"bad_module": 0}, "all of 1 modules are given as bad: nothing is left"),
        ({"pedestals": "dark_g0.h5"}, "dark_g0.h5 has no dataset gains: needed is gains, as jungfrau_utils"),
        ({"output": "dark_g0.h5"}, "cannot write .*dark_g0.h5: it is an input of this run"),
        ({"output": "nowhere/c.h5"}, "cannot write .*nowhere/c.h5: No such file or directory"),
    ],
)
def test_bad_input_is_one_sentence_and_nothing_is_written(
    make: RunCli, runs: Path, tmp_path: Path, changes: dict[str, Any], sentence: str
) -> None:
    files = ("gain_maps", "pedestals", "output")

    def found(name: str, value: Any) -> Any:
        if isinstance(value, list):
            return [found(name, each) for each in value]
        return runs / value if value and (name in files or name.startswith("dark_")) else value

    before = {path: path.stat().st_mtime_ns for path in runs.iterdir()}
    status, printed, err = make(**{name: found(name, value) for name, value in changes.items()})
    assert status == 2
    assert err.startswith("framelane: ")
    assert len(err.splitlines()) == 1
    assert re.search(sentence, err), err
    assert "made" not in printed
    assert list((tmp_path / "out").iterdir()) == []
    assert {path: path.stat().st_mtime_ns for path in runs.iterdir()} == before


def test_the_receiver_takes_the_file(
    make: RunCli, out: Path, truth: Calibration, make_session: Callable[..., Session], run_cli: RunCli, tmp_path: Path
) -> None:
    assert make()[0] == 0
    session = make_session(rows=512, columns=1024, mtu=4096)
    frame = Detector(DetectorConfig(stuck_in_g1=0, stuck_saturated=0)).frame(0)
    memory = frame.raw.tobytes()
    transmitter = Tx(session.tx_config(), lambda address, length: memory[address : address + length])
    with PcapWriter(tmp_path / "tx.pcap") as capture:
        for packet in transmitter.frame(FrameEvent(0, timestamp_ns=0, bunch_id=1, address=0)):
            capture.write(packet)
    session.save(tmp_path / "session.json")
    inputs = ("--pcap", tmp_path / "tx.pcap", "--session", tmp_path / "session.json", "--calibration", out)
    assert run_cli("recv", *inputs, "--output", tmp_path / "frames.h5")[0] == 0
    with h5py.File(tmp_path / "frames.h5") as file:
        image = file["entry/data/data"][0]
    seen = image != PixelCode.MASKED
    assert np.argwhere(~seen).tolist() == [[100, 200], [300, 400]]
    ideal = correct_float(frame.raw, truth).values
    low = seen & (frame.raw < 0x4000)
    assert np.abs(image - ideal)[low].max() < 0.6  # rounding, and noise / sqrt(16) of the pedestal


def test_the_modules_have_to_fit_the_geometry(make: RunCli, runs: Path, tmp_path: Path) -> None:
    status, _, err = make(geometry="jungfrau_4m")
    assert status == 2
    assert "has 8 modules, there are gain maps of 1: give --gain-maps once for each module" in err
    place = 'name = "mine"\nrows = 1100\ncolumns = 1030\n[[module]]\nx = 0\ny = 0\n'
    (tmp_path / "mine.toml").write_text(place)
    assert make(geometry=tmp_path / "mine.toml")[0] == 0
    (tmp_path / "mine.toml").write_text(place + "masked = true\n")
    status, _, err = make(geometry=tmp_path / "mine.toml")
    assert status == 2
    assert "all of 1 modules are given as bad" in err


@pytest.mark.parametrize("share", [0.3, 0.9])
def test_a_truncated_dark_run_is_refused(make: RunCli, runs: Path, tmp_path: Path, share: float) -> None:
    data = (runs / "dark_g1.h5").read_bytes()
    (tmp_path / "cut.h5").write_bytes(data[: int(len(data) * share)])
    status, _, err = make(dark_g1=tmp_path / "cut.h5")
    assert status == 2
    assert "cut.h5 is damaged or not an HDF5 file: cannot open it" in err


def test_a_failed_run_leaves_the_older_calibration(make: RunCli, out: Path, runs: Path) -> None:
    assert make()[0] == 0
    before = out.read_bytes()
    assert make(dark_g0=runs / "dark_g1.h5", force=True)[0] == 2
    assert out.read_bytes() == before
    assert list(out.parent.iterdir()) == [out]


def test_what_is_no_calibration_is_not_shown(run_cli: RunCli, runs: Path) -> None:
    status, printed, err = run_cli("calibration", "show", runs / "dark_g0.h5")
    assert (status, printed) == (2, "")
    assert "has no dataset pedestal_adu" in err


def test_the_page_names_options_and_reasons_that_exist(run_cli: RunCli) -> None:
    page = (Path(__file__).resolve().parents[2] / "docs" / "howto" / "calibration.md").read_text()
    printed = run_cli("calibration", "make", "--help")[1] + run_cli("recv", "--help")[1]
    printed += run_cli("jungfrau", "simulate", "--help")[1] + run_cli("correct", "--help")[1]
    options = set(re.findall(r"--[a-z][a-z0-9-]+", page))
    assert {name for name in options if name not in printed} == set()
    listed = re.findall(r"^\| (\d+) \| ([a-z ]+) \|", page, re.MULTILINE)
    assert [(int(bit), words) for bit, words in listed] == [(reason.value, reason.words) for reason in Reason]
