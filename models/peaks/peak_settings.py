"""What a Bragg peak is to the peak finder: its settings, and the panels that no peak crosses."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from framelane.base.errors import ConfigError, InputError
from framelane.models.jungfrau.jf_correct import MAX_VALUE

SNR_STEPS = 8
"""A signal-to-noise ratio is a whole number of eighths: then its comparison is one of integers."""

_INT64_END = 1 << 63
_MOST_PIXELS = 1 << 20
_LONGEST_SIDE = 1 << 16
"""With these the sums of a centroid fit 64 bits."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PeakSettings:
    """What makes a pixel bright, and a group of bright pixels a peak. ConfigError for what cannot be.

    The background of a pixel is a square ring around it: the pixels at most `outer` rows and columns away, without
    those at most `inner` away.
    """

    snr: float = 6.0
    """A bright pixel is more than so many sigma of its ring above the ring's mean; a multiple of 1/8."""
    minimum: int = 5
    """A bright pixel has at least so many photons (keV, where the image is in keV), background included."""
    min_pixels: int = 2
    """Fewest bright pixels of a peak, connected by an edge or a corner."""
    max_pixels: int = 50
    """Most of them."""
    outer: int = 6
    inner: int = 2
    min_ring: int = 40
    """A pixel whose ring has fewer usable pixels is not bright: nothing is known of its background."""
    rounds: int = 2
    """How often the rings are summed: from the second time on without the pixels that were bright the time before."""
    limit: int = 2000
    """Most peaks of a frame that are described; all are counted."""

    def __post_init__(self) -> None:
        if not 0 <= self.inner < self.outer:
            raise ConfigError(
                f"a ring from {self.inner} to {self.outer} pixels has none: give 0 <= inner < outer, in pixels"
            )
        if not 1 <= self.min_ring <= self.ring_pixels:
            raise ConfigError(
                f"a ring of at least {self.min_ring} usable pixels cannot be: it has {self.ring_pixels} in all, "
                "give 1 or more of them"
            )
        if self.snr < 0 or self.snr * SNR_STEPS % 1:
            raise ConfigError(f"a signal-to-noise ratio of {self.snr} cannot be: give a multiple of 1/{SNR_STEPS}")
        if (self.ring_pixels * MAX_VALUE * max(self.snr_steps, 2 * SNR_STEPS)) ** 2 >= _INT64_END:
            raise ConfigError(
                f"a ratio of {self.snr} with {self.ring_pixels} pixels in a ring is more than 64 bits can compare: "
                "give a smaller ring or ratio"
            )
        if not 1 <= self.minimum <= MAX_VALUE:
            raise ConfigError(f"a minimum of {self.minimum} photons a pixel cannot be: give 1 to {MAX_VALUE}")
        if not 1 <= self.min_pixels <= self.max_pixels <= _MOST_PIXELS:
            raise ConfigError(
                f"peaks of {self.min_pixels} to {self.max_pixels} pixels cannot be: give 1 <= min <= max, at most "
                f"{_MOST_PIXELS}"
            )
        if self.rounds < 1 or self.limit < 0:
            raise ConfigError(
                f"{self.rounds} rounds and {self.limit} peaks cannot be: give 1 round or more, 0 peaks or more"
            )

    @property
    def snr_steps(self) -> int:
        """The ratio in eighths."""
        return int(self.snr * SNR_STEPS)

    @property
    def ring_pixels(self) -> int:
        """Pixels of a whole ring."""
        return (2 * self.outer + 1) ** 2 - (2 * self.inner + 1) ** 2

    def least_value(self, fraction_bits: int) -> int:
        """Least value of a bright pixel, in units of `2**-fraction_bits` photons. ConfigError where no value can be."""
        if self.minimum << fraction_bits > MAX_VALUE:
            raise ConfigError(
                f"no pixel reaches {self.minimum} photons: with {fraction_bits} fraction bits values end at "
                f"{MAX_VALUE / 2**fraction_bits:g}: give a lower minimum"
            )
        return self.minimum << fraction_bits


@dataclass(frozen=True, slots=True)
class Panel:
    """A rectangle of an image whose pixels are neighbours in the detector too: a module, or a chip. In pixels."""

    row: int
    column: int
    rows: int
    columns: int

    @classmethod
    def grid(cls, shape: tuple[int, int], rows: int, columns: int) -> tuple[Self, ...]:
        """An image of `shape` (rows, columns) cut into panels without gaps. ConfigError where a part is left."""
        if min(rows, columns) < 1 or shape[0] % rows or shape[1] % columns:
            raise ConfigError(
                f"an image of {shape[0]} x {shape[1]} pixels is not a grid of panels of {rows} x {columns}"
            )
        places = ((row, column) for row in range(0, shape[0], rows) for column in range(0, shape[1], columns))
        return tuple(cls(row, column, rows, columns) for row, column in places)

    @property
    def part(self) -> tuple[slice, slice]:
        """Its place, as an index of an image (rows, columns)."""
        return slice(self.row, self.row + self.rows), slice(self.column, self.column + self.columns)


def check_layout(
    shape: tuple[int, int], panels: Sequence[Panel] | None, usable: NDArray[np.bool_] | None
) -> tuple[tuple[Panel, ...], NDArray[np.bool_]]:
    """The panels, by default one of the whole image, and which pixels may be looked at: usable ones on a panel.

    ConfigError for panels that overlap, are empty, or are not inside the image, or an image too large; InputError for
    a mask that is not bool (rows, columns).
    """
    if usable is not None and (usable.dtype != np.bool_ or usable.shape != shape):
        raise InputError(f"the mask of usable pixels is {usable.dtype} {usable.shape}, needed is bool {shape}")
    if max(shape) > _LONGEST_SIDE:
        raise ConfigError(f"an image of {shape[0]} x {shape[1]} pixels is too large: at most {_LONGEST_SIDE} a side")
    panels = (Panel(0, 0, *shape),) if panels is None else tuple(panels)
    taken = np.zeros(shape, np.bool_)
    for panel in panels:
        inside = min(panel.row, panel.column) >= 0 and min(panel.rows, panel.columns) > 0
        inside = inside and panel.row + panel.rows <= shape[0] and panel.column + panel.columns <= shape[1]
        if not inside:
            raise ConfigError(f"{panel} is empty, or not inside an image of {shape[0]} x {shape[1]} pixels")
        if taken[panel.part].any():
            raise ConfigError(f"{panel} overlaps another panel: a pixel is on one at most")
        taken[panel.part] = True
    return panels, taken if usable is None else taken & usable
