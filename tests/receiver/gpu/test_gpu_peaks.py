"""The GPU's peak finder equals the reference in every integer: its CUDA sources run by the host, and on a GPU."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from framelane.base.errors import ConfigError, InputError
from framelane.models.jungfrau.jf_correct import correct_int16
from framelane.models.jungfrau.jf_fixed import quantize
from framelane.models.peaks.peak_finder import Peaks, find_peaks
from framelane.models.peaks.peak_settings import Panel, PeakSettings
from framelane.receiver.gpu.peak_finder import GpuPeakFinder
from framelane.receiver.jungfrau.jungfrau_file import JungfrauFile
from framelane.receiver.peaks import PeakFinder
from peak_images import CODES, background, nasty, spots
from peaks_on_host import HostPeakFinder

SHAPE = (45, 67)
LARGE = (4096, 1024)
MODULES = Panel.grid(LARGE, 512, 1024)
EVERYTHING = {"min_pixels": 1, "max_pixels": 1 << 20}

Find = Callable[[NDArray[np.int16]], Peaks]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """For what the host's compiler makes."""
    return tmp_path_factory.mktemp("peaks")


@pytest.fixture(params=["host", "gpu"])
def finder(request: pytest.FixtureRequest) -> Callable[..., Find]:
    """Make a peak finder, of `HostPeakFinder` or `GpuPeakFinder`, that takes images of numpy."""
    if request.param == "host":
        folder: Path = request.getfixturevalue("folder")
        return lambda *arguments, **more: HostPeakFinder(folder, *arguments, **more)
    module = request.getfixturevalue("cp")

    def make(*arguments: Any, **more: Any) -> Find:
        made = GpuPeakFinder(*arguments, **more)

        def find(images: NDArray[np.int16]) -> Peaks:
            made.queue(module.asarray(images))
            return made.read(len(images))

        return find

    return make


def check(found: Peaks, expected: Peaks) -> None:
    assert found.sums.dtype == expected.sums.dtype
    np.testing.assert_array_equal(found.found, expected.found)
    np.testing.assert_array_equal(found.sums, expected.sums)


@pytest.mark.parametrize(
    "settings",
    [
        PeakSettings(),
        PeakSettings(rounds=1),
        PeakSettings(rounds=2, snr=3.125, minimum=1, **EVERYTHING),
        PeakSettings(rounds=3, outer=1, inner=0, min_ring=1, min_pixels=1, snr=2.0),
        PeakSettings(rounds=4, outer=10, inner=3, min_ring=200, snr=16.0),
        PeakSettings(rounds=7, snr=1.0, minimum=1, min_pixels=1),
        PeakSettings(outer=20, inner=2, snr=0.125, min_ring=1),
        PeakSettings(outer=60, inner=59, snr=1.0, min_ring=1, limit=5),
        PeakSettings(limit=0),
    ],
)
def test_random_images_have_the_peaks_of_the_reference(finder: Callable[..., Find], settings: PeakSettings) -> None:
    images = np.stack([spots(SHAPE, n, share=0.02 * n) for n in (1, 4)])
    for usable in (None, np.random.default_rng(1).random(SHAPE) < 0.97):
        expected = find_peaks(images, settings, usable=usable)
        assert expected.found.any()
        check(finder(SHAPE, settings, usable=usable, frames=2)(images), expected)


@pytest.mark.parametrize("name", sorted(nasty(SHAPE)))
def test_nasty_images_have_the_peaks_of_the_reference(finder: Callable[..., Find], name: str) -> None:
    images = nasty(SHAPE)[name][None]
    for settings in (PeakSettings(), PeakSettings(minimum=1, snr=1.0, rounds=3, **EVERYTHING)):
        check(finder(SHAPE, settings)(images), find_peaks(images, settings))


@pytest.mark.parametrize(
    "panels",
    [
        Panel.grid((120, 90), 30, 45),
        (Panel(3, 1, 62, 50), Panel(0, 60, 5, 30), Panel(5, 51, 40, 39)),
        (Panel(0, 89, 120, 1), Panel(10, 0, 1, 89), Panel(11, 7, 1, 1)),
        Panel.grid((120, 90), 8, 5),
        (),
    ],
)
def test_panels_end_rings_and_peaks_and_order_them(finder: Callable[..., Find], panels: tuple[Panel, ...]) -> None:
    shape = (120, 90)
    images = np.stack([spots(shape, 5), nasty(shape)["stripes"], spots(shape, 6, share=0.1)])
    for settings in (PeakSettings(min_ring=5, min_pixels=1), PeakSettings(min_ring=5, min_pixels=1, limit=7)):
        check(finder(shape, settings, panels, frames=3)(images), find_peaks(images, settings, panels))


