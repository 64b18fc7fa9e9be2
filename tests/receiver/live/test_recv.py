"""`framelane recv`: a capture gives the images that the live run gave, and a bad one gives none."""

import os
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import h5py
import numpy as np
import pytest
from numpy.typing import NDArray

from framelane.calibration.calibration_file import CalibrationFile
from framelane.cli.recv.one_run import Received
from framelane.models.jungfrau.jf_calibration import Calibration
from framelane.models.jungfrau.jf_correct import PixelCode, correct_int16
from framelane.models.jungfrau.jf_fixed import quantize
from framelane.packets import pcap
from framelane.packets.pcap import PcapWriter
from framelane.receiver.jungfrau.jungfrau_file import JungfrauFile
from framelane.receiver.ring.tally import Tally
from framelane.session.session import Session

RunCli = Callable[..., tuple[int, str, str]]


@pytest.fixture(scope="module")
def folder_of_all(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the demo of all tests is, once it has run."""
    return tmp_path_factory.mktemp("live") / "demo"


@pytest.fixture
def live(run_cli: RunCli, tmp_path: Path, small_file: Path, folder_of_all: Path) -> Path:
    """Run the demo on the small file, with fewer slots than frames, once for all tests; a folder with what it wrote."""
    if not folder_of_all.is_dir():
        status, _, _ = run_cli("demo", "--output", tmp_path / "demo", "--input", small_file, "--slots", 2)
        assert status == 0
        shutil.copytree(tmp_path / "demo", folder_of_all)
    return Path(shutil.copytree(folder_of_all, tmp_path / "demo", dirs_exist_ok=True))


@pytest.fixture
def replay(run_cli: RunCli, live: Path, tmp_path: Path) -> Callable[..., tuple[int, str, str]]:
    """Replay the demo's capture into out/frames.h5, with other options."""
    (tmp_path / "out").mkdir()

    def run(*arguments: object, **changes: object) -> tuple[int, str, str]:
        options = {"pcap": live / "tx.pcap", "session": live / "session.json", "output": tmp_path / "out/frames.h5"}
        (tmp_path / "out/frames.h5").unlink(missing_ok=True)
        flags = [text for name, value in (options | changes).items() for text in (f"--{name}", value)]
        return run_cli("recv", *flags, *arguments)

    return run


def dataset(path: Path, name: str) -> NDArray[Any]:
    with h5py.File(path) as file:
        return np.asarray(file["entry"][name][()])


def test_a_replay_gives_the_images_and_records_of_the_live_run(replay: RunCli, live: Path, tmp_path: Path) -> None:
    status, out, err = replay("--calibration", live / "calibration.h5")
    assert (status, err) == (0, "")
    assert "3 sent = 3 complete" in out
    for name in ("data", "frame_number", "timestamp_ns", "bunch_id", "complete", "peaks", "saturated", "accepted"):
        was, now = dataset(live / "frames.h5", f"data/{name}"), dataset(tmp_path / "out/frames.h5", f"data/{name}")
        assert np.array_equal(was, now), name


def test_without_a_calibration_the_raw_words_are_kept(replay: RunCli, small_file: Path, tmp_path: Path) -> None:
    status, _, _ = replay()
    assert status == 0
    with JungfrauFile(small_file) as file:
        sent = np.stack([file.image(n) for n in range(file.n_frames)])
    assert np.array_equal(dataset(tmp_path / "out/frames.h5", "data/data"), sent)


def test_lost_packets_are_holes_and_their_frames_incomplete(replay: RunCli, live: Path, tmp_path: Path) -> None:
    """4 packets of 2 x 4096 pixels, and the trailer, a frame."""
    with PcapWriter(tmp_path / "lossy.pcap") as capture:
        for index, packet in enumerate(pcap.read(live / "tx.pcap")):
            if index not in (6, 14):
                capture.write(packet)
    status, out, _ = replay("--calibration", live / "calibration.h5", pcap=tmp_path / "lossy.pcap")
    holes = dataset(tmp_path / "out/frames.h5", "data/data") == PixelCode.HOLE
    assert status == 0
    assert "1 complete + 2 incomplete" in out
    assert "incomplete frames: 1, 2\n" in out
    assert dataset(tmp_path / "out/frames.h5", "data/complete").tolist() == [True, False, False]
    assert holes.sum((1, 2)).tolist() == [0, 2048, 0]
    assert holes[1].reshape(-1)[2048:4096].all()


def test_the_veto_rejects_and_sparse_rows_are_written(replay: RunCli, live: Path, tmp_path: Path) -> None:
    photons = dataset(live / "frames.h5", "data/data")
    peaks = ((photons >= 10) & (photons <= 32700)).sum((1, 2))
    needed = int(np.median(peaks))
    status, _, _ = replay(
        *("--calibration", live / "calibration.h5", "--threshold", 10, "--minimum-peaks", needed, "--sparse", 5)
    )
    out = tmp_path / "out/frames.h5"
    accepted = dataset(out, "data/accepted")
    assert status == 0
    assert accepted.tolist() == (peaks >= needed).tolist()
    assert 0 < accepted.sum() < 3
    assert dataset(out, "data/peaks").tolist() == peaks.tolist()
    pointers, columns, values = (dataset(out, f"sparse/{name}") for name in ("pointers", "columns", "values"))
    with h5py.File(out) as file:
        assert file["entry/sparse"].attrs["threshold"] == 5
    for frame, row in np.ndindex(3, 32):
        line = photons[frame, row]
        kept = np.flatnonzero((line >= 5) & (line <= 32700)) if accepted[frame] else np.array([], int)
        span = slice(pointers[frame, row], pointers[frame, row + 1])
        assert columns[span].tolist() == kept.tolist()
        assert values[span].tolist() == line[kept].tolist()


@pytest.mark.parametrize("share", [0.0, 0.001, 0.5, 0.999])
def test_a_cut_capture_is_one_sentence_and_leaves_nothing(
    replay: RunCli, live: Path, tmp_path: Path, share: float
) -> None:
    whole = (live / "tx.pcap").read_bytes()
    cut = tmp_path / "cut.pcap"
    cut.write_bytes(whole[: int(len(whole) * share)])
    status, out, err = replay(pcap=cut)
    assert (status, out) == (2, "")
    assert err.startswith(f"framelane: {cut}")
    assert err.count("\n") == 1
    assert list((tmp_path / "out").iterdir()) == []


def test_a_session_that_is_no_session_is_one_sentence(replay: RunCli, tmp_path: Path) -> None:
    for text, sentence in (("{}", "qpn: is missing"), ("nonsense", "is not usable")):
        (tmp_path / "session.json").write_text(text)
        status, _, err = replay(session=tmp_path / "session.json")
        assert status == 2
        assert sentence in err
        assert list((tmp_path / "out").iterdir()) == []


def test_another_detectors_calibration_is_refused(replay: RunCli, tmp_path: Path, live: Path, run_cli: RunCli) -> None:
    run_cli("demo", "--output", tmp_path / "module", "--modules", 1, "--frames", 1)
    status, _, err = replay("--calibration", tmp_path / "module/calibration.h5")
    assert status == 2
    assert "is for 512 x 1024 pixels" in err
    assert "32 x 256" in err
    assert list((tmp_path / "out").iterdir()) == []


def test_a_capture_of_another_session_ends_with_status_1_and_says_why(
    replay: RunCli, live: Path, tmp_path: Path
) -> None:
    session = Session.load(live / "session.json")
    session.model_copy(update={"rkey": session.rkey ^ 1}).save(tmp_path / "other.json")
    status, out, _ = replay(session=tmp_path / "other.json")
    assert status == 1
    assert "15 refused for rkey, first packet 1: " in out


def test_no_frame_is_received_of_a_capture_without_its_packets(replay: RunCli, tmp_path: Path) -> None:
    with PcapWriter(tmp_path / "empty.pcap"):
        pass
    status, out, _ = replay(pcap=tmp_path / "empty.pcap")
    assert status == 1
    assert "0 packets, 0 of them placed" in out


def test_an_identity_that_does_not_hold_ends_with_status_1(replay: RunCli, monkeypatch: pytest.MonkeyPatch) -> None:
    for accounted, expected in ((2, 0), (1, 1)):
        received = Received(Tally(2, accounted, 0, 0, 0, 0))
        monkeypatch.setattr("framelane.cli.recv.one_run.run", Mock(return_value=received))
        assert replay()[0] == expected


def test_what_is_odd_about_a_capture_is_said(replay: RunCli, live: Path, tmp_path: Path) -> None:
    """A packet is lost, one comes twice, and the last trailer, of frame 2, comes first of all."""
    packets = list(pcap.read(live / "tx.pcap"))
    with PcapWriter(tmp_path / "odd.pcap") as capture:
        for packet in [packets[14], *packets[:2], *packets[1:3], *packets[4:14]]:
            capture.write(packet)
    _, out, _ = replay(pcap=tmp_path / "odd.pcap")
    assert " skipped: " in out
    assert " behind: " in out
    assert "1 stray immediate, without a trailer of an open frame, first immediate 0x00000002" in out


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("--sparse", 0), "--sparse 0 is not a threshold: give 1 to 32700"),
        (("--sparse", 32_701), "--sparse 32701 is not a threshold"),
        (("--sparse", -40_000), "--sparse -40000 is not a threshold"),
        (("--minimum-peaks", 10**30), "is more than any image has pixels"),
        (("--minimum-peaks", -1), "0 peaks or more"),
        (("--threshold", 0), "a threshold of 1..32700"),
        (("--gain-mode", "hg0"), "has no calibration of the high gain"),
    ],
)
def test_bad_options_are_one_sentence_and_leave_nothing(
    replay: RunCli, live: Path, tmp_path: Path, arguments: tuple[object, ...], sentence: str
) -> None:
    status, out, err = replay("--calibration", live / "calibration.h5", *arguments)
    assert (status, out) == (2, "")
    assert sentence in err
    assert err.count("\n") == 1
    assert list((tmp_path / "out").iterdir()) == []


