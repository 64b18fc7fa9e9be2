"""`framelane demo --transport pcie`: the same frames through the simulated endpoint into the ring, the same picture."""

import json
from collections.abc import Callable
from pathlib import Path

import h5py
import numpy as np
import pytest

from framelane.models.jungfrau.jf_correct import correct_int16
from framelane.models.jungfrau.jf_fixed import quantize
from framelane.receiver.jungfrau.jungfrau_file import JungfrauFile

RunCli = Callable[..., tuple[int, str, str]]
RESULTS = {"calibration.h5", "frames.h5", "report.png", "session.json", "summary.json"}
IMAGE_BYTES = 32 * 256 * 2


def test_the_frames_are_those_of_the_file_and_every_tlp_is_counted(
    run_cli: RunCli, tmp_path: Path, small_file: Path
) -> None:
    folder = tmp_path / "demo"
    status, out, err = run_cli(
        "demo", "--transport", "pcie", "--input", small_file, "--slots", 2, "--width", 128, "--output", folder
    )
    assert (status, err) == (0, "")
    assert {path.name for path in folder.iterdir()} == RESULTS
    assert "tx.pcap" not in out
    with JungfrauFile(small_file) as file:
        model = correct_int16(np.stack([file.image(n) for n in range(3)]), quantize(file.calibration))
    with h5py.File(folder / "frames.h5") as written:
        assert np.array_equal(written["entry/data/data"][()], model)
        assert written["entry/data/complete"][()].all()
    summary = json.loads((folder / "summary.json").read_text())
    assert (summary["frames_sent"], summary["complete"], summary["identity_holds"]) == (3, 3, True)
    assert summary["payload_bytes"] == 3 * (IMAGE_BYTES + 64 + 64), "pixels, trailer, event"
    assert summary["packets"] == 3 * (IMAGE_BYTES // 256 + 2)
    assert (summary["wrong_words"], summary["unplaced"], summary["refused"]) == (0, 0, {})
    assert summary["payload_efficiency"] == pytest.approx(0.914, abs=0.002), "P / (P + 24) at MPS 256"


def test_gateware_corrects_before_the_endpoint_as_it_does_before_the_network(
    run_cli: RunCli, tmp_path: Path, small_file: Path
) -> None:
    """The same photons in the same file: those of the model, over PCIe and over RDMA."""
    wanted = ("demo", "--correct", "gateware", "--input", small_file, "--slots", 2, "--width", 128)
    for folder, options in (("pcie", ("--transport", "pcie")), ("rdma", ())):
        status, _, err = run_cli(*wanted, *options, "--output", tmp_path / folder)
        assert (status, err) == (0, "")
    with JungfrauFile(small_file) as file:
        model = correct_int16(np.stack([file.image(n) for n in range(3)]), quantize(file.calibration))
    with h5py.File(tmp_path / "pcie" / "frames.h5") as here, h5py.File(tmp_path / "rdma" / "frames.h5") as there:
        assert np.array_equal(here["entry/data/data"][()], model)
        assert here["entry/data/data"].attrs["units"] == "photons"
        assert '"pixels":"corrected"' in here["entry/session"].asstr()[()]
        for name in ("data", "frame_number", "timestamp_ns", "bunch_id", "complete", "saturated", "masked", "peaks"):
            assert np.array_equal(here[f"entry/data/{name}"][()], there[f"entry/data/{name}"][()]), name
    summary, other = (json.loads((tmp_path / way / "summary.json").read_text()) for way in ("pcie", "rdma"))
    assert (summary["corrected_by"], summary["complete"], summary["identity_holds"]) == ("gateware", 3, True)
    assert (summary["wrong_words"], summary["unplaced"], summary["refused"]) == (0, 0, {})
    assert summary["payload_bytes"] == 3 * (IMAGE_BYTES + 64 + 64), "photons, trailer, event"
    assert summary["max_abs_error_photons"] == other["max_abs_error_photons"]


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (("--drop", 0.1), "--drop loses packets of a network"),
        (("--width", 64), "--width 64 is impossible with --transport pcie: choose one of 128, 256, 512"),
    ],
)
def test_what_pcie_does_not_have_is_refused(
    run_cli: RunCli, tmp_path: Path, small_file: Path, options: tuple[object, ...], sentence: str
) -> None:
    folder = tmp_path / "demo"
    status, _, err = run_cli("demo", "--transport", "pcie", "--input", small_file, "--output", folder, *options)
    assert status == 2
    assert sentence in err
    assert not folder.exists()