def test_panels_in_any_order_have_their_peaks_in_that_order(finder: Callable[..., Find]) -> None:
    images, panels = spots((60, 90), 5)[None], Panel.grid((60, 90), 20, 30)[::-1]
    expected = find_peaks(images, PeakSettings(), panels)
    assert len(set(expected.sums["panel"].tolist())) > 3
    check(finder((60, 90), PeakSettings(), panels)(images), expected)


@pytest.mark.parametrize("shape", [(1, 1), (1, 200), (200, 1), (3, 5), (13, 13), (129, 33), (40, 64), (9, 1024)])
def test_images_of_any_size_have_the_peaks_of_the_reference(
    finder: Callable[..., Find], shape: tuple[int, int]
) -> None:
    images = spots(shape, 6, share=0.05)[None]
    settings = PeakSettings(min_ring=1, min_pixels=1, snr=2.0)
    check(finder(shape, settings)(images), find_peaks(images, settings))


def test_a_whole_image_of_bright_pixels_is_gone_through(finder: Callable[..., Find]) -> None:
    """Every second column of ones among thousands: each is one group from top to bottom."""
    images = np.zeros((1, *SHAPE), np.int16)
    images[0, :, ::2] = 30000
    settings = PeakSettings(snr=0.0, rounds=1, **EVERYTHING)
    expected = find_peaks(images, settings)
    assert expected.sums["pixels"].max() == SHAPE[0]
    check(finder(SHAPE, settings)(images), expected)


def test_a_comb_is_one_peak_however_its_pixels_are_met(finder: Callable[..., Find]) -> None:
    """Teeth that are connected by their last row only, and a spiral."""
    comb = background(SHAPE, 1)
    comb[3:40, 2:60:3] = comb[40, 2:60] = 9000
    spiral = background(SHAPE, 2)
    for turn in range(0, 20, 3):
        spiral[turn : 44 - turn, turn] = spiral[43 - turn, turn : 66 - turn] = 9000
        spiral[turn : 44 - turn, 65 - turn] = spiral[turn, turn + 3 : 66 - turn] = 9000
    images = np.stack([comb, spiral])
    settings = PeakSettings(outer=3, inner=1, min_ring=5, snr=0.125, rounds=1, **EVERYTHING)
    expected = find_peaks(images, settings)
    assert expected.sums["pixels"].max() > 600
    check(finder(SHAPE, settings, frames=2)(images), expected)


def test_nothing_of_one_batch_is_left_in_the_next(finder: Callable[..., Find]) -> None:
    settings = PeakSettings(rounds=3)
    find = finder(SHAPE, settings, frames=3)
    images = [*nasty(SHAPE).values(), spots(SHAPE, 7), np.zeros(SHAPE, np.int16)]
    for first in range(len(images)):
        batch = np.stack(images[first : first + 1 + first % 3])
        check(find(batch), find_peaks(batch, settings))


def test_more_peaks_than_the_limit_are_counted_and_the_first_are_described(finder: Callable[..., Find]) -> None:
    images = np.stack([spots((120, 120), 8, codes=0), spots((120, 120), 9, codes=0)])
    for limit in (0, 1, 3, 20, 1 << 40):
        settings = PeakSettings(limit=limit)
        expected = find_peaks(images, settings, Panel.grid((120, 120), 60, 60))
        assert expected.found.min() > 10
        check(finder((120, 120), settings, Panel.grid((120, 120), 60, 60), frames=2)(images), expected)


@pytest.mark.parametrize(("least", "most"), [(1, 50), (2, 50), (1, 3), (3, 3), (4, 4)])
def test_peaks_of_too_few_or_too_many_pixels_are_none(finder: Callable[..., Find], least: int, most: int) -> None:
    image = background((40, 60), 7)
    image[10, 10], image[10, 30:32], image[30, 20:24] = 300, 300, 300
    settings = PeakSettings(min_pixels=least, max_pixels=most)
    check(finder((40, 60), settings)(image[None]), find_peaks(image[None], settings))


def test_of_equally_bright_pixels_the_first_one_is_the_top(finder: Callable[..., Find]) -> None:
    image = background(SHAPE, 4)
    image[20, 21:24] = image[21, 19:24] = image[22, 20] = 77
    expected = find_peaks(image[None], PeakSettings())
    assert expected.sums[["max_row", "max_column"]].tolist() == [(20, 21)]
    check(finder(SHAPE, PeakSettings())(image[None]), expected)


