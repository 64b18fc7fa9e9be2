"""`framelane demo --correct gateware`: frames are photons before the wire, and those that the host would make."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
from numpy.typing import NDArray

from framelane.demo import ways
from framelane.driver.registers.entries import FrameRing
from framelane.driver.simulated.verilated_top import lay_out
from framelane.models.jungfrau.jf_correct import PixelCode, correct_int16
from framelane.models.jungfrau.jf_fixed import FixedCalibration, quantize
from framelane.models.memory.image_writer import Correction
from framelane.receiver.jungfrau.jungfrau_file import JungfrauFile

RunCli = Callable[..., tuple[int, str, str]]
RunDemo = Callable[..., tuple[int, str, Path]]
RECORDS = ("data", "frame_number", "timestamp_ns", "bunch_id", "complete", "holes", "saturated", "invalid", "masked")
JUDGED = ("peaks", "accepted", "reason")


@pytest.fixture
def run_demo(run_cli: RunCli, tmp_path: Path, small_file: Path) -> RunDemo:
    """Run the demo on the small file with the correction of this place; its status, output and folder."""

    def run(place: str, *arguments: object) -> tuple[int, str, Path]:
        folder = tmp_path / place
        status, out, err = run_cli("demo", "--output", folder, "--input", small_file, "--correct", place, *arguments)
        assert err == ""
        return status, out, folder

    return run


def dataset(path: Path, name: str) -> NDArray[Any]:
    with h5py.File(path) as file:
        return np.asarray(file["entry/data"][name][()])


def summary(folder: Path) -> dict[str, Any]:
    document: dict[str, Any] = json.loads((folder / "summary.json").read_text())
    return document


@pytest.mark.parametrize("options", [(), ("--drop", 0.2, "--seed", 5, "--mtu", 256)], ids=["all came", "some lost"])
def test_both_places_give_the_same_file_bit_for_bit(run_demo: RunDemo, options: tuple[object, ...]) -> None:
    (status, _, host), (also, _, gateware) = (run_demo(place, *options) for place in ("host", "gateware"))
    assert (status, also) == (0, 0)
    for name in (*RECORDS, *JUDGED):
        assert np.array_equal(dataset(host / "frames.h5", name), dataset(gateware / "frames.h5", name)), name
    was, now = summary(host), summary(gateware)
    assert bool(now["holes"]) == bool(options)
    for name in ("lost", "holes", "compared_pixels", "max_abs_error_photons", "error_bound_photons"):
        assert was[name] == now[name], name
    assert (was["corrected_by"], now["corrected_by"]) == ("host", "gateware")


def test_the_packets_hold_photons_and_lost_ones_are_holes(run_demo: RunDemo, small_file: Path) -> None:
    _, _, folder = run_demo("gateware", "--drop", 0.2, "--seed", 5)
    with JungfrauFile(small_file) as file:
        sent = np.stack([file.image(n) for n in range(file.n_frames)])
        model = correct_int16(sent, quantize(file.calibration))
    photons = dataset(folder / "frames.h5", "data")
    holes = photons == PixelCode.HOLE
    assert holes.any()
    assert np.array_equal(photons, np.where(holes, np.int16(PixelCode.HOLE), model))
    with h5py.File(folder / "frames.h5") as written:
        assert written["entry/data/data"].attrs["units"] == "photons"
        assert '"pixels":"corrected"' in written["entry/session"].asstr()[()]


def test_gateware_that_corrects_otherwise_than_the_host_ends_with_status_1(
    run_demo: RunDemo, monkeypatch: pytest.MonkeyPatch
) -> None:
    def wrong(fixed: FixedCalibration) -> tuple[FrameRing, Correction]:
        ring, correction = lay_out(fixed)
        pedestal = fixed.pedestal.copy()
        pedestal[0, 3, 5:9] += 4000
        return ring, replace(correction, fixed=replace(fixed, pedestal=pedestal))

    monkeypatch.setattr(ways, "lay_out", wrong)
    status, out, folder = run_demo("gateware", "--frames", 1)
    assert status == 1
    assert "4 pixels arrived and are not what the host would make of those that were sent" in out
    assert summary(folder)["wrong_words"] == 4


@pytest.fixture
def capture(run_demo: RunDemo) -> Path:
    _, _, folder = run_demo("gateware")
    return folder


def test_a_replay_of_photons_is_judged_without_a_calibration(run_cli: RunCli, capture: Path, tmp_path: Path) -> None:
    output = tmp_path / "again.h5"
    options = ("--pcap", capture / "tx.pcap", "--session", capture / "session.json", "--output", output)
    status, _, err = run_cli("recv", *options, "--sparse", 10)
    assert (status, err) == (0, "")
    for name in (*RECORDS, *JUDGED):
        assert np.array_equal(dataset(output, name), dataset(capture / "frames.h5", name)), name
    photons = dataset(output, "data")
    with h5py.File(output) as file:
        assert file["entry/data/data"].attrs["units"] == "photons"
        assert "beam" not in file["entry/instrument"], "its energy is not known"
        assert file["entry/instrument/detector/saturation_value"][()] == 32700
        assert len(file["entry/sparse/values"]) == ((photons >= 10) & (photons <= 32700)).sum() > 0


def test_photons_are_not_corrected_again(run_cli: RunCli, capture: Path, tmp_path: Path) -> None:
    output = tmp_path / "out" / "again.h5"
    output.parent.mkdir()
    options = ("--pcap", capture / "tx.pcap", "--session", capture / "session.json", "--output", output)
    status, _, err = run_cli("recv", *options, "--calibration", capture / "calibration.h5")
    assert status == 2
    assert "they would be corrected twice: leave out --calibration" in err
    assert list(output.parent.iterdir()) == []
