"""The compiled peak finder equals the reference in every integer: random, real and nasty images, any layout."""

import concurrent.futures

import numpy as np
import pytest
from numpy.typing import NDArray

from framelane.base.errors import ConfigError, InputError
from framelane.models.jungfrau.jf_correct import correct_int16
from framelane.models.jungfrau.jf_fixed import quantize
from framelane.models.peaks.peak_finder import Peaks, find_peaks
from framelane.models.peaks.peak_settings import Panel, PeakSettings
from framelane.receiver.jungfrau.jungfrau_file import JungfrauFile
from framelane.receiver.peaks import PeakFinder
from framelane.receiver.peaks.peak_finder import BAND_ROWS
from peak_images import CODES, nasty, spots

SHAPE = (45, 67)


def same(found: Peaks, expected: Peaks) -> bool:
    assert found.sums.dtype == expected.sums.dtype
    return np.array_equal(found.found, expected.found) and np.array_equal(found.sums, expected.sums)


@pytest.mark.parametrize(
    "settings",
    [
        PeakSettings(),
        PeakSettings(rounds=1),
        PeakSettings(rounds=2, snr=3.125, minimum=1, min_pixels=1, max_pixels=1 << 20),
        PeakSettings(rounds=3, outer=1, inner=0, min_ring=1, min_pixels=1, snr=2.0),
        PeakSettings(rounds=4, outer=10, inner=3, min_ring=200, snr=16.0),
        PeakSettings(outer=20, inner=2, snr=0.125, min_ring=1),
        PeakSettings(outer=60, inner=59, snr=1.0, min_ring=1, limit=5),
        PeakSettings(limit=0),
    ],
)
@pytest.mark.parametrize("seed", range(3))
def test_random_images_have_the_peaks_of_the_reference(settings: PeakSettings, seed: int) -> None:
    images = np.stack([spots(SHAPE, 10 * seed + n, share=0.02 * n) for n in range(4)])
    usable = np.random.default_rng(seed).random(SHAPE) < 0.97
    expected = find_peaks(images, settings, usable=usable)
    assert expected.found.any()
    assert same(PeakFinder(SHAPE, settings, usable=usable)(images), expected)


@pytest.mark.parametrize("name", sorted(nasty(SHAPE)))
def test_nasty_images_have_the_peaks_of_the_reference(name: str) -> None:
    images = nasty(SHAPE)[name][None]
    for settings in (PeakSettings(), PeakSettings(minimum=1, min_pixels=1, max_pixels=1 << 20, snr=1.0, rounds=3)):
        assert same(PeakFinder(SHAPE, settings)(images), find_peaks(images, settings))


@pytest.mark.parametrize(
    "panels",
    [
        Panel.grid((2 * BAND_ROWS + 60, 90), BAND_ROWS + 30, 45),
        (Panel(3, 1, 2 * BAND_ROWS + 2, 50), Panel(0, 60, 5, 30), Panel(5, 51, 40, 39)),
        (Panel(0, 89, 2 * BAND_ROWS + 60, 1), Panel(10, 0, 1, 89), Panel(11, 7, 1, 1)),
        (),
    ],
)
def test_panels_end_rings_and_peaks_across_bands_of_rows(panels: tuple[Panel, ...]) -> None:
    shape = (2 * BAND_ROWS + 60, 90)
    images = np.stack([spots(shape, 5), nasty(shape)["stripes"]])
    images[0, BAND_ROWS - 2 : BAND_ROWS + 3, 20:24] = 700  # a peak in two bands
    settings = PeakSettings(min_ring=5, min_pixels=1)
    assert same(PeakFinder(shape, settings, panels)(images), find_peaks(images, settings, panels))


@pytest.mark.parametrize("shape", [(1, 1), (1, 200), (200, 1), (3, 5), (13, 13), (BAND_ROWS + 1, 33)])
def test_images_of_any_size_have_the_peaks_of_the_reference(shape: tuple[int, int]) -> None:
    images = spots(shape, 6, share=0.05)[None]
    settings = PeakSettings(min_ring=1, min_pixels=1, snr=2.0)
    assert same(PeakFinder(shape, settings)(images), find_peaks(images, settings))