def test_all_pixels_masked_or_all_codes_have_no_peak(finder: Callable[..., Find]) -> None:
    images = np.stack([spots(SHAPE, 8), *(np.full(SHAPE, code, np.int16) for code in CODES)])
    masked = finder(SHAPE, PeakSettings(), usable=np.zeros(SHAPE, np.bool_), frames=5)
    assert masked(images).found.tolist() == [0] * 5
    assert finder(SHAPE, PeakSettings(), frames=5)(images).found.tolist()[1:] == [0] * 4


def test_the_minimum_is_in_photons_where_values_have_fraction_bits(finder: Callable[..., Find]) -> None:
    images = np.zeros((1, *SHAPE), np.int16)
    images[0, 20, 20:22], images[0, 30, 30:32] = 80, 79
    assert finder(SHAPE, PeakSettings(minimum=5), fraction_bits=4)(images).found.tolist() == [1]


def test_the_ends_of_the_range_do_not_overflow(finder: Callable[..., Find]) -> None:
    """Rings whose products come within a factor of 4 of 2**63."""
    settings = PeakSettings(outer=10, inner=2, snr=16.0, min_ring=100, **EVERYTHING)
    chess = np.where(np.indices(SHAPE).sum(0) % 2, -32700, 32700).astype(np.int16)
    low = np.full(SHAPE, -32700, np.int16)
    low[20:22, 30:33] = 32700
    images = np.stack([chess, low, -low])
    expected = find_peaks(images, settings)
    assert expected.found.tolist() == [0, 1, 0]
    check(finder(SHAPE, settings, frames=3)(images), expected)


@pytest.mark.parametrize("frames", [0, -1])
def test_a_finder_for_no_frames_cannot_be(folder: Path, frames: int) -> None:
    with pytest.raises(ConfigError, match="give 1 frame or more"):
        HostPeakFinder(folder, SHAPE, PeakSettings(), frames=frames)


def test_settings_that_do_not_fit_are_refused_before_the_first_frame(finder: Callable[..., Find]) -> None:
    with pytest.raises(ConfigError, match="overlaps"):
        finder(SHAPE, PeakSettings(), [Panel(0, 0, 9, 9), Panel(8, 8, 9, 9)])
    with pytest.raises(ConfigError, match="no pixel reaches"):
        finder(SHAPE, PeakSettings(), fraction_bits=13)


def test_real_modules_have_the_peaks_of_the_reference_by_module_and_by_chip(cp: Any, real_file: JungfrauFile) -> None:
    fixed = quantize(real_file.calibration)
    images = np.stack([correct_int16(real_file.image(n), fixed) for n in range(real_file.n_frames)])
    shape = images.shape[1], images.shape[2]
    for panels in (None, Panel.grid(shape, 256, 256)):
        made = GpuPeakFinder(shape, PeakSettings(), panels, frames=len(images))
        made.queue(cp.asarray(images))
        expected = find_peaks(images, PeakSettings(), panels)
        assert ((expected.found > 100) & (expected.found < 300)).all()
        check(made.read(), expected)


def large(seed: int, mean: float, share: float) -> NDArray[np.int16]:
    """A 4M image: so many photons a pixel, spots, dead pixels, and hot ones."""
    rng = np.random.default_rng(seed)
    image = rng.poisson(mean, LARGE).astype(np.int16)
    rows, columns = (rng.integers(0, size, int(share * image.size)) for size in LARGE)
    for row, column, photons in zip(rows, columns, np.exp(rng.uniform(1, 10, len(rows))), strict=True):
        image[row : row + 2, column : column + 3] += int(photons)
    stray = rng.random(LARGE) < 0.003
    image[stray] = rng.choice([*CODES, 3000, -700], int(stray.sum()))
    return image


@pytest.mark.parametrize(
    ("mean", "share", "settings"),
    [
        (1.0, 0.0001, PeakSettings()),
        (3.0, 0.0005, PeakSettings(rounds=3)),
        (9.0, 0.0001, PeakSettings(snr=3.0, min_pixels=1)),
        (0.2, 0.03, PeakSettings(minimum=1, snr=2.0, limit=300, **EVERYTHING)),
    ],
)
def test_frames_of_4m_pixels_have_the_peaks_of_the_cpu(
    cp: Any, mean: float, share: float, settings: PeakSettings
) -> None:
    images = np.stack([large(seed, mean, share) for seed in range(3)])
    expected = PeakFinder(LARGE, settings, MODULES)(images)
    made = GpuPeakFinder(LARGE, settings, MODULES, frames=12)
    on_gpu = cp.asarray(np.concatenate([images] * 4))
    for frames in (1, 3, 12, 2):
        made.queue(on_gpu[:frames])
        found = made.read(frames)
        assert found.found.tolist() == np.resize(expected.found, frames).tolist()
        of_frame = [expected.sums[expected.sums["frame"] == frame % 3].copy() for frame in range(frames)]
        for frame, rows in enumerate(of_frame):
            rows["frame"] = frame
        np.testing.assert_array_equal(found.sums, np.concatenate(of_frame))


