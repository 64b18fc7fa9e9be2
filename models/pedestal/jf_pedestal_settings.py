"""How the G0 pedestal is tracked: what can be set, and the gains of the filter that follow from it."""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from framelane.base.errors import ConfigError

BLOCK_BITS = 5
BLOCK = 1 << BLOCK_BITS
"""Dark frames of a chip that are summed between two updates."""

ALPHA_BITS, BETA_BITS = 24, 32
GAINS = 2048
"""Entries of the table of gains."""

MAX_LIMIT_ADU = 1023
"""A sum of `BLOCK` residuals within it fits 16 bits."""

_MAX_BETA = 1 << 22
"""Keeps the products of an update within 64 bits, and their factors within 32."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TrackerSettings:
    """How the pedestal is followed. Raises ConfigError for a value that cannot be."""

    window: int = 8192
    """Dark frames that a pixel's average reaches back: once it has filled, a frame counts 1/window."""

    dark_run_frames: int = 1000
    """Dark frames behind the pedestal that the tracking begins with, where the dark run does not say."""

    outlier_sigmas: float = 5.0
    """A word further from the pedestal than so many sigmas of its pixel is not taken."""

    least_limit_adu: int = 40
    most_limit_adu: int = 250
    """The same limit in ADU is never below the one (a sigma that is too good to be true) nor above the other (a noisy
    pixel, in which single photons would pass: half a photon of 12.4 keV is 254 ADU)."""

    most_outliers: float = 0.03
    """Share of a chip's pixels: with more outliers than that a frame is not dark, and refused for the chip."""

    restart_blocks: int = 4
    """After so many blocks of 32 dark frames in a row that do not fit, a pixel starts anew from what it shows."""

    noise_adu: float = 24.0
    """Typical noise of a pixel, rms: sets the gains, and the limit of pixels whose noise is not known."""

    rate_spread_adu_per_s: float = 0.1
    """By how much the drifts of a chip's pixels are expected to differ, rms. What is learnt in time overrules it."""

    dark_interval_ns: int = 5_000_000
    """Between dark frames, typically; it stands in for timestamps that are missing or not later than the last one."""

    def __post_init__(self) -> None:
        if not 8 * BLOCK <= self.window <= 1 << 20:
            raise ConfigError(f"a window of {self.window} dark frames cannot be: give {8 * BLOCK} to {1 << 20}")
        if not 0 <= self.least_limit_adu <= self.most_limit_adu <= MAX_LIMIT_ADU:
            raise ConfigError(
                f"limits of {self.least_limit_adu} to {self.most_limit_adu} ADU cannot be: give two numbers of ADU in "
                f"their order, from 0 to {MAX_LIMIT_ADU}"
            )
        if not 1 <= self.restart_blocks <= 255:
            raise ConfigError(f"a restart after {self.restart_blocks} blocks cannot be: give 1 to 255")
        if not 0 < self.most_outliers < 1:
            raise ConfigError(f"a share of {self.most_outliers} outliers cannot be: give more than 0, below 1")
        positive = (self.outlier_sigmas, self.noise_adu, self.dark_run_frames, self.dark_interval_ns)
        if not all(0 < value < math.inf for value in positive):
            raise ConfigError(
                "outlier_sigmas, noise_adu, dark_run_frames and dark_interval_ns must be above 0, and finite"
            )
        if not 0 <= self.rate_spread_adu_per_s <= 10:
            raise ConfigError(f"rates that differ by {self.rate_spread_adu_per_s} ADU/s cannot be: give 0 to 10")


def gains(settings: TrackerSettings) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Gains of level and rate after 0, 1, 2... blocks: int32 (GAINS), with ALPHA_BITS and BETA_BITS fraction bits.

    They are those of the Kalman filter for a level with a constant rate, begun with one block's knowledge of the level
    and `rate_spread_adu_per_s` of the rate: at first a growing average, later the straight line of least squares
    through all that was seen. They end at alpha = BLOCK / window and beta = alpha**2 / 2 (Benedict and Bordner, IRE
    Trans. Automatic Control AC-7, 1962: the best compromise of an alpha-beta filter between noise and transients).
    """
    seconds = settings.dark_interval_ns * 1e-9 * BLOCK
    sigma = settings.noise_adu / BLOCK**0.5
    level, both, rate = 1.0, 0.0, (settings.rate_spread_adu_per_s * seconds / sigma) ** 2
    last = BLOCK / settings.window
    alpha, beta = np.empty(GAINS, np.int32), np.empty(GAINS, np.int32)
    for n in range(GAINS):
        level, both = level + 2 * both + rate, both + rate
        a, b = level / (level + 1), both / (level + 1)
        level, both, rate = level - a * level, both - a * both, rate - b * both
        alpha[n] = round(max(a, last) * (1 << ALPHA_BITS))
        beta[n] = min(round(max(b, last**2 / 2 if n * last > 1 else 0) * (1 << BETA_BITS)), _MAX_BETA)
    return alpha, beta
