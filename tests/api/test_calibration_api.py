"""`framelane.calibration` as from a notebook: read, write, and make one from dark runs and gain maps."""

from pathlib import Path

import numpy as np
import pytest

from dark_runs import dark_frames, write_frames
from framelane.base.errors import ConfigError, InputError
from framelane.calibration import (
    Calibration,
    DarkLimits,
    Stage,
    make_calibration,
    read_calibration,
    write_calibration,
)
from framelane.models.jungfrau.jf_detector import Detector, DetectorConfig
from framelane.receiver import read_geometry

FRAMES = 12


@pytest.fixture(scope="session")
def truth() -> Calibration:
    return Detector(DetectorConfig(stuck_in_g1=0, stuck_saturated=0)).calibration


@pytest.fixture(scope="session")
def runs(truth: Calibration, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs")
    for stage, pedestal in zip((Stage.G0, Stage.G1, Stage.G2), truth.pedestal, strict=True):
        write_frames(folder / f"{stage}.h5", dark_frames(stage, pedestal, FRAMES))
    truth.gain.astype("<f8").tofile(folder / "gain.bin")
    return folder


def darks(runs: Path) -> dict[str, Path]:
    return {name: runs / f"{name}.h5" for name in ("G0", "G1", "G2")}


def test_what_is_made_is_what_is_written_and_read(runs: Path, truth: Calibration, tmp_path: Path) -> None:
    told: list[str] = []
    made = make_calibration(
        [str(runs / "gain.bin")], 12.4, darks(runs), progress=lambda what, done, total: told.append(what)
    )
    assert told[0] == "reading gain maps"
    assert told[1:] == [f"averaging {path}" for path in darks(runs).values()]
    error = np.abs(made.calibration.pedestal - truth.pedestal)[made.calibration.usable]
    assert error.max() < 6 * 24 / FRAMES**0.5
    assert (made.high_gain, len(made.sets), made.stages) == (None, 1, ("G0", "G1", "G2"))
    assert [source.role for source in made.sources] == [
        "gain map of module 0",
        *(f"dark run of G{n}" for n in range(3)),
    ]
    made.write(tmp_path / "c.h5")
    read = read_calibration(str(tmp_path / "c.h5"))
    for name in ("pedestal", "gain", "usable"):
        np.testing.assert_array_equal(getattr(read, name), getattr(made.calibration, name))
    with pytest.raises(InputError, match="it is an input of this run"):
        made.write(runs / "G0.h5")


def test_a_calibration_is_written_and_read(truth: Calibration, tmp_path: Path) -> None:
    write_calibration(str(tmp_path / "c.h5"), truth)
    read = read_calibration(tmp_path / "c.h5", gain_mode="normal")
    np.testing.assert_array_equal(read.pedestal, truth.pedestal)
    assert read.photon_energy_kev == truth.photon_energy_kev
    with pytest.raises(InputError, match="has no calibration of the high gain"):
        read_calibration(tmp_path / "c.h5", gain_mode="hg0")
    with pytest.raises(InputError, match="there is no file"):
        read_calibration(tmp_path / "d.h5")


def test_limits_decide_which_pixels_are_masked(runs: Path) -> None:
    strict = make_calibration([runs / "gain.bin"], 12.4, darks(runs), limits=DarkLimits(max_noise=1.2))
    assert not strict.calibration.usable[0].all()
    with pytest.raises(InputError, match="needed are 50"):
        make_calibration([runs / "gain.bin"], 12.4, darks(runs), limits=DarkLimits(min_frames=50))


@pytest.mark.parametrize(
    ("energy", "changes", "sentence"),
    [
        (0.0, {}, "^energy_kev 0.0 keV cannot be: give a positive number"),
        (12.4, {"bad_modules": [1]}, "^bad_modules 1: there are gain maps of 1 modules: give 0 to 0"),
        (12.4, {"bad_modules": [0]}, "all of 1 modules are given as bad"),
        (12.4, {"geometry": read_geometry("jungfrau_4m")}, "has 8 modules, there are gain maps of 1"),
    ],
)
def test_what_cannot_be_is_refused_before_anything_is_read(
    energy: float, changes: dict[str, object], sentence: str, tmp_path: Path
) -> None:
    with pytest.raises(ConfigError, match=sentence):
        make_calibration([tmp_path / "none.bin"], energy, {}, **changes)  # type: ignore[arg-type]


def test_a_stage_that_does_not_exist_or_is_missing_is_said(runs: Path) -> None:
    with pytest.raises(ConfigError, match="no gain stage 'G3' to give a dark run of: give G0, G1, G2, HG0"):
        make_calibration([runs / "gain.bin"], 12.4, {"G3": runs / "G0.h5"})
    with pytest.raises(InputError, match="there are no pedestals of G2: give a dark run of each, or pedestals"):
        make_calibration([runs / "gain.bin"], 12.4, {name: runs / f"{name}.h5" for name in ("G0", "G1")})
