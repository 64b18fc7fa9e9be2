"""Which pixel goes where in the image of a detector: worked out once for a geometry."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from framelane.models.jungfrau.jf_geometry import (
    PLACE_COLUMNS,
    PLACE_ROWS,
    Geometry,
    ModulePlace,
    own_places,
    second_places,
)
from framelane.models.jungfrau.jf_packet import MODULE_COLUMNS, MODULE_ROWS

DoublePixels = Literal["keep", "mask", "split"]

_PIXELS = MODULE_ROWS * MODULE_COLUMNS
_ROWS, _SECOND_ROWS = own_places(MODULE_ROWS), second_places(MODULE_ROWS)
_COLUMNS, _SECOND_COLUMNS = own_places(MODULE_COLUMNS), second_places(MODULE_COLUMNS)
_TALL = (_ROWS != _SECOND_ROWS)[:, None]
_WIDE = (_COLUMNS != _SECOND_COLUMNS)[None, :]


@dataclass(frozen=True, eq=False, slots=True)
class AssemblyMap:
    """Pixels and places are counted through the raw frame and through the image, row by row."""

    pixels: NDArray[np.int64]
    """The pixel whose value a place gets, int64 (rows, columns); -1: none."""
    masked: NDArray[np.bool_]
    """Places that have pixels, which are not to be used; bool (rows, columns)."""
    doubles: NDArray[np.int64]
    """Pixels whose value is to be divided, int64 (n)."""
    shares: NDArray[np.int64]
    """Among how many places, 2 or 4; int64 (n)."""
    places: NDArray[np.int64]
    """These places, the pixel's own one first; int64 (n, 4), of which the first `shares` count."""
    runs: NDArray[np.int64]
    """All of `pixels`: place, pixel, length, step from pixel to pixel; int64 (n, 4)."""
    gaps: NDArray[np.int64]
    """All places without a pixel: place, length; int64 (n, 2)."""


def make_map(geometry: Geometry, double_pixels: DoublePixels) -> AssemblyMap:
    """The map of a geometry; see `assembly.Assembly` for what becomes of double pixels."""
    size = geometry.rows * geometry.columns
    pixels, masked = np.full(size, -1), np.zeros(size, np.bool_)
    doubles, shares, places, runs = [], [], [], []
    for index, module in enumerate(geometry.module):
        covered = _covered(module, geometry.columns)
        if module.masked:
            masked[covered] = True
            continue
        pixel = index * _PIXELS + np.arange(_PIXELS).reshape(MODULE_ROWS, MODULE_COLUMNS)
        double = _TALL | _WIDE
        if double_pixels == "keep":
            pixels[covered[..., 0]] = pixel
        elif double_pixels == "mask":
            pixels[covered[~double, 0]] = pixel[~double]
            masked[covered[double]] = True
        else:
            pixels[covered] = pixel[..., None]
            doubles.append(pixel[double])
            shares.append(((1 + _TALL) * (1 + _WIDE))[double])
            places.append(covered[double])
        runs.append(_runs(pixels.reshape(geometry.rows, -1), module))
    image = pixels.reshape(geometry.rows, -1)
    empty = np.zeros(0, np.int64)
    return AssemblyMap(
        image,
        masked.reshape(image.shape),
        np.concatenate([empty, *doubles]),
        np.concatenate([empty, *shares]),
        np.concatenate([np.zeros((0, 4), np.int64), *places]),
        np.concatenate([np.zeros((0, 4), np.int64), *runs]),
        _spans(pixels < 0),
    )


def _covered(module: ModulePlace, columns: int) -> NDArray[np.int64]:
    """The places in the image that each pixel covers, int64 (512, 1024, 4): 1, 2 or 4 of them, the rest repeats them.

    Its own place is the first.
    """
    rows, width = module.shape
    image = (module.y + np.arange(rows)[:, None]) * columns + module.x + np.arange(width)
    place = np.empty((PLACE_ROWS, PLACE_COLUMNS), np.int64)
    place.reshape(-1)[module.turn(np.arange(place.size).reshape(place.shape))] = image
    own, beside, below, across = (
        place[np.ix_(r, c)] for r in (_ROWS, _SECOND_ROWS) for c in (_COLUMNS, _SECOND_COLUMNS)
    )
    return np.stack([own, np.where(_WIDE, beside, below), below, across], axis=-1)


def _runs(image: NDArray[np.int64], module: ModulePlace) -> NDArray[np.int64]:
    """The runs of one module: pixels at equal steps in adjacent places of a row."""
    rows, columns = module.shape
    here = image[module.y : module.y + rows, module.x : module.x + columns]
    step = int(np.diff(module.turn(np.arange(_PIXELS).reshape(MODULE_ROWS, MODULE_COLUMNS))[0, :2])[0])
    joined = (here[:, :-1] >= 0) & (here[:, 1:] >= 0) & (np.diff(here, axis=1) == step)
    begins, ends = here >= 0, here >= 0
    begins[:, 1:] &= ~joined
    ends = ends.copy()
    ends[:, :-1] &= ~joined
    row, column = np.nonzero(begins)
    length = np.nonzero(ends)[1] - column + 1
    place = (module.y + row) * image.shape[1] + module.x + column
    return np.stack([place, here[row, column], length, np.full(len(row), step)], axis=1)


def _spans(chosen: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Start and length of each run of chosen places in a row, int64 (n, 2)."""
    edges = np.flatnonzero(np.diff(chosen.astype(np.int8), prepend=0, append=0))
    return np.stack([edges[::2], edges[1::2] - edges[::2]], axis=1)
