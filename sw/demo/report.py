"""The picture of one frame: raw words, gain stages, photons with their peaks, holes, and the numbers of the run."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import ListedColormap, PowerNorm, to_rgba_array
from matplotlib.figure import Figure
from matplotlib.image import AxesImage
from numpy.typing import NDArray

from framelane.models.jungfrau.jf_correct import ADC_MASK, MAX_VALUE, STAGE_SHIFT, PixelCode
from framelane.models.placement.slots import HOLE_WORD

_HOLE, _CODE, _G1, _G2, _PEAK, _GREY = "#ff1fc7", "#19b5a5", "#2563eb", "#dc2626", "#f97316", "#56606b"
"""Colours."""
_MOST_PIXELS = 1100
"""Along an axis of a panel: larger images are drawn by the largest value of several pixels, so that none vanishes."""
_MOST_CIRCLES = 500
_DPI = 170
_WIDTH_INCHES = 16.0


@dataclass(frozen=True, eq=False, slots=True)
class Exhibit:
    """A frame to show: its `raw` words (uint16) and `photons` (int16 with codes), both (rows, columns)."""

    number: int
    raw: NDArray[np.uint16]
    photons: NDArray[np.integer[Any]]
    threshold: int


def spots(photons: NDArray[np.integer[Any]], threshold: int) -> NDArray[np.intp]:
    """The local maxima of at least `threshold` photons, no codes: (n, 2) row and column, the brightest first."""
    values = np.where(np.abs(photons.astype(np.int32)) <= MAX_VALUE, photons, -1)
    padded = np.pad(values, 1, constant_values=-1)
    rows, columns = values.shape
    highest = values >= threshold
    for row, column in np.ndindex(3, 3):
        other = padded[row : row + rows, column : column + columns]
        # Of equal neighbours the first one counts.
        highest &= values > other if (row, column) < (1, 1) else values >= other
    places = np.argwhere(highest)
    return places[np.argsort(-values[highest], kind="stable")]


def draw(path: Path, title: str, exhibit: Exhibit | None, lines: Sequence[tuple[str, str]]) -> None:
    """Write the picture as PNG. `lines` are the numbers of the run: what, how much; all there is without a frame."""
    figure = Figure(dpi=_DPI, layout="constrained", facecolor="white")
    FigureCanvasAgg(figure)
    if exhibit is None:
        figure.set_size_inches(_WIDTH_INCHES / 2, 4)
        figure.suptitle(title, fontsize=15, fontweight="bold")
        _numbers(figure.subplots(), lines, 1)
    else:
        rows, columns = exhibit.raw.shape
        wide = rows <= columns
        panels: list[Any] = [["raw", "photons"], ["gain", "holes"]] if wide else [["raw", "gain", "photons", "holes"]]
        inches = 3.7 if wide else min(2.1 * rows / columns, 11.0)
        figure.set_size_inches(_WIDTH_INCHES, (inches + 0.6) * len(panels) + 1.4)
        axes = figure.subplot_mosaic([*panels, ["text"] * len(panels[0])], height_ratios=[inches] * len(panels) + [0.9])
        figure.suptitle(title, fontsize=15, fontweight="bold")
        for panel in (_raw, _gain, _photons, _holes):
            panel(axes[panel.__name__.removeprefix("_")], exhibit)
        _numbers(axes["text"], lines, 4)
    figure.savefig(path, format="png")


def _raw(axes: Axes, exhibit: Exhibit) -> None:
    adc = (exhibit.raw & ADC_MASK).astype(np.float32)
    written = adc[exhibit.raw != HOLE_WORD]
    low, high = np.percentile(written, (1, 99)) if written.size else (0, 1)
    image = _show(axes, adc, "viridis", vmin=low, vmax=max(high, low + 1))
    _bar(axes, image, "ADC value / ADU")
    _overlay(axes, exhibit.raw == HOLE_WORD, _HOLE)
    _title(axes, "raw words", "14 bits of ADC")


def _gain(axes: Axes, exhibit: Exhibit) -> None:
    stage = np.minimum(exhibit.raw >> STAGE_SHIFT, 2)
    hole = exhibit.raw == HOLE_WORD
    _show(axes, np.zeros_like(stage), ListedColormap(["#eef1f5"]))
    _overlay(axes, hole, _HOLE)
    for number, colour, size in ((1, _G1, 4), (2, _G2, 14)):
        places = np.argwhere((stage == number) & ~hole)
        axes.scatter(
            places[:, 1], places[:, 0], s=size, color=colour, linewidths=0, label=f"G{number}: {len(places)} pixels"
        )
    axes.legend(loc="lower right", framealpha=0.9, markerscale=2)
    _title(axes, "gain stage", "all other pixels in G0")


def _photons(axes: Axes, exhibit: Exhibit) -> None:
    photons = exhibit.photons
    valid = np.abs(photons.astype(np.int32)) <= MAX_VALUE
    unusable = (photons == PixelCode.MASKED) | (photons == PixelCode.INVALID)
    high = max(np.percentile(photons[valid], 99.8), 5) if valid.any() else 5
    saturated = photons == PixelCode.SATURATED
    image = _show(axes, np.where(valid | saturated, photons, 0).clip(0), "gray_r", norm=PowerNorm(0.5, 0, high))
    _bar(axes, image, "photons (square-root scale)", extend="max")
    _overlay(axes, photons == PixelCode.HOLE, _HOLE)
    _overlay(axes, unusable, _CODE)
    found = spots(photons, exhibit.threshold)
    circled = found[:_MOST_CIRCLES]
    axes.scatter(circled[:, 1], circled[:, 0], s=45, facecolors="none", edgecolors=_PEAK, linewidths=0.9)
    circles = f"{_MOST_CIRCLES} brightest of {len(found)}" if len(found) > _MOST_CIRCLES else f"{len(found)}"
    masked = f", {np.count_nonzero(unusable)} pixels masked" if unusable.any() else ""
    _title(axes, "photons", f"{circles} peaks from {exhibit.threshold}{masked}")


def _holes(axes: Axes, exhibit: Exhibit) -> None:
    hole = exhibit.photons == PixelCode.HOLE
    _show(axes, np.zeros_like(exhibit.photons), ListedColormap(["#eef1f5"]))
    _overlay(axes, hole, _HOLE)
    n = np.count_nonzero(hole)
    _title(axes, f"{n:,} holes" if n else "no holes", "pixels that never arrived" if n else "every pixel arrived")


def _title(axes: Axes, what: str, more: str) -> None:
    axes.set_title(what, fontsize=12, fontweight="bold", loc="left", pad=18)
    axes.annotate(more, (0, 1), (0, 5), "axes fraction", "offset points", fontsize=9.5, color=_GREY)


def _show(axes: Axes, values: NDArray[Any], cmap: Any, **options: Any) -> AxesImage:
    rows, columns = values.shape[:2]
    axes.set_xlabel("column / pixel")
    axes.set_ylabel("row / pixel")
    extent = (-0.5, columns - 0.5, rows - 0.5, -0.5)
    return axes.imshow(_pooled(values), cmap=cmap, extent=extent, interpolation="nearest", aspect="equal", **options)


def _overlay(axes: Axes, mask: NDArray[np.bool_], colour: str) -> None:
    if mask.any():
        _show(axes, mask[..., None] * np.uint8(255) & np.array(to_rgba_array(colour) * 255, np.uint8), None)


def _pooled(values: NDArray[Any]) -> NDArray[Any]:
    rows, columns = values.shape[:2]
    step = -(-max(rows, columns) // _MOST_PIXELS)
    starts = np.arange(0, rows, step), np.arange(0, columns, step)
    return np.maximum.reduceat(np.maximum.reduceat(values, starts[0], axis=0), starts[1], axis=1)


def _bar(axes: Axes, image: AxesImage, label: str, **options: Any) -> None:
    rows, columns = image.get_size()
    place = axes.inset_axes((1.015, 0, 0.025, 1) if rows <= columns else (1.04, 0, 0.08, 1))
    axes.figure.colorbar(image, cax=place, label=label, **options)


def _numbers(axes: Axes, lines: Sequence[tuple[str, str]], columns: int) -> None:
    axes.set_axis_off()
    rows = -(-len(lines) // columns)
    for index, (what, value) in enumerate(lines):
        column, row = divmod(index, rows)
        at: dict[str, Any] = {
            "y": 1 - (row + 0.5) / rows,
            "transform": axes.transAxes,
            "va": "center",
            "fontsize": 10.5,
        }
        axes.text(x=(column + 0.42) / columns, s=what, ha="right", color=_GREY, **at)
        axes.text(x=(column + 0.45) / columns, s=value, ha="left", fontweight="bold", **at)
