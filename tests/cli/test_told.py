"""`--json`: what came of a command, in a file that appears when it has ended."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest

from framelane.calibration.calibration_file import write_calibration
from framelane.models.jungfrau.jf_detector import Detector, DetectorConfig

RunCli = Callable[..., tuple[int, str, str]]
FRAMES = 5


@pytest.fixture(autouse=True)
def _inputs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    detector = Detector(DetectorConfig(modules=1, rows=64, columns=96))
    write_calibration("calibration.h5", detector.calibration)
    with h5py.File("raw.h5", "w") as file:
        file["raw"] = np.stack([detector.frame(n).raw for n in range(FRAMES)])


def told(name: str) -> Any:
    return json.loads(Path(name).read_text())


def test_correct_and_whatif_tell_what_is_in_the_file(run_cli: RunCli) -> None:
    command = ("correct", "--input", "raw.h5", "--calibration", "calibration.h5", "--output", "photons.h5")
    assert run_cli(*command, "--threshold", 1, "--json", "correct.json")[0] == 0
    found = told("correct.json")
    assert (found["command"], found["good"], found["file"], found["corrected"]) == (
        "correct",
        True,
        "photons.h5",
        FRAMES,
    )
    with h5py.File("photons.h5") as file:
        peaks = file["entry/data/peaks"][:]
    least = int(np.median(peaks)) + 1
    assert run_cli("whatif", "photons.h5", "--minimum-peaks", least, "--json", "whatif.json")[0] == 0
    found = told("whatif.json")
    assert found["lost"] == np.flatnonzero(peaks < least).tolist()
    assert found["reasons"]["TOO_FEW_PEAKS"] == {"recorded": 0, "what_if": int((peaks < least).sum())}


def test_it_is_renewed_only_by_force_and_never_over_a_file_of_the_run(run_cli: RunCli) -> None:
    command = ("correct", "--input", "raw.h5", "--calibration", "calibration.h5", "--output", "photons.h5")
    status, _, err = run_cli(*command, "--json", "photons.h5")
    assert (status, err) == (2, "framelane: --json photons.h5 is another file of this run: give another name\n")
    assert not Path("photons.h5").exists()
    Path("notes.json").write_text("my notes")
    assert run_cli(*command, "--json", "notes.json")[0] == 2
    assert Path("notes.json").read_text() == "my notes"


def test_bad_input_leaves_no_result(run_cli: RunCli) -> None:
    Path("raw.h5").write_bytes(b"not HDF5")
    command = ("correct", "--input", "raw.h5", "--calibration", "calibration.h5", "--output", "photons.h5")
    assert run_cli(*command, "--json", "correct.json")[0] == 2
    assert not Path("correct.json").exists()
