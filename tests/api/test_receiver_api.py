"""`framelane.receiver` as from a notebook: arrays and files that are at hand."""

from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
from numpy.typing import NDArray

from framelane.base.errors import ConfigError, InputError
from framelane.calibration import Calibration, read_calibration
from framelane.cli.option_names import sentence
from framelane.models.jungfrau.jf_correct import correct_int16
from framelane.models.jungfrau.jf_fixed import quantize
from framelane.models.peaks import peak_finder
from framelane.receiver import (
    Correction,
    Panel,
    PeakSettings,
    RawFrames,
    correct,
    correct_file,
    find_peaks,
    read_geometry,
)
from framelane.receiver.pipeline.veto import Reason
from peak_images import spots


@pytest.fixture
def calibration(small_file: Path) -> Calibration:
    return read_calibration(small_file)


def test_raw_words_become_the_photons_of_the_golden_model(small_file: Path, calibration: Calibration) -> None:
    with RawFrames(str(small_file)) as frames:
        (batch,) = frames.batches()
    photons = correct(batch.words, calibration)
    assert photons.dtype == np.int16
    assert photons.shape == batch.words.shape
    np.testing.assert_array_equal(photons, correct_int16(batch.words, quantize(calibration)))
    np.testing.assert_array_equal(correct(batch.words[1], calibration), photons[1])
    quarters = correct(batch.words, calibration, fraction_bits=2)
    np.testing.assert_array_equal(quarters, correct_int16(batch.words, quantize(calibration, 2)))


def test_kev_are_photons_times_their_energy(small_file: Path, calibration: Calibration) -> None:
    with RawFrames(small_file) as frames:
        words = frames.batch(0).words
    energy = correct(words, calibration, output="float32", unit="keV")
    photons = correct(words, calibration, output="float32")
    assert energy.dtype == np.float32
    assert np.isnan(energy).sum() == np.isnan(photons).sum() > 0
    np.testing.assert_allclose(energy, photons * np.float32(12.4), rtol=1e-5)
    np.testing.assert_array_equal(energy, Correction(calibration, "float32", "keV")(words))


def test_an_array_of_another_kind_is_refused_in_a_sentence(calibration: Calibration) -> None:
    with pytest.raises(InputError, match="raw words have the dtype float64, needed is uint16"):
        correct(np.zeros((32, 256)), calibration)  # type: ignore[arg-type]
    with pytest.raises(InputError, match=r"raw words have the shape \(5, 5\), the calibration is for \(32, 256\)"):
        correct(np.zeros((5, 5), np.uint16), calibration)


def test_peaks_are_those_of_the_reference_one_image_or_several() -> None:
    rng = np.random.default_rng(4)
    images = rng.poisson(1.0, (3, 64, 128)).astype(np.int16)
    for frame, row, column in ((0, 10, 20), (0, 40, 100), (2, 30, 63)):
        images[frame, row : row + 2, column : column + 2] += 60
    expected = peak_finder.find_peaks(images, PeakSettings()).described()
    found = find_peaks(images)
    np.testing.assert_array_equal(found, expected)
    assert found["frame"].tolist() == [0, 0, 2]
    np.testing.assert_allclose(found["row"], [10.5, 40.5, 30.5], atol=0.1)
    np.testing.assert_array_equal(find_peaks(images[2])[["row", "column"]], found[2:][["row", "column"]])
    halves = Panel.grid((64, 128), 64, 64)
    split = find_peaks(images, panels=halves)
    np.testing.assert_array_equal(split, peak_finder.find_peaks(images, PeakSettings(), halves).described())
    assert split["panel"].tolist() == [0, 1, 0, 1], "no peak crosses a panel's border"
    usable = np.ones((64, 128), np.bool_)
    usable[:32] = False
    assert find_peaks(images, usable=usable)["row"].tolist() == [found["row"][1]]
    assert find_peaks(images, PeakSettings(minimum=1000)).size == 0


def test_settings_and_scale_are_those_that_are_given() -> None:
    images = np.stack([spots((64, 96), seed) for seed in (1, 2)])
    settings = PeakSettings(snr=4, minimum=3)
    expected = peak_finder.find_peaks(images, settings, fraction_bits=1).described(1)
    np.testing.assert_array_equal(find_peaks(images, settings, fraction_bits=1), expected)
    assert expected.size > 0


@pytest.mark.parametrize("images", [np.zeros((4, 4)), np.zeros(4, np.int16)])
def test_images_of_another_kind_are_refused_in_a_sentence(images: NDArray[Any]) -> None:
    with pytest.raises(InputError, match=r"the images are .*: give int16 \(frames, rows, columns\)"):
        find_peaks(images)


def test_a_file_is_corrected_into_another_and_tells_how_far_it_is(
    small_file: Path, calibration: Calibration, tmp_path: Path
) -> None:
    told: list[tuple[str, int, int]] = []
    done = correct_file(small_file, str(small_file), tmp_path / "photons.h5", progress=lambda *now: told.append(now))
    assert (done.corrected, done.left_out, dict(done.reasons)) == (3, 0, {Reason.ENOUGH_PEAKS: 3})
    assert told == [("prepare the correction", 0, 0), ("correct: small.h5", 0, 1)]
    with h5py.File(small_file) as file, h5py.File(tmp_path / "photons.h5") as photons:
        np.testing.assert_array_equal(photons["entry/data/data"], correct(file["raw"][()], calibration))
    with pytest.raises(ConfigError, match=r"^double_pixels is for assembled images: give geometry as well$"):
        correct_file(small_file, small_file, tmp_path / "p.h5", double_pixels="mask")
    with pytest.raises(InputError, match=r"it is an input of this run: give another output$") as error:
        correct_file(small_file, small_file, small_file)
    assert sentence(error.value).endswith(": give another --output")
    with pytest.raises(InputError, match=r"512 x 1024"):
        correct_file(small_file, small_file, tmp_path / "p.h5", geometry=read_geometry("jungfrau_500k"))
    assert not (tmp_path / "p.h5").exists()
