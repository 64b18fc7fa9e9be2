"""Images of a detector: every pixel where it is, no charge lost or made, codes kept."""

from collections.abc import Callable
from itertools import product
from typing import Any, Literal

import numpy as np
import pytest
from numpy.typing import NDArray

from framelane.base.errors import ConfigError, InputError
from framelane.models.jungfrau.jf_geometry import Geometry, ModulePlace
from framelane.receiver.geometry.assembly import Assembly
from framelane.receiver.geometry.assembly_map import DoublePixels
from framelane.receiver.geometry.geometry_file import load
from framelane.receiver.sinks.mask_bits import DEAD, GAP, USER, VIRTUAL

MODES: list[DoublePixels] = ["keep", "mask", "split"]
MASKED = -32767
Turn = Literal[0, 90, 180, 270]
Flip = Literal["none", "rows", "columns"]


def overlap(size: int) -> NDArray[np.float64]:
    """The share of each pixel along an axis that lies in each place of 75 um, (places, pixels)."""
    border = [n for chip in range(256, size, 256) for n in (chip - 1, chip)]
    width = np.ones(size)
    width[border] = 2
    end = np.cumsum(width)
    place = np.arange(int(end[-1]))[:, None]
    shares: NDArray[np.float64] = np.clip(np.minimum(place + 1, end) - np.maximum(place, end - width), 0, 1) / width
    return shares


def on_chips(module: NDArray[Any], filler: Any) -> NDArray[Any]:
    """A module with two places between its chips."""
    image = np.full((514, 1030), filler, module.dtype)
    for row, column in product(range(2), range(4)):
        chip = module[256 * row : 256 * row + 256, 256 * column : 256 * column + 256]
        image[258 * row : 258 * row + 256, 258 * column : 258 * column + 256] = chip
    return image


def without_doubles(module: NDArray[Any], filler: Any) -> NDArray[Any]:
    module = module.copy()
    module[[255, 256]] = filler
    module[:, [255, 256, 511, 512, 767, 768]] = filler
    return module


def one_module(**changes: Any) -> Geometry:
    rows, columns = (1030, 514) if changes.get("rotate") in (90, 270) else (514, 1030)
    return Geometry(name="one", rows=rows, columns=columns, module=(ModulePlace(x=0, y=0, **changes),))


def values(dtype: type[Any], frames: int = 2, modules: int = 1, seed: int = 1) -> NDArray[Any]:
    rng = np.random.default_rng(seed)
    return rng.integers(-300, 32701, (frames, modules * 512, 1024)).astype(dtype)


@pytest.mark.parametrize("dtype", [np.int16, np.float32])
@pytest.mark.parametrize("masked", [False, True])
def test_whole_charge_lies_on_the_chips_even_grid(dtype: type[Any], masked: bool) -> None:
    frames, filler = values(dtype), MASKED if dtype is np.int16 else np.nan
    images = Assembly(one_module(), "mask" if masked else "keep")(frames)
    assert images.dtype == dtype
    for frame, image in zip(frames, images, strict=True):
        expected = on_chips(without_doubles(frame, filler) if masked else frame, filler)
        assert np.array_equal(image, expected, equal_nan=dtype is np.float32)


def test_divided_charge_is_in_proportion_to_the_area_that_a_pixel_covers() -> None:
    frames = values(np.float32)
    expected = overlap(512) @ frames.astype(np.float64) @ overlap(1024).T
    assert (Assembly(one_module(), "split")(frames) == expected).all()


def test_in_int16_divided_charge_keeps_its_sum_and_is_fair_within_one_unit() -> None:
    frames = values(np.int16)
    frames[0, 255, 255:257] = (-1, -3)
    images = Assembly(one_module(), "split")(frames)
    assert images.sum(dtype=np.int64) == frames.sum(dtype=np.int64)
    exact = overlap(512) @ frames.astype(np.float64) @ overlap(1024).T
    assert np.abs(images - exact).max() < 1
    # Of every single pixel, not only of all of them.
    corner = images[0, 255:257, 255:257]
    assert (corner.sum(), corner.min()) == (-1, -1)
    for border in (255, 258):
        beside = 256 if border == 255 else 257
        pixel = frames[:, 100, 255 if border == 255 else 256]
        assert (images[:, 100, border] + images[:, 100, beside] == pixel).all()


def test_what_does_not_divide_evenly_favours_no_place() -> None:
    """One photon in each double pixel: as many lie on one side of a border as on the other, and in a row."""
    frames = np.ones((1, 512, 1024), np.int16)
    image = Assembly(one_module(), "split")(frames)[0]
    sides = image[:, [255, 256, 257, 258]].sum(0, dtype=int) - 256
    assert np.abs(sides).max() <= 4
    tops = image[[255, 256, 257, 258]].sum(1, dtype=int) - 512
    assert np.abs(tops).max() <= 8


@pytest.mark.parametrize("code", [-32768, -32767, -32766, 32767])
def test_a_code_is_not_divided_but_copied(code: int) -> None:
    frames = np.zeros((1, 512, 1024), np.int16)
    frames[0, 256, 512] = frames[0, 10, 767] = code
    image = Assembly(one_module(), "split")(frames)[0]
    assert np.argwhere(image == code).tolist() == [
        *([10, column] for column in (771, 772)),
        *([row, column] for row in (257, 258) for column in (515, 516)),
    ]
    assert np.count_nonzero(image) == 6


