"""Bragg peaks in corrected images: the reference, in integers, that every other peak finder has to equal.

The method follows peakfinder8 of Cheetah (Barty et al., J. Appl. Cryst. 47 (2014) 1118-1131): a pixel is bright where
it stands out of the mean and spread of a background, which is estimated again without the bright pixels; connected
bright pixels are a peak. There the background is that of all pixels at the same distance from the beam; here it is a
ring around the pixel, which needs no geometry. docs/reference/peaks.md has definitions, and why each step is exact.

    usable     -32700 <= v <= 32700, not masked, on a panel
    ring       n, s, q: number, sum and sum of squares of the usable values in the ring, which ends at the panel's edge
    bright     v >= minimum,  n >= min_ring,  d = n*v - s > 0,  64 * d**2 > (8*snr)**2 * (n*q - s**2)
    peak       bright pixels of one panel connected by edges or corners, min_pixels to max_pixels of them

All is int64: `PeakSettings` refuses what would not fit. Images are (frames, rows, columns) int16, in units of
`2**-fraction_bits` photons or keV, with the codes of `jf_correct.PixelCode`.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from framelane.base.errors import InputError
from framelane.models.jungfrau.jf_correct import MAX_VALUE, PixelCode
from framelane.models.peaks.peak_settings import SNR_STEPS, Panel, PeakSettings, check_layout

PEAK_FIELDS = (
    *("frame", "panel", "pixels", "max_row", "max_column", "max_value", "saturated"),
    *("value_sum", "weight", "weight_row", "weight_column", "ring_pixels", "ring_sum", "ring_squares"),
)
PEAK_SUMS = np.dtype([(name, np.int64) for name in PEAK_FIELDS])
"""A peak in integers. `pixels` are bright; the brightest, the first of equals in the order of rows, is at `max_row`,
`max_column` of the image; `saturated` is 1 where a pixel touches a saturated one. `ring_...` are n, s, q around the
brightest, in the last round. `value_sum` is the sum of v; with w = max(n*v - s, 0) `weight` is the sum of w,
`weight_row` and `weight_column` the sums of w times the row and the column."""

PEAK = np.dtype(
    [
        *((name, np.int64) for name in ("frame", "panel", "pixels", "max_row", "max_column")),
        *((name, np.float64) for name in ("row", "column", "intensity", "background", "sigma", "max_value")),
        ("saturated", np.bool_),
    ]
)
"""A peak as the user wants it: `row`, `column` is the centroid, in pixels of the image, the first of which has its
centre at 0, 0; `intensity` is integrated over the pixels, without the background; it and `background` and `sigma`, mean
and standard deviation of a pixel in the ring, and `max_value` are in photons or keV."""

_NEIGHBOURS = [(row, column) for row in (-1, 0, 1) for column in (-1, 0, 1) if row or column]


class Peaks(NamedTuple):
    """The peaks of a batch: frame after frame, panel after panel, ordered by their first pixel in the order of rows."""

    sums: NDArray[np.void]
    """`PEAK_SUMS` (peaks,), at most `limit` of a frame, the first ones."""
    found: NDArray[np.int64]
    """(frames,): all peaks of each frame."""

    def described(self, fraction_bits: int = 0) -> NDArray[np.void]:
        """The peaks as `PEAK`, each number by the float64 operations that docs/reference/peaks.md gives."""
        peaks = np.zeros(len(self.sums), PEAK)
        for name in ("frame", "panel", "pixels", "max_row", "max_column", "saturated"):
            peaks[name] = self.sums[name]
        n, s = self.sums["ring_pixels"], self.sums["ring_sum"]
        unit = 2.0**-fraction_bits
        peaks["row"] = self.sums["weight_row"] / self.sums["weight"]
        peaks["column"] = self.sums["weight_column"] / self.sums["weight"]
        peaks["intensity"] = (n * self.sums["value_sum"] - self.sums["pixels"] * s) / n * unit
        peaks["background"] = s / n * unit
        peaks["sigma"] = np.sqrt((n * self.sums["ring_squares"] - s * s).astype(np.float64)) / n * unit
        peaks["max_value"] = self.sums["max_value"] * unit
        return peaks


class _Rings(NamedTuple):
    """Sums over the ring of every pixel of a panel, int64 (rows, columns)."""

    pixels: NDArray[np.int64]
    total: NDArray[np.int64]
    squares: NDArray[np.int64]


def find_peaks(
    images: NDArray[np.int16],
    settings: PeakSettings,
    panels: Sequence[Panel] | None = None,
    usable: NDArray[np.bool_] | None = None,
    fraction_bits: int = 0,
) -> Peaks:
    """The peaks of images (frames, rows, columns), with rings and peaks that end at the edges of `panels`.

    By default the image is one panel; `usable`, bool (rows, columns), says which pixels are not masked. InputError for
    images or a mask of another shape or dtype, ConfigError for panels or a minimum that cannot be.
    """
    if images.dtype != np.int16 or images.ndim != 3:
        raise InputError(f"the images are {images.dtype} {images.shape}, needed is int16 (frames, rows, columns)")
    shape = images.shape[1], images.shape[2]
    panels, allowed = check_layout(shape, panels, usable)
    least = settings.least_value(fraction_bits)
    kept: list[tuple[int, ...]] = []
    found = np.zeros(len(images), np.int64)
    for frame, image in enumerate(images):
        peaks = [
            (frame, number, *sums)
            for number, panel in enumerate(panels)
            for sums in _panel_peaks(image[panel.part], allowed[panel.part], panel, settings, least)
        ]
        found[frame] = len(peaks)
        kept += peaks[: settings.limit]
    return Peaks(np.array(kept, PEAK_SUMS), found)


def _panel_peaks(
    image: NDArray[np.int16], allowed: NDArray[np.bool_], panel: Panel, settings: PeakSettings, least: int
) -> Iterator[tuple[int, ...]]:
    """The peaks of one panel: `PEAK_SUMS` from `pixels` on."""
    values = image.astype(np.int64)
    valid = allowed & (abs(values) <= MAX_VALUE)
    saturated = image == PixelCode.SATURATED
    bright = np.zeros_like(valid)
    for _ in range(settings.rounds):
        rings = _rings(values, valid & ~bright, settings)
        bright = valid & _stands_out(values, rings, settings, least)
    for pixels in _groups(bright):
        if settings.min_pixels <= len(pixels) <= settings.max_pixels:
            yield _sums(np.array(sorted(pixels)), values, saturated, rings, panel)


def _rings(values: NDArray[np.int64], counted: NDArray[np.bool_], settings: PeakSettings) -> _Rings:
    """The sums over the `counted` pixels of each ring."""
    planes = counted.astype(np.int64), np.where(counted, values, 0), np.where(counted, values * values, 0)
    return _Rings(*(_box(plane, settings.outer) - _box(plane, settings.inner) for plane in planes))


def _box(plane: NDArray[np.int64], radius: int) -> NDArray[np.int64]:
    """The sum over the square of `2 * radius + 1` pixels a side around every pixel, as far as it is in the plane."""
    for axis in (0, 1):
        size = plane.shape[axis]
        ends = np.insert(np.cumsum(plane, axis), 0, 0, axis)
        at = np.arange(size)
        upper, lower = np.minimum(at + radius + 1, size), np.maximum(at - radius, 0)
        plane = ends.take(upper, axis) - ends.take(lower, axis)
    return plane


def _stands_out(values: NDArray[np.int64], rings: _Rings, settings: PeakSettings, least: int) -> NDArray[np.bool_]:
    n, s, q = rings
    d = n * values - s
    spread = n * q - s * s
    clear: NDArray[np.bool_] = SNR_STEPS**2 * d * d > settings.snr_steps**2 * spread
    return (values >= least) & (n >= settings.min_ring) & (d > 0) & clear


def _groups(bright: NDArray[np.bool_]) -> Iterator[list[tuple[int, int]]]:
    """Bright pixels connected by edges or corners, in the order of their first pixel."""
    left = dict.fromkeys(zip(*(axis.tolist() for axis in np.nonzero(bright)), strict=True))
    while left:
        group = [next(iter(left))]
        del left[group[0]]
        for row, column in group:  # which grows meanwhile
            for down, right in _NEIGHBOURS:
                pixel = row + down, column + right
                if pixel in left:
                    del left[pixel]
                    group.append(pixel)
        yield group


def _sums(
    pixels: NDArray[np.int64],
    values: NDArray[np.int64],
    saturated: NDArray[np.bool_],
    rings: _Rings,
    panel: Panel,
) -> tuple[int, ...]:
    """The integers of a peak with these pixels (n, 2) of its panel, in the order of rows."""
    v = values[*pixels.T]
    top = tuple(pixels[v.argmax()])
    n, s, q = (int(plane[top]) for plane in rings)
    w = np.maximum(n * v - s, 0)
    row, column = pixels[:, 0] + panel.row, pixels[:, 1] + panel.column
    padded = np.pad(saturated, 1)
    touches = any(padded[*(pixels + 1 + step).T].any() for step in np.array(_NEIGHBOURS))
    place = int(top[0]) + panel.row, int(top[1]) + panel.column
    sums = (int(each.sum()) for each in (v, w, w * row, w * column))
    return (len(v), *place, int(v.max()), int(touches), *sums, n, s, q)
