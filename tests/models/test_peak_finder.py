"""The reference peak finder: peaks that were put there, the plainest arithmetic, and what can be asked of it at all."""

import math

import numpy as np
import pytest

from framelane.base.errors import ConfigError, InputError
from framelane.models.jungfrau.jf_correct import PixelCode
from framelane.models.peaks.peak_finder import find_peaks
from framelane.models.peaks.peak_settings import Panel, PeakSettings
from peak_images import background, nasty, plain_peaks, spots

SHAPE = (24, 31)
SMALL = PeakSettings(outer=4, inner=1, min_ring=20)


@pytest.mark.parametrize("rounds", [1, 2, 3])
@pytest.mark.parametrize("seed", range(4))
def test_the_bright_pixels_are_those_of_exact_fractions(seed: int, rounds: int) -> None:
    settings = PeakSettings(outer=4, inner=1, min_ring=20, snr=3.125, minimum=3, rounds=rounds, min_pixels=1)
    panels = (Panel(0, 0, 24, 15), Panel(0, 17, 11, 14), Panel(11, 17, 13, 14))
    usable = np.random.default_rng(seed).random(SHAPE) < 0.95
    image = spots(SHAPE, seed, share=0.03)
    expected = plain_peaks(image, settings, panels, usable)
    peaks = find_peaks(image[None], settings, panels, usable)
    assert len(expected) > 3
    assert [(p["panel"], p["pixels"], p["value_sum"]) for p in peaks.sums] == [
        (panel, len(pixels), sum(int(image[p]) for p in pixels)) for panel, pixels in expected
    ]
    tops = [min(pixels, key=lambda p: (-image[p], p)) for _, pixels in expected]
    assert [(p["max_row"], p["max_column"]) for p in peaks.sums] == tops


@pytest.mark.parametrize("name", sorted(nasty(SHAPE)))
def test_nasty_images_have_the_peaks_of_exact_fractions(name: str) -> None:
    image = nasty(SHAPE)[name]
    expected = plain_peaks(image, SMALL, (Panel(0, 0, *SHAPE),), np.ones(SHAPE, np.bool_))
    peaks = find_peaks(image[None], SMALL)
    assert [(p["pixels"], p["value_sum"]) for p in peaks.sums] == [
        (len(pixels), sum(int(image[p]) for p in pixels)) for _, pixels in expected
    ]


def test_a_spot_is_found_where_it_is_with_its_photons() -> None:
    """A symmetric spot of 1000 photons over a background of 4: its centroid is its centre, its intensity its own."""
    image = np.full((40, 40), 4, np.int16)
    image[1::2, ::2] = 6
    image[0::2, 1::2] = 2  # a quarter of the pixels has 2, a quarter 6
    image[19:22, 24:27] = np.array([[50, 100, 50], [100, 400, 100], [50, 100, 50]]) + 4
    peaks = find_peaks(image[None], PeakSettings())
    peak = peaks.described()[0]
    assert peaks.found.tolist() == [1]
    assert (peak["max_row"], peak["max_column"], peak["pixels"]) == (20, 25, 9)
    assert (peak["row"], peak["column"]) == (20.0, 25.0)
    assert peak["background"] == pytest.approx(4, abs=0.15)
    assert peak["sigma"] == pytest.approx(math.sqrt(2), abs=0.05)
    assert peak["intensity"] == pytest.approx(1000, abs=1.5)
    assert peak["max_value"] == 404.0


def test_a_spot_that_is_darker_than_its_background_is_no_peak() -> None:
    image = background((30, 30), 1, mean=1000.0)
    image[15, 15:17] = 500
    assert find_peaks(image[None], PeakSettings()).found[0] == 0
    image[15, 15:17] = 1500
    assert find_peaks(image[None], PeakSettings()).found[0] == 1


def test_the_centroid_is_weighted_by_what_is_above_the_background() -> None:
    image = np.full((30, 30), 10, np.int16)
    image[14, 14:16] = 110, 310
    peak = find_peaks(image[None], PeakSettings()).described()[0]
    assert (peak["row"], peak["column"]) == (14.0, 14.75)


def test_fractions_of_a_photon_change_the_unit_and_nothing_else() -> None:
    image = spots((60, 60), 1, codes=0) // 16
    whole = find_peaks(image[None], PeakSettings())
    fine = find_peaks(image[None] * np.int16(8), PeakSettings(), fraction_bits=3)
    assert len(whole.sums) > 5
    assert np.array_equal(whole.described(), fine.described(3))