def test_nan_is_nan_in_all_places_of_its_pixel() -> None:
    frames = np.zeros((1, 512, 1024), np.float32)
    frames[0, 255, 255] = np.nan
    image = Assembly(one_module(), "split")(frames)[0]
    assert np.argwhere(np.isnan(image)).tolist() == [[255, 255], [255, 256], [256, 255], [256, 256]]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("flip", ["none", "rows", "columns"])
@pytest.mark.parametrize("rotate", [0, 90, 180, 270])
def test_a_turned_module_lies_flipped_and_then_rotated_clockwise(mode: DoublePixels, flip: Flip, rotate: Turn) -> None:
    frames = values(np.int16, frames=1)
    straight = Assembly(one_module(), mode)(frames)[0]
    turned = Assembly(one_module(flip=flip, rotate=rotate), mode)(frames)[0]
    row, column = np.indices(straight.shape)
    if flip == "rows":
        row = 513 - row
    if flip == "columns":
        column = 1029 - column
    clockwise: dict[int, Callable[[], tuple[Any, Any]]] = {
        0: lambda: (row, column),
        90: lambda: (column, 513 - row),
        180: lambda: (513 - row, 1029 - column),
        270: lambda: (1029 - column, row),
    }
    assert (turned[clockwise[rotate]()] == straight).all()


@pytest.mark.parametrize("mode", MODES)
def test_the_modules_of_the_4m_lie_where_jungfraujoch_puts_them(mode: DoublePixels) -> None:
    frames = values(np.int16, frames=1, modules=8)
    image = Assembly(load("jungfrau_4m"), mode)(frames)[0]
    expected = np.full((2164, 2068), MASKED, np.int16)
    for index in range(8):
        module = Assembly(one_module(), mode)(frames[:, 512 * index : 512 * index + 512])[0]
        top, left = 550 * (3 - index // 2), 1038 * (index % 2)
        expected[top : top + 514, left : left + 1030] = module[::-1]
    assert (image == expected).all()


def test_a_masked_module_is_masked_whole_and_the_others_are_not() -> None:
    places = (ModulePlace(x=0, y=0, masked=True), ModulePlace(x=3, y=520, rotate=180))
    geometry = Geometry(name="two", rows=1040, columns=1035, module=places)
    frames = values(np.int16, modules=2)
    for mode in MODES:
        image = Assembly(geometry, mode)(frames)[1]
        assert (image[:520] == MASKED).all()
        assert (image[520:1034, 3:1033] == Assembly(one_module(rotate=180), mode)(frames[1:, 512:])[0]).all()
        mask = Assembly(geometry, mode).pixel_mask()
        assert (mask[:514, :1030] == USER).all()
        assert (mask[514:520] == GAP).all()


def test_many_frames_are_each_their_own_image_on_any_number_of_threads() -> None:
    frames = values(np.int16, frames=7)
    alone = np.stack([Assembly(one_module(), "split", threads=1)(frame) for frame in frames])
    memory = np.empty_like(alone)
    assert Assembly(one_module(), "split", threads=3)(frames, memory) is memory
    assert (memory == alone).all()


def test_the_pixel_mask_tells_gaps_dead_masked_and_virtual_pixels() -> None:
    usable = np.ones((512, 1024), np.bool_)
    usable[255, 0] = usable[3, 3] = False
    masks = {mode: Assembly(one_module(), mode).pixel_mask(usable) for mode in MODES}
    assert {mode: mask[3, 3] for mode, mask in masks.items()} == dict.fromkeys(MODES, DEAD)
    assert {mode: mask[255, 0] for mode, mask in masks.items()} == {"keep": DEAD, "mask": USER, "split": VIRTUAL | DEAD}
    assert {mode: mask[256, 0] for mode, mask in masks.items()} == {"keep": GAP, "mask": USER, "split": VIRTUAL | DEAD}
    doubles = on_chips(without_doubles(np.ones((512, 1024), np.int16), 0), 0) == 0
    assert ((masks["split"] & VIRTUAL != 0) == doubles).all()
    assert ((masks["mask"] & USER != 0) == doubles).all()
    assert ((masks["keep"] & GAP != 0) == (on_chips(np.ones((512, 1024), np.int16), 0) == 0)).all()


@pytest.mark.parametrize(
    ("shape", "dtype", "sentence"),
    [
        (
            (512, 1024),
            np.int16,
            "frames of 512 x 1024 pixels do not fit the geometry 'JUNGFRAU 4M', whose 8 modules",
        ),
        ((3, 4608, 1024), np.int16, "frames of 4608 x 1024 pixels do not fit"),
        ((1, 1, 4096, 1024), np.int16, "needed are int16 or float32 in 2 or 3 axes"),
        ((4096, 1024), np.float64, "frames are float64"),
        ((4096, 1024), np.uint16, "frames are uint16"),
    ],
)
def test_frames_that_do_not_fit_are_one_sentence(shape: tuple[int, ...], dtype: type[Any], sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        Assembly(load("jungfrau_4m"))(np.zeros(shape, dtype))


def test_memory_that_does_not_fit_is_refused() -> None:
    assembly, frames = Assembly(one_module()), values(np.int16)
    for memory in (
        np.empty((1, 514, 1030), np.int16),
        np.empty((2, 514, 1030), np.float32),
        np.empty((2, 514, 2060), np.int16)[..., ::2],
    ):
        with pytest.raises(InputError, match="the memory for images is"):
            assembly(frames, memory)


def test_an_unknown_treatment_of_double_pixels_is_refused() -> None:
    with pytest.raises(ConfigError, match="'halve': choose one of keep, mask, split"):
        Assembly(one_module(), "halve")  # type: ignore[arg-type]