def test_a_calibration_of_both_gain_modes_needs_to_be_told_the_mode(
    replay: RunCli, live: Path, tmp_path: Path, write_both: Callable[[Path, Calibration], None]
) -> None:
    with CalibrationFile(live / "calibration.h5") as file:
        calibration = file.calibration
    both = tmp_path / "both.h5"
    write_both(both, calibration)
    status, _, err = replay("--calibration", both)
    assert (status, err.count("\n")) == (2, 1)
    assert "both.h5 is for both gain modes" in err
    assert "give --gain-mode normal or --gain-mode hg0" in err
    images = {}
    for mode in ("normal", "hg0"):
        assert replay("--calibration", both, "--gain-mode", mode)[0] == 0
        images[mode] = dataset(tmp_path / "out/frames.h5", "data/data")
    assert np.array_equal(images["normal"], dataset(live / "frames.h5", "data/data"))
    assert replay()[0] == 0
    words = dataset(tmp_path / "out/frames.h5", "data/data")
    high = replace(calibration, pedestal=calibration.pedestal + 100.0, high_gain=True, mask=~calibration.usable)
    assert np.array_equal(images["hg0"], correct_int16(words, quantize(high)))


def test_a_gain_mode_without_a_calibration_is_refused(replay: RunCli) -> None:
    assert "--gain-mode chooses of a calibration: give --calibration" in replay("--gain-mode", "normal")[2]