def test_a_strong_neighbour_hides_a_weak_peak_only_in_the_first_round() -> None:
    image = background((40, 40), 2)
    image[20, 20:22] = 3000
    image[20, 25:27] = 40
    assert [find_peaks(image[None], PeakSettings(rounds=rounds)).found[0] for rounds in (1, 2)] == [1, 2]


@pytest.mark.parametrize("code", list(PixelCode))
def test_a_code_is_neither_bright_nor_background(code: PixelCode) -> None:
    image = background((30, 30), 3)
    image[15, 15:17] = 200
    clean = find_peaks(image[None], PeakSettings()).sums
    image[15, 19] = image[15, 12] = code
    image[5:7, 5:7] = code
    coded = find_peaks(image[None], PeakSettings()).sums
    assert len(clean) == len(coded) == 1
    assert coded["ring_pixels"][0] == clean["ring_pixels"][0] - 2
    assert coded["value_sum"][0] == 400


def test_a_masked_pixel_is_neither_bright_nor_background() -> None:
    image = background((30, 30), 3)
    image[15, 15:18] = 200
    usable = np.ones(image.shape, np.bool_)
    usable[15, 17] = usable[15, 20] = False
    sums = find_peaks(image[None], PeakSettings(), usable=usable).sums
    assert (sums["pixels"].tolist(), sums["ring_pixels"].tolist()) == ([2], [13 * 13 - 5 * 5 - 1])


def test_a_peak_at_a_saturated_pixel_says_so() -> None:
    image = background((30, 40), 4)
    image[10, 10:12], image[20, 30:32] = 800, 800
    image[11, 12] = PixelCode.SATURATED
    assert find_peaks(image[None], PeakSettings()).described()["saturated"].tolist() == [True, False]


def test_a_spot_across_a_gap_is_one_on_each_side_and_its_background_ends_there() -> None:
    image = np.full((30, 40), 1, np.int16)
    image[:, 20:] = 30
    image[15, 18:22] = 400
    halves = Panel.grid((30, 40), 30, 20)
    whole = find_peaks(image[None], PeakSettings(rounds=1))
    cut = find_peaks(image[None], PeakSettings(rounds=1), halves)
    assert (whole.sums["pixels"].tolist(), cut.sums["pixels"].tolist()) == ([4], [2, 2])
    assert cut.described()["background"].tolist() == [1.0, 30.0]
    assert cut.sums["panel"].tolist() == [0, 1]


def test_pixels_off_all_panels_are_not_looked_at() -> None:
    image = background((30, 40), 5)
    image[15, 10:12] = image[15, 30:32] = 300
    peaks = find_peaks(image[None], PeakSettings(), [Panel(0, 20, 30, 20)])
    assert peaks.sums["max_column"].tolist() == [30]


def test_pixels_that_touch_at_a_corner_are_one_peak_and_others_are_not() -> None:
    image = background((40, 40), 6)
    image[10, 10] = image[11, 11] = image[12, 10] = 300
    image[30, 10] = image[30, 11] = image[30, 13] = image[30, 14] = 300
    assert find_peaks(image[None], PeakSettings()).sums["pixels"].tolist() == [3, 2, 2]


@pytest.mark.parametrize(("least", "most", "found"), [(1, 50, 3), (2, 50, 2), (1, 3, 2), (3, 3, 0), (4, 4, 1)])
def test_peaks_of_too_few_or_too_many_pixels_are_none(least: int, most: int, found: int) -> None:
    image = background((40, 60), 7)
    image[10, 10], image[10, 30:32], image[30, 20:24] = 300, 300, 300
    assert find_peaks(image[None], PeakSettings(min_pixels=least, max_pixels=most)).found[0] == found


def test_more_peaks_than_the_limit_are_counted_and_the_first_are_described() -> None:
    image = spots((120, 120), 8, codes=0)
    everything = find_peaks(np.stack([image, image]), PeakSettings())
    few = find_peaks(np.stack([image, image]), PeakSettings(limit=3))
    assert everything.found[0] > 10
    assert np.array_equal(few.found, everything.found)
    first = everything.sums["frame"].tolist().index(1)
    assert np.array_equal(few.sums, everything.sums[[0, 1, 2, first, first + 1, first + 2]])


def test_a_pixel_with_too_little_background_is_not_bright() -> None:
    image = background((30, 30), 9)
    image[15, 15:17] = 300
    usable = np.zeros(image.shape, np.bool_)
    usable[9:22, 9:13] = usable[15, 15:17] = True
    assert find_peaks(image[None], PeakSettings(min_ring=26), usable=usable).found[0] == 1
    assert find_peaks(image[None], PeakSettings(min_ring=53), usable=usable).found[0] == 0


