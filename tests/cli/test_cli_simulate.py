"""A calibration rehearsed without hardware: what `framelane jungfrau simulate` writes, `calibration make` recovers."""

from collections.abc import Callable
from pathlib import Path

import h5py
import hdf5plugin  # noqa: F401  (so that h5py reads compressed datasets)
import numpy as np
import pytest

from framelane.calibration.calibration_file import CalibrationFile
from framelane.calibration.stage_pedestal import Reason
from framelane.models.jungfrau.jf_correct import STAGE_SHIFT

RunCli = Callable[..., tuple[int, str, str]]
FRAMES, EXPOSED = 40, 2
NOISE = (20.0, 4.0, 2.5)
DEFECTS = {"--dead": 7, "--noisy": 5, "--stuck": 11}
SIGMAS = 6.5
"""So far no pixel of a million is by chance."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("rehearsal")


@pytest.fixture
def rehearsed(folder: Path, run_cli: RunCli) -> Path:
    """The folder with all files of a rehearsal, which is made once."""
    if (folder / "calibration.h5").exists():
        return folder
    darks = [part for g in range(3) for part in (f"--dark-g{g}", folder / f"g{g}.h5")]
    maps = [part for module in range(2) for part in ("--gain-maps", folder / f"gainMaps_M{module}.bin")]
    made = "--exposed", folder / "exposed.h5", "--truth", folder / "truth.h5", "--modules", 2, "--seed", 5
    how = "--frames", FRAMES, "--exposed-frames", EXPOSED, "--noise", *NOISE, *(x for d in DEFECTS.items() for x in d)
    assert run_cli("jungfrau", "simulate", *darks, *maps, *made, *how)[0] == 0
    files = "--energy", 12.4, "--output", folder / "calibration.h5"
    status, _, err = run_cli("calibration", "make", *darks, *maps, *files)
    assert (status, err) == (0, "")
    return folder


def test_the_calibration_that_is_made_is_that_of_the_simulated_detector(rehearsed: Path) -> None:
    with CalibrationFile(rehearsed / "truth.h5") as truth, CalibrationFile(rehearsed / "calibration.h5") as made:
        assert truth.mask is not None
        assert (made.gain_adu_per_kev == truth.gain_adu_per_kev).all()
        for stage, noise in enumerate(NOISE):
            good = ~truth.mask[stage]
            off = np.abs(made.pedestal_adu[stage] - truth.pedestal_adu[stage])[good]
            assert off.max() < SIGMAS * noise / FRAMES**0.5
            assert off.std() > 0.1 * noise / FRAMES**0.5, "measured, not copied"
            rms = made.rms_adu[stage][good]
            assert np.median(rms) == pytest.approx(noise, rel=0.02)
            assert np.abs(rms - noise).max() < SIGMAS * noise / (2 * (FRAMES - 1)) ** 0.5 + 0.1


def test_every_pixel_with_a_defect_is_masked_for_it_and_no_other(rehearsed: Path) -> None:
    with CalibrationFile(rehearsed / "truth.h5") as truth, CalibrationFile(rehearsed / "calibration.h5") as made:
        assert truth.mask is not None
        assert made.mask is not None
        bad = truth.mask.any(0)
        saturated = 2  # of each module, as ever
        assert bad.sum() == 2 * (sum(DEFECTS.values()) + saturated)
        assert (made.mask[0] == bad).all()
        g0 = made.mask_reasons[0]
        for reason, pixels in ((Reason.DEAD, 7), (Reason.NOISY, 5), (Reason.WRONG_STAGE, 11 + saturated)):
            assert np.count_nonzero(g0 & reason.bit) == 2 * pixels, reason


def test_the_photons_of_a_corrected_scene_are_those_that_fell_on_it(rehearsed: Path, run_cli: RunCli) -> None:
    """The noise of a word and of its pedestal, by the stage that it is in: what docs/howto/calibration.md says."""
    folder = rehearsed
    files = "--input", folder / "exposed.h5", "--calibration", folder / "calibration.h5"
    assert run_cli("correct", *files, "--output", folder / "photons.h5", "--output-type", "float32")[0] == 0
    with (
        h5py.File(folder / "photons.h5") as photons,
        h5py.File(folder / "truth.h5") as truth,
        h5py.File(folder / "exposed.h5") as exposed,
    ):
        measured, fell = photons["entry/data/data"][()], truth["photons_reference"][()]
        gain = np.abs(truth["gain_adu_per_kev"][()]) * 12.4
        stage = np.minimum(exposed["raw"][()] >> STAGE_SHIFT, 2)
        assert photons["entry/data/frame_number"][()].tolist() == [1, 2]
    valid = np.isfinite(measured)
    assert (valid | (stage == 2) | (measured != measured)).all()
    assert np.count_nonzero(~valid[0]) < 100
    noise = np.choose(stage, [n / gain[k] for k, n in enumerate(NOISE)])
    rounding = np.choose(stage, 0.5 / gain)
    bound = SIGMAS * noise * (1 + 1 / FRAMES) ** 0.5 + rounding + 1e-3 * np.abs(fell)
    assert np.count_nonzero(valid & (stage == 1)) > 500
    assert np.count_nonzero(valid & (stage == 2)) > 5
    assert (np.abs(measured - fell) <= bound)[valid].all()
    assert np.std((measured - fell)[valid & (stage == 0)]) == pytest.approx(20 / 41 / 12.4, rel=0.05)


def test_a_recorder_gets_frames_of_the_same_detector(rehearsed: Path, run_cli: RunCli) -> None:
    """`jungfrau send` has the pixels of `simulate`: its calibration differs by the mask alone."""
    folder = rehearsed
    made = "--modules", 1, "--seed", 5, "--frames", 1, "--calibration", folder / "sent.h5"
    assert run_cli("jungfrau", "send", "127.0.0.1", "--port", 9, *made)[0] == 0
    with CalibrationFile(folder / "truth.h5") as truth, CalibrationFile(folder / "sent.h5") as sent:
        assert (truth.pedestal_adu[:, :512] == sent.pedestal_adu).all()
        assert (truth.gain_adu_per_kev[:, :512] == sent.gain_adu_per_kev).all()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ((), "there is nothing to write: give --dark-g0, --gain-maps, --exposed or another file"),
        (("--dark-g0", "a.h5", "--dark-g1", "a.h5"), "two of the files have the same name"),
        (("--gain-maps", "m.bin", "--modules", 2), "give it once for each of 2 --modules, not 1 times"),
        (("--dark-g0", "a.h5", "--frames", 0), "--frames and --exposed-frames cannot be below 1"),
        (("--dark-g0", "a.h5", "--noise", -1, 3, 3), "noise of (-1.0, 3.0, 3.0) ADU"),
        (("--dark-g0", "a.h5", "--gain-spread", 0.3), "gains that spread by 0.3 cannot be"),
        (("--dark-g0", "a.h5", "--dead", 600_000), "600000 dead and 20 noisy pixels in a module"),
        (("--dark-g0", "nowhere/a.h5", "--frames", 1), "cannot write nowhere/a.h5"),
    ],
)
def test_what_cannot_be_simulated_is_one_sentence(
    run_cli: RunCli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: tuple[object, ...], said: str
) -> None:
    monkeypatch.chdir(tmp_path)
    status, _, err = run_cli("jungfrau", "simulate", *options)
    assert (status, err.count("\n")) == (2, 1)
    assert said in err
    assert list(tmp_path.iterdir()) == []