def test_thresholds_are_in_the_unit_of_the_session(replay: RunCli, live: Path, tmp_path: Path) -> None:
    changes = {"pixels": "corrected", "unit": "keV"}
    Session.load(live / "session.json").model_copy(update=changes).save(tmp_path / "kev.json")
    status, out, _ = replay("--threshold", 50, "--sparse", 7, session=tmp_path / "kev.json")
    assert status == 0
    assert "a peak is a pixel of at least 50 keV" in out
    assert "the pixels of at least 7 keV" in out
    with h5py.File(tmp_path / "out/frames.h5") as file:
        assert dict(file["entry/data/peaks"].attrs) == {"threshold": 50, "threshold_units": "keV"}
        assert file["entry/data/data"].attrs["units"] == "keV"


@pytest.mark.parametrize("option", ["--threshold", "--minimum-peaks", "--sparse"])
def test_photons_cannot_be_counted_without_a_calibration(replay: RunCli, option: str) -> None:
    status, _, err = replay(option, 5)
    assert (status, err) == (
        2,
        f"framelane: {option} counts photons, raw words have none: give --calibration as well\n",
    )


@pytest.mark.parametrize("name", ["tx.pcap", "session.json", "calibration.h5"])
@pytest.mark.parametrize("alias", [False, True])
def test_the_output_is_never_an_input(replay: RunCli, live: Path, tmp_path: Path, name: str, alias: bool) -> None:
    before = (live / name).read_bytes()
    output = live / name
    if alias:
        output = tmp_path / "alias"
        output.symlink_to(live / name)
    status, _, err = replay("--calibration", live / "calibration.h5", output=output)
    assert status == 2
    assert "it is an input of this run" in err
    assert (live / name).read_bytes() == before


@pytest.mark.parametrize("output", ["", ".", "/", "/nowhere/frames.h5"])
def test_an_output_that_cannot_be_is_one_sentence(replay: RunCli, output: str) -> None:
    status, out, err = replay(output=output)
    assert (status, out) == (2, "")
    assert err.startswith("framelane: cannot write ")
    assert err.count("\n") == 1


def test_a_device_is_never_replaced(replay: RunCli, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "device")
    assert replay(output=tmp_path / "device")[0] == 2
    assert (tmp_path / "device").is_fifo()