def test_one_photon_below_the_minimum_is_not_bright() -> None:
    image = np.zeros((30, 30), np.int16)
    image[15, 15:17] = 5, 4
    assert [find_peaks(image[None], PeakSettings(minimum=m, min_pixels=2)).found[0] for m in (4, 5)] == [1, 0]


def test_exactly_the_ratio_is_not_bright() -> None:
    """Mean 2 and sigma 1 in every ring; 6 sigma is 8."""
    image = np.where(np.indices((31, 31)).sum(0) % 2, 1, 3).astype(np.int16)
    settings = PeakSettings(min_pixels=1, rounds=1, outer=6, inner=2, snr=6.0, minimum=1)
    for value, found in ((8, 0), (9, 1)):
        image[15, 15] = value
        ring = find_peaks(image[None], PeakSettings(min_pixels=1, rounds=1, snr=1.0, minimum=4)).described()[0]
        assert (ring["background"], ring["sigma"]) == (2.0, 1.0)
        assert find_peaks(image[None], settings).found[0] == found


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"inner": 6}, "0 <= inner < outer"),
        ({"inner": -1}, "0 <= inner < outer"),
        ({"min_ring": 0}, "1 or more of them"),
        ({"min_ring": 145}, "it has 144 in all"),
        ({"snr": 6.1}, "a multiple of 1/8"),
        ({"snr": -1.0}, "a multiple of 1/8"),
        ({"snr": math.inf}, "a multiple of 1/8"),
        ({"outer": 100}, "more than 64 bits can compare"),
        ({"snr": 100.0}, "more than 64 bits can compare"),
        ({"minimum": 0}, "give 1 to 32700"),
        ({"minimum": 32701}, "give 1 to 32700"),
        ({"min_pixels": 0}, "1 <= min <= max"),
        ({"min_pixels": 51}, "1 <= min <= max"),
        ({"max_pixels": 1 << 21}, "at most 1048576"),
        ({"rounds": 0}, "1 round or more"),
        ({"limit": -1}, "0 peaks or more"),
    ],
)
def test_settings_that_cannot_be_are_one_sentence(changes: dict[str, float], sentence: str) -> None:
    with pytest.raises(ConfigError, match=sentence) as error:
        PeakSettings(**changes)  # type: ignore[arg-type]
    assert "\n" not in str(error.value)


def test_the_largest_settings_do_not_overflow() -> None:
    """Rings of 416 pixels at the ends of the range: the products come within a factor of 4 of 2**63."""
    settings = PeakSettings(outer=10, inner=2, snr=16.0, min_ring=100, min_pixels=1)
    image = np.where(np.indices((40, 40)).sum(0) % 2, -32700, 32700).astype(np.int16)
    assert plain_peaks(image[:22, :22], settings, (Panel(0, 0, 22, 22),), np.ones((22, 22), np.bool_)) == []
    assert find_peaks(image[None], settings).found.tolist() == [0]


@pytest.mark.parametrize(
    ("panels", "sentence"),
    [
        ([Panel(0, 0, 20, 20), Panel(19, 19, 5, 5)], "overlaps another panel"),
        ([Panel(0, 0, 0, 5)], "is empty"),
        ([Panel(-1, 0, 5, 5)], "not inside"),
        ([Panel(20, 20, 5, 12)], "not inside"),
    ],
)
def test_panels_that_cannot_be_are_refused(panels: list[Panel], sentence: str) -> None:
    with pytest.raises(ConfigError, match=sentence):
        find_peaks(background(SHAPE, 1)[None], SMALL, panels)


def test_images_and_masks_that_do_not_fit_are_refused() -> None:
    image = background(SHAPE, 1)
    with pytest.raises(InputError, match="needed is int16"):
        find_peaks(image, SMALL)
    with pytest.raises(InputError, match="needed is int16"):
        find_peaks(image[None].astype(np.float32), SMALL)
    with pytest.raises(InputError, match=r"needed is bool \(24, 31\)"):
        find_peaks(image[None], SMALL, usable=np.ones((31, 24), np.bool_))
    with pytest.raises(ConfigError, match="not a grid of panels"):
        Panel.grid(SHAPE, 7, 31)
    with pytest.raises(ConfigError, match="no pixel reaches 5 photons"):
        find_peaks(image[None], SMALL, fraction_bits=13)
