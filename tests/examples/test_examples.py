"""examples/: each runs in an empty folder as a user would run it, and shows what its docstring says."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
SHOWN = {
    "calibrate.py": ["G0: pedestals right to", "masked pixels (row, column): [(100, 200), (300, 400)]"],
    "correct_frames.py": ["frames of 512 x 1024 pixels", "frame 0: ", " photons, ", " keV, "],
    "emulate.py": ["sent: 20 frames in 5140 packets, 9 of them lost", "received: 20 frames, ", "of them with holes"],
    "find_peaks.py": [" peaks\n", " sigma above the background"],
    "integrate.py": [" pixels left out; intensities from ", "along the angle: ", "none is negative"],
    "open_board.py": ["frames go to disk, which has room for 4", "armed: True, idle: True, frames so far: 0"],
    "receive_frames.py": ["frame 19 at ", " 4096 holes", "9 packets were lost on the way", "20 sent = "],
    "replay_veto.py": [
        "recorded, at least 1025 pixels: 15 of 24 frames accepted",
        "at least 1000 pixels: 18 would be accepted, 3 more and 0 fewer",
        "at least 1060 pixels: 9 would be accepted, 0 more and 6 fewer",
    ],
}
DEADLINE_S = 240


def run(name: str, folder: Path, **environment: str) -> str:
    env = {name: value for name, value in os.environ.items() if name != "FRAMELANE_DATA"} | environment
    ended = subprocess.run(
        [sys.executable, EXAMPLES / name], cwd=folder, env=env, capture_output=True, text=True, timeout=DEADLINE_S
    )
    assert (ended.returncode, ended.stderr) == (0, ""), ended.stdout
    return ended.stdout


def test_every_example_is_run_here() -> None:
    assert sorted(path.name for path in EXAMPLES.glob("*.py")) == sorted([*SHOWN, "follow_frames.py"])


@pytest.mark.parametrize("name", SHOWN)
def test_an_example_shows_what_it_promises(name: str, tmp_path: Path, network: tuple[str, str]) -> None:
    out = run(name, tmp_path)
    assert [text for text in SHOWN[name] if text not in out] == [], out


def test_frames_are_seen_while_they_are_written(tmp_path: Path, network: tuple[str, str]) -> None:
    out = run("follow_frames.py", tmp_path)
    assert re.findall(r"^frame (\d+): mean", out, re.MULTILINE) == [str(n) for n in range(40)]
    (live,) = re.findall(r"^(\d+) frames were seen while the receiver was running", out, re.MULTILINE)
    assert int(live) > 20
    assert "40 frames, the newest has words up to " in out


def test_real_frames_are_corrected_where_there_are_any(tmp_path: Path) -> None:
    folder = os.environ.get("FRAMELANE_DATA") or str(EXAMPLES.parents[1] / "shared" / "data")
    if not (Path(folder) / "jungfrau_module.h5").is_file():
        pytest.skip(f"there are no real frames at {folder}: set FRAMELANE_DATA to the folder with jungfrau_module.h5")
    out = run("correct_frames.py", tmp_path, FRAMELANE_DATA=folder)
    assert out.startswith("6 frames of 512 x 1024 pixels")


def test_the_notebook_runs_from_top_to_bottom(tmp_path: Path, network: tuple[str, str]) -> None:
    done = tmp_path / "done.ipynb"
    shutil.copy(EXAMPLES / "receive.ipynb", done)
    execute = str(Path(sys.executable).with_name("jupyter-execute"))
    command = [execute, "--inplace", "--timeout=200", done.name]
    ended = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=DEADLINE_S)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    outputs = [output for cell in json.loads(done.read_text())["cells"] for output in cell.get("outputs", ())]
    text = "".join(line for output in outputs for line in output.get("text", ()))
    assert "20 sent = " in text
    assert " 4096\n" in text, "a frame with a lost packet"
    assert re.search(r"^[1-9]\d* Bragg peaks in frame", text, re.MULTILINE)
    assert any("image/png" in output.get("data", {}) for output in outputs)
