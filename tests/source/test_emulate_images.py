"""What an emulated source sends: simulated frames or those of a file, as the session wants them."""

from collections.abc import Callable
from pathlib import Path

import h5py
import numpy as np
import pytest

from emulation import receiving, saved
from framelane.calibration.calibration_file import CalibrationFile
from framelane.models.jungfrau.jf_correct import correct_int16, guard
from framelane.models.jungfrau.jf_fixed import quantize
from framelane.models.placement.slots import HOLE_WORD
from framelane.session.session import Session
from framelane.source.emulate_images import images

MakeSession = Callable[..., Session]
RunCli = Callable[..., tuple[int, str, str]]


def test_the_frames_of_a_file_come_again_and_again(
    run_cli: RunCli, make_session: MakeSession, network: tuple[str, str], small_file: Path
) -> None:
    session = make_session(rows=32, columns=256)
    with receiving(session) as live:
        options = ("--to", live.to, "--port", live.udp_port, "--frames", 7, "--input", small_file)
        assert run_cli("emulate", *options)[0] == 0
    with h5py.File(small_file) as file:
        raw = file["raw"][()]
    assert [np.array_equal(live.images[n], guard(raw[n % 3])[0]) for n in range(7)] == [True] * 7


def test_a_word_that_means_never_written_is_not_sent(make_session: MakeSession, tmp_path: Path) -> None:
    raw = np.arange(1600, dtype=np.uint16).reshape(1, 16, 100)
    raw[0, 3, 5:8] = HOLE_WORD
    with h5py.File(tmp_path / "raw.h5", "w") as file:
        file["raw"] = raw
    (image,) = images(make_session(), tmp_path / "raw.h5", None, 1)
    assert image[3, 4:9].tolist() == [304, 0xFFFF, 0xFFFF, 0xFFFF, 308]


def test_a_session_of_corrected_pixels_gets_corrected_ones(make_session: MakeSession, small_file: Path) -> None:
    session = make_session(rows=32, columns=256, pixels="corrected", unit="keV", fraction_bits=3)
    with h5py.File(small_file) as file, CalibrationFile(small_file) as calibration:
        expected = correct_int16(guard(file["raw"][1])[0], quantize(calibration.calibration, 3, "keV"))
    assert np.array_equal(images(session, small_file, None, 1)[1], expected)


@pytest.mark.parametrize(("rows", "columns"), [(512, 1024), (1024, 1024), (16, 100), (1, 1), (3, 4099)])
def test_the_simulated_detector_has_the_sessions_geometry_and_sends_no_hole_word(
    make_session: MakeSession, rows: int, columns: int
) -> None:
    pictures = images(make_session(rows=rows, columns=columns), None, None, 1)
    assert all(picture.shape == (rows, columns) for picture in pictures)
    assert not any((picture == HOLE_WORD).any() for picture in pictures)


def test_a_file_of_another_detector_is_refused(
    run_cli: RunCli, make_session: MakeSession, tmp_path: Path, small_file: Path
) -> None:
    path = saved(make_session(), tmp_path)
    status, _, err = run_cli("emulate", "--session", path, "--input", small_file)
    assert status == 2
    assert "have 32 x 256 pixels, the session's 16 x 100: give a file of this detector" in err