def test_a_megapixel_of_bright_stripes_is_gone_through(cp: Any) -> None:
    images = np.zeros((1, 1024, 1024), np.int16)
    images[0, :, ::2] = 30000
    images[0, 512, 100:900] = 29000
    settings = PeakSettings(snr=0.0, rounds=1, **EVERYTHING)
    made = GpuPeakFinder((1024, 1024), settings)
    made.queue(cp.asarray(images))
    expected = PeakFinder((1024, 1024), settings)(images)
    assert expected.sums["pixels"].max() > 400_000
    check(made.read(), expected)


@pytest.mark.parametrize(("gap", "offset"), [(0, 0), (8, 8), (5, 3), (64, 1)])
def test_frames_may_lie_anywhere(cp: Any, gap: int, offset: int) -> None:
    images = np.stack([spots((40, 64), seed) for seed in range(5)])
    stride = 40 * 64 + gap
    memory = cp.full(offset + 5 * stride, 999, np.int16)
    slots = memory[offset:].reshape(5, stride)
    slots[:, : 40 * 64] = cp.asarray(images.reshape(5, -1))
    view = cp.lib.stride_tricks.as_strided(slots, (5, 40, 64), (stride * 2, 128, 2))
    made = GpuPeakFinder((40, 64), PeakSettings(), frames=5)
    made.queue(view)
    check(made.read(), find_peaks(images, PeakSettings()))
    made.queue(view[::2])
    check(made.read(3), find_peaks(images[::2], PeakSettings()))


def test_a_captured_search_finds_the_peaks_of_what_is_there_when_it_runs(cp: Any) -> None:
    images = [spots(SHAPE, seed)[None] for seed in range(4)]
    made, place = GpuPeakFinder(SHAPE, PeakSettings()), cp.zeros((1, *SHAPE), np.int16)
    made.queue(place)  # the kernels are compiled
    stream = cp.cuda.Stream(non_blocking=True)
    cp.cuda.Device().synchronize()
    with stream:
        stream.begin_capture()
        made.queue(place)
        graph = stream.end_capture()
        for image in images:
            place.set(image)
            graph.launch()
            check(made.read(), find_peaks(image, PeakSettings()))


def test_launches_can_be_prepared_and_used_for_images_elsewhere(cp: Any) -> None:
    shape = (40, 64)
    prepared: list[tuple[Any, ...]] = []
    made = GpuPeakFinder(shape, PeakSettings(), launch=lambda *launch: prepared.append(launch))
    images = np.stack([spots(shape, seed) for seed in (3, 4)])
    on_gpu = cp.asarray(images)
    made.queue(on_gpu[:1])
    assert len(prepared) == 7
    for n in (1, 0):
        for function, blocks, threads, arguments in prepared:
            function((blocks,), (threads,), (np.uintp(on_gpu[n].data.ptr), *arguments[1:]))
        check(made.read(), find_peaks(images[n : n + 1], PeakSettings()))


def test_nothing_is_allocated_after_the_start(cp: Any) -> None:
    images = cp.asarray(spots(SHAPE, 3)[None])
    made = GpuPeakFinder(SHAPE, PeakSettings())
    made.queue(images)
    before = cp.get_default_memory_pool().total_bytes()
    for _ in range(100):
        made.queue(images)
    cp.cuda.Device().synchronize()
    assert cp.get_default_memory_pool().total_bytes() == before


def test_images_that_do_not_fit_are_refused(cp: Any) -> None:
    made = GpuPeakFinder(SHAPE, PeakSettings(), frames=2)
    for images in (cp.zeros(SHAPE, np.int16), cp.zeros((1, *SHAPE), np.uint16), cp.zeros((1, 45, 66), np.int16)):
        with pytest.raises(InputError, match=r"needed are int16 of \(frames, 45, 67\)"):
            made.queue(images)
    with pytest.raises(InputError, match="have room for 2 frames, 3 are given"):
        made.queue(cp.zeros((3, *SHAPE), np.int16))


def test_many_runs_find_the_same(cp: Any) -> None:
    images = np.stack([large(1, 3.0, 0.001)])
    made, on_gpu = GpuPeakFinder(LARGE, PeakSettings(rounds=3), MODULES), cp.asarray(images)
    expected = PeakFinder(LARGE, PeakSettings(rounds=3), MODULES)(images)
    for _ in range(300):
        made.queue(on_gpu)
        check(made.read(), expected)