def test_a_whole_image_of_bright_pixels_is_gone_through() -> None:
    """Every second column of ones among thousands: each is one group from top to bottom."""
    images = np.zeros((1, *SHAPE), np.int16)
    images[0, :, ::2] = 30000
    settings = PeakSettings(snr=0.0, rounds=1, min_pixels=1, max_pixels=1 << 20)
    peaks = PeakFinder(SHAPE, settings)(images)
    assert peaks.sums["pixels"].max() == SHAPE[0]
    assert same(peaks, find_peaks(images, settings))


def test_nothing_of_one_frame_is_left_in_the_next() -> None:
    settings = PeakSettings(rounds=3)
    finder = PeakFinder(SHAPE, settings)
    for image in [*nasty(SHAPE).values(), spots(SHAPE, 7), np.zeros(SHAPE, np.int16)]:
        assert same(finder(image[None]), find_peaks(image[None], settings))


def test_all_pixels_masked_or_all_codes_have_no_peak() -> None:
    images = np.stack([spots(SHAPE, 8), *(np.full(SHAPE, code, np.int16) for code in CODES)])
    assert PeakFinder(SHAPE, PeakSettings(), usable=np.zeros(SHAPE, np.bool_))(images).found.tolist() == [0] * 5
    assert PeakFinder(SHAPE, PeakSettings())(images).found.tolist()[1:] == [0] * 4


@pytest.mark.parametrize("threads", [1, 2, 7])
def test_threads_change_nothing(threads: int) -> None:
    shape = (6 * BAND_ROWS + 5, 100)
    images = spots(shape, 9)[None]
    panels = Panel.grid((6 * BAND_ROWS + 4, 100), 386, 50)
    expected = find_peaks(images, PeakSettings(), panels)
    assert expected.found[0] > 50
    assert same(PeakFinder(shape, PeakSettings(), panels, threads=threads)(images), expected)


def test_finders_of_several_threads_do_not_disturb_each_other() -> None:
    images = [spots(SHAPE, seed)[None] for seed in range(16)]

    def right(batch: NDArray[np.int16]) -> bool:
        return same(PeakFinder(SHAPE, PeakSettings(), threads=2)(batch), find_peaks(batch, PeakSettings()))

    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        assert all(pool.map(right, images))


def test_frames_may_have_gaps_between_them_and_a_batch_may_be_empty() -> None:
    wide = np.stack([spots((SHAPE[0] + 3, SHAPE[1] + 5), seed) for seed in range(6)])
    images = wide[::2, 1:-2, 3:-2]
    finder = PeakFinder(SHAPE, PeakSettings())
    assert same(finder(images), find_peaks(images, PeakSettings()))
    assert same(finder(images[:0]), find_peaks(images[:0], PeakSettings()))


def test_the_minimum_is_in_photons_where_values_have_fraction_bits() -> None:
    images = np.zeros((1, *SHAPE), np.int16)
    images[0, 20, 20:22], images[0, 30, 30:32] = 80, 79
    assert PeakFinder(SHAPE, PeakSettings(minimum=5), fraction_bits=4)(images).found.tolist() == [1]


@pytest.mark.parametrize(
    "images", [np.zeros(SHAPE, np.int16), np.zeros((1, *SHAPE), np.uint16), np.zeros((1, 45, 66), np.int16)]
)
def test_images_that_do_not_fit_are_refused(images: NDArray[np.int16]) -> None:
    with pytest.raises(InputError, match=r"needed is int16 \(frames, rows, columns\) of \(45, 67\)"):
        PeakFinder(SHAPE, PeakSettings())(images)


def test_settings_that_do_not_fit_are_refused_before_the_first_frame() -> None:
    with pytest.raises(ConfigError, match="overlaps"):
        PeakFinder(SHAPE, PeakSettings(), [Panel(0, 0, 9, 9), Panel(8, 8, 9, 9)])
    with pytest.raises(ConfigError, match="no pixel reaches"):
        PeakFinder(SHAPE, PeakSettings(), fraction_bits=13)


def test_real_frames_have_the_peaks_of_the_reference_by_module_and_by_chip(real_file: JungfrauFile) -> None:
    fixed = quantize(real_file.calibration)
    images = np.stack([correct_int16(real_file.image(n), fixed) for n in range(real_file.n_frames)])
    shape = images.shape[1], images.shape[2]
    for panels in (None, Panel.grid(shape, 256, 256)):
        expected = find_peaks(images, PeakSettings(), panels)
        assert ((expected.found > 100) & (expected.found < 300)).all()
        assert same(PeakFinder(shape, PeakSettings(), panels)(images), expected)
