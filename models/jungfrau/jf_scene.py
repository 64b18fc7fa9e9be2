"""What falls on a simulated module: a protein crystal's diffraction in a solvent's background, as charge per pixel.

All shapes and default numbers were fitted by eye to six frames of a real module (protein crystal, 12.4 keV, the beam
above the module's left end): tests/models/test_jf_detector.py holds both side by side.
"""

from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from framelane.base.errors import ConfigError

CHIP = 256
"""Rows and columns of a readout chip; the pixels along a border between two chips are twice as wide."""

_BEAM = (-110.0, 30.0)
"""Row and column of the beam; all lengths here are in pixels."""
_RING_RADIUS = 310.0
_RING_WIDTH = 70.0
_DIFFUSE_RADIUS = 640.0
_SPOT_SIGMA = 0.65
_SPOT_REACH = np.arange(-3, 4)
_SHARED = 0.35
"""Share of the photons that fall near a pixel's edge."""


@dataclass(frozen=True, slots=True)
class Scene:
    """The diffraction on every module. Raises ConfigError for a value that cannot be."""

    background: float = 1.32
    """Mean of the background, photons per pixel and frame."""

    ring: float = 0.45
    """Height of the solvent ring over the diffuse background, as a share of the latter's at the beam."""

    spots: float = 300.0
    """Mean number of Bragg spots in a frame."""

    spot_photons: float = 32.0
    """Median of a spot's photons."""

    spot_spread: float = 2.0
    """Spread of the spots' photons: standard deviation of their natural logarithm."""

    overloads: int = 1
    """Spots of `overload_photons` in every frame, in addition."""

    overload_photons: float = 35_000.0
    """Photons of an overload: 35,000 bring about one pixel to the end of G2, and some 10 into G2."""

    def __post_init__(self) -> None:
        for name in (entry.name for entry in fields(self)):
            if not 0 <= getattr(self, name) < 1e9:
                raise ConfigError(f"a scene with {name} = {getattr(self, name)} cannot be: give 0 or more, below 1e9")

    def rate(self, rows: int, columns: int) -> NDArray[np.float64]:
        """Mean background of every pixel of a module, photons per frame, float64 (rows, columns)."""
        row, column = np.ogrid[:rows, :columns]
        radius = np.hypot(row - _BEAM[0], column - _BEAM[1])
        rate = 1 / (1 + (radius / _DIFFUSE_RADIUS) ** 4)
        rate += self.ring * np.exp(-(((radius - _RING_RADIUS) / _RING_WIDTH) ** 2) / 2)
        rate *= self.background / rate.mean()
        rate[_chip_borders(rows), :] *= 2
        rate[:, _chip_borders(columns)] *= 2
        return rate

    def charge(self, rate: NDArray[np.float64], rng: np.random.Generator) -> NDArray[np.float32]:
        """Charge of one frame in every pixel, in photons, float32 in the shape of `rate`, which is left as it is."""
        rate = rate.copy()
        self._add_spots(rate, rng)
        charge = rng.poisson(rate).astype(np.float32)
        _share(charge, rng)
        return charge

    def _add_spots(self, rate: NDArray[np.float64], rng: np.random.Generator) -> None:
        """Add the frame's Bragg spots: Gaussians at places of any fraction of a pixel."""
        n = int(rng.poisson(self.spots))
        photons = self.spot_photons * np.exp(self.spot_spread * rng.standard_normal(n))
        photons = np.append(photons, np.full(self.overloads, self.overload_photons))
        places, profiles = zip(*(_profile(rng.uniform(0, size, photons.size)) for size in rate.shape), strict=True)
        spots = photons[:, None, None] * profiles[0][:, :, None] * profiles[1][:, None, :]
        row, column = np.broadcast_arrays(places[0][:, :, None], places[1][:, None, :])
        inside = (row >= 0) & (row < rate.shape[0]) & (column >= 0) & (column < rate.shape[1])
        np.add.at(rate, (row[inside], column[inside]), spots[inside])


def _chip_borders(size: int) -> list[int]:
    """The rows (or columns) on both sides of every border between chips."""
    return [index for border in range(CHIP, size, CHIP) for index in (border - 1, border)]


def _profile(centre: NDArray[np.float64]) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
    """The pixels around each centre along one axis, and the share of the spot that each gets."""
    places = np.floor(centre).astype(np.intp)[:, None] + _SPOT_REACH
    profile = np.exp(-(((places + 0.5 - centre[:, None]) / _SPOT_SIGMA) ** 2) / 2)
    return places, profile / profile.sum(axis=1, keepdims=True)


def _share(charge: NDArray[np.float32], rng: np.random.Generator) -> None:
    """Divide photons that fall near a pixel's edge with the pixel to the right or below: at most one in each pixel."""
    drawn = rng.random(charge.shape, np.float32)
    share = np.divide(drawn, charge * np.float32(_SHARED / 2), out=np.full_like(charge, 2), where=charge > 0)
    right, below = np.where(share < 1, share, 0), np.where((share >= 1) & (share < 2), share - 1, 0)
    charge -= right + below
    charge[:, 1:] += right[:, :-1]
    charge[1:, :] += below[:-1, :]
