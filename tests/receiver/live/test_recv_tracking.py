"""`framelane recv --dark-period`: the pedestal follows the dark frames of a capture."""

import json
from collections.abc import Callable
from pathlib import Path

import h5py
import numpy as np
import pytest

from framelane.calibration.calibration_file import write_calibration
from framelane.models.jungfrau.jf_detector import Detector, DetectorConfig
from framelane.models.jungfrau.jf_scene import Scene
from framelane.models.placement.flow import FrameEvent
from framelane.models.tx import Tx
from framelane.packets.pcap import PcapWriter
from framelane.session.session import Session

RunCli = Callable[..., tuple[int, str, str]]

FRAMES = 400
FIRST = 1003
"""Frames that the detector has counted before: the dark ones, odd in the simulation, have even numbers then."""


@pytest.fixture(scope="module")
def detector() -> Detector:
    """Make one that drifts by 30 ADU, 0.7 photons of 1 keV, in the 2 s of the capture; every other frame is dark."""
    config = DetectorConfig(
        rows=32,
        columns=64,
        stuck_in_g1=3,
        photon_energy_kev=1.0,
        scene=Scene(background=0.0, spots=0, overloads=1, overload_photons=3000.0),
        dark_period=2,
        period_ns=5_000_000,
        drift_adu_per_s=15.0,
        drift_spread=0.0,
    )
    return Detector(config)


@pytest.fixture
def capture(detector: Detector, make_session: Callable[..., Session], tmp_path: Path) -> Path:
    """Put the frames into a capture beside its session and calibration; the folder."""
    config = detector.config
    session = make_session(rows=config.rows, columns=config.columns, mtu=4096, n_slots=4, window_end=FIRST + 4)
    session.save(tmp_path / "session.json")
    write_calibration(tmp_path / "calibration.h5", detector.calibration)
    memory = b""
    tx = Tx(session.tx_config(), lambda address, length: memory[address : address + length])
    with PcapWriter(tmp_path / "tx.pcap") as file:
        for number in range(FRAMES):
            frame = detector.frame(number)
            memory = frame.raw.tobytes()
            for packet in tx.frame(FrameEvent(FIRST + number, frame.timestamp_ns + 10**18, frame.bunch_id, 0)):
                file.write(packet)
    return tmp_path


@pytest.fixture
def recv(capture: Path, run_cli: RunCli) -> RunCli:
    """Receive the capture into out/frames.h5, with more options."""
    (capture / "out").mkdir()

    def run(*arguments: object, calibration: bool = True) -> tuple[int, str, str]:
        (capture / "out/frames.h5").unlink(missing_ok=True)
        files = ["--pcap", capture / "tx.pcap", "--session", capture / "session.json"]
        files += ["--output", capture / "out/frames.h5"]
        files += ["--calibration", capture / "calibration.h5"] if calibration else []
        return run_cli("recv", *files, *arguments)

    return run


def mean_photons(path: Path, detector: Detector) -> float:
    """Return the mean of the last exposed frames, without the spot, at pixels that are not stuck."""
    with h5py.File(path) as file:
        images = np.asarray(file["entry/data/data"][-20::2])
    usable = detector.calibration.usable[0] & (np.abs(images) < 5).all(0)
    return float(images[:, usable].mean())


def test_the_images_of_a_drifting_detector_are_corrected_with_the_tracked_pedestal(
    recv: RunCli, capture: Path, detector: Detector
) -> None:
    out = capture / "out/frames.h5"
    assert recv()[0] == 0
    assert mean_photons(out, detector) > 0.6
    status, text, err = recv("--dark-period", 2, "--dark-phase", 0)
    assert (status, err) == (0, "")
    assert abs(mean_photons(out, detector)) < 0.1
    assert "module 0: 200 dark frames, 0 refused" in text
    document = json.loads((capture / "out/frames.h5.drift.json").read_text())
    row = document["rows"][-1]
    assert row["timestamp_ns"] == 10**18 + 399 * 5_000_000
    assert row["drift_adu"] == pytest.approx(30, abs=3)
    assert ["ADU since the start" in warning["text"] for warning in document["warnings"]] == [True, False]


def test_exposed_frames_taken_for_dark_ones_are_refused_and_said(recv: RunCli, capture: Path) -> None:
    status, text, _ = recv("--dark-period", 2)
    assert status == 0
    assert "module 0: 200 dark frames, " in text


@pytest.mark.parametrize(
    ("arguments", "calibration", "sentence"),
    [
        (("--dark-phase", 3), True, "--dark-phase counts within a period: give --dark-period as well"),
        (("--dark-period", 10), False, "--dark-period tracks the pedestals of a calibration: give --calibration"),
        (("--dark-period", 0), True, "give a period of 1 or more"),
        (("--dark-period", 10, "--dark-phase", 10), True, "and a phase from 0 to the period less 1"),
    ],
)
def test_a_rule_that_cannot_be_is_one_sentence_and_leaves_nothing(
    recv: RunCli, capture: Path, arguments: tuple[object, ...], calibration: bool, sentence: str
) -> None:
    status, out, err = recv(*arguments, calibration=calibration)
    assert (status, out) == (2, "")
    assert sentence in err
    assert err.count("\n") == 1
    assert list((capture / "out").iterdir()) == []


def test_a_capture_without_the_dark_frames_of_the_rule_is_corrected_with_the_calibration(
    recv: RunCli, capture: Path, detector: Detector
) -> None:
    status, text, _ = recv("--dark-period", 5000, "--dark-phase", 2000)
    assert status == 0
    assert "no dark frame came" in text
    assert mean_photons(capture / "out/frames.h5", detector) > 0.6


def test_the_record_never_replaces_an_input(recv: RunCli, capture: Path) -> None:
    (capture / "out/frames.h5.drift.json").symlink_to(capture / "session.json")
    before = (capture / "session.json").read_bytes()
    status, _, err = recv("--dark-period", 2)
    assert status == 2
    assert "it is an input of this run" in err
    assert (capture / "session.json").read_bytes() == before
