"""`framelane board serve`: the rehearsal of docs/howto/board.md with the real processes, raw and corrected."""

import contextlib
import json
import re
import shlex
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
from numpy.typing import NDArray

from framelane.calibration.calibration_file import CalibrationFile
from framelane.models.jungfrau.jf_correct import correct_int16
from framelane.models.jungfrau.jf_fixed import quantize
from framelane.source.emulate_images import raw_images
from live_recv import FRAMELANE, heard
from own_source import own_address

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "howto" / "board.md").read_text()
SECTION = PAGE.partition("## A rehearsal without hardware\n")[2].partition("\n## ")[0]
READY = {"serve": "Ctrl-C ends it", "recv": "Ctrl-C ends the run"}
"""What a command says that goes on until it is ended."""
DEADLINE_S = 120.0


def blocks(kind: str) -> list[str]:
    """The section's code blocks, with addresses that are this process's own: the page's are everybody's."""
    net = own_address().removeprefix("127.1.")
    found = re.findall(rf"```{kind}\n(.*?)```", SECTION, re.DOTALL)
    return [re.sub(r"127\.0\.0\.(\d)", rf"127.1\1.{net}", block) for block in found]


def commands(block: str) -> list[tuple[list[str], list[str]]]:
    """Each command's words, and the lines that it prints."""
    steps = [step.splitlines() for step in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]]
    return [(shlex.split(first), [line for line in said if line]) for first, *said in steps]


def pattern(line: str) -> str:
    """What a line of the page stands for: `...` is anything, and so is space between words."""
    return r"\s+".join(re.escape(word).replace(r"\.\.\.", ".*") for word in line.split())


class Terminals:
    """Runs commands in `folder`; those that go on are started and kept."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self._folder, self._environment = folder, monkeypatch
        monkeypatch.setenv("COLUMNS", "200")
        self._held = contextlib.ExitStack()
        self.kept: list[subprocess.Popen[str]] = []

    def run(self, words: list[str], expected: list[str]) -> str:
        """What it has printed, in which the lines of the page are found in their order."""
        if words[0] == "export":
            name, _, value = words[1].partition("=")
            self._environment.setenv(name, value)
            return ""
        assert words[0] == "framelane"
        command = [*FRAMELANE, *words[1:]]
        kind = next((word for word in words[1:3] if word in READY), None)
        if kind:
            process = self._held.enter_context(
                subprocess.Popen(command, cwd=self._folder, stdout=subprocess.PIPE, text=True)
            )
            self._held.callback(process.kill)
            self.kept.append(process)
            said = heard(process, process.stdout, READY[kind], within_s=DEADLINE_S)
        else:
            result = subprocess.run(
                command, cwd=self._folder, capture_output=True, text=True, timeout=DEADLINE_S, check=False
            )
            assert (result.returncode, result.stderr) == (int("status" in words), ""), (words, result)
            said = result.stdout
        assert re.search(".*".join(map(pattern, expected)), said, re.DOTALL), (expected, said)
        return said

    def close(self) -> None:
        self._held.close()


@pytest.fixture
def terminals(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Terminals]:
    with contextlib.closing(Terminals(tmp_path, monkeypatch)) as opened:
        yield opened


def frames(path: Path) -> tuple[list[int], NDArray[Any]]:
    """The numbers that the detector has given them, and the images."""
    with h5py.File(path) as file:
        data = file["entry/data"]
        return data["detector_frame"][()].tolist(), np.asarray(data["data"][()])


def test_the_rehearsal_of_the_page_is_what_happens(tmp_path: Path, terminals: Terminals) -> None:
    plan, board, *_ = blocks("toml")
    (tmp_path / "raw.toml").write_text(plan)
    other = plan.replace('ip = "127.13', 'ip = "127.14').replace("n_slots", 'pixels = "corrected"\nn_slots')
    (tmp_path / "photons.toml").write_text(other)
    (tmp_path / "board.toml").write_text(board)
    for words, said in commands(blocks("console")[0]):
        terminals.run([*words, "--json", "served.json"] if words[1:3] == ["board", "serve"] else words, said)
    serving, *receiving = terminals.kept
    for process in receiving:
        assert process.wait(DEADLINE_S) == 0
    made, _ = raw_images(64, 256, None, 1)
    with CalibrationFile(tmp_path / "calibration.h5", False) as file:
        fixed = quantize(file.calibration, 0, "photons")
    sent = [made[number % len(made)] for number in range(40)]
    numbers, raw = frames(tmp_path / "raw.h5")
    assert numbers == list(range(40))
    assert np.array_equal(raw, np.stack(sent))
    photons = np.stack([correct_int16(image, fixed) for image in sent])
    numbers, corrected = frames(tmp_path / "photons.h5")
    assert numbers == list(range(40))
    assert np.array_equal(corrected, photons)
    serving.send_signal(signal.SIGINT)
    out, _ = serving.communicate(timeout=DEADLINE_S)
    assert serving.returncode == 0
    assert "ended: the detector has sent 40 frames, the board 2641 packets\n" in out, "one announces its address"
    told = json.loads((tmp_path / "served.json").read_text())
    assert (told["command"], told["good"], told["frames"]) == ("board serve", True, 40)
    assert (told["packets"], told["packets_lost"], told["faults"]) == (2641, 0, [])
    assert not (tmp_path / "board.sock").exists()


def test_an_rc_receiver_that_was_started_anew_is_rearmed_as_on_the_page(tmp_path: Path, terminals: Terminals) -> None:
    *_, plan, board = blocks("toml")
    (tmp_path / "archive.toml").write_text(plan)
    (tmp_path / "board.toml").write_text(board)
    _, first, second = (commands(block) for block in blocks("console"))
    for words, said in first:
        terminals.run(words, said)
    serving, receiving = terminals.kept
    assert receiving.wait(DEADLINE_S) == 0
    time.sleep(0.5)  # some frames are on their way to nobody
    for words, said in second:
        terminals.run(words, said)
    assert terminals.kept[-1].wait(DEADLINE_S) == 0
    made, _ = raw_images(16, 128, None, 1)
    for name, first_number in (("one.h5", 0), ("two.h5", 9)):
        numbers, images = frames(tmp_path / name)
        assert len(numbers) == 8
        assert numbers[0] >= first_number
        assert np.array_equal(images, np.stack([made[number % len(made)] for number in numbers]))
    serving.send_signal(signal.SIGTERM)
    assert serving.wait(DEADLINE_S) == 0
    assert not (tmp_path / "board.sock").exists()
