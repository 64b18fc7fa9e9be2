"""Frames to measure a GPU with: random words of a 4M detector, in GPU memory."""

from typing import Any, NamedTuple

import numpy as np

from framelane.models.jungfrau.jf_calibration import Calibration
from framelane.receiver.gpu._device import cupy

SHAPE = (4096, 1024)
"""8 modules of 512 x 1024 pixels."""


class Shares(NamedTuple):
    """Shares of a frame's pixels that are in G1 and in G2."""

    g1: float = 0.009
    g2: float = 0.001

    @property
    def percent(self) -> float:
        """Percent of the pixels that are in either."""
        return round(100 * (self.g1 + self.g2), 6)


MANY = Shares()
"""Ten times as many as in the real frames of a protein crystal."""

AS_REAL = Shares(0.0009, 0.0001)

_NOISE_ADU, _BACKGROUND_ADU = 24.0, 508.0


def calibration(seed: int = 1) -> Calibration:
    """Random pedestals and gains around the nominal ones, 1 % of the pixels masked, at 12.4 keV."""
    rng = np.random.default_rng(seed)
    nominal = np.array([[2450.0, 13585.0, 14100.0], [41.0, -1.44, -0.1145]]).reshape(2, 3, 1, 1)
    noise = rng.standard_normal((2, 3, *SHAPE), np.float32).clip(-4, 4)
    pedestal = (nominal[0] + 150 * noise[0]).astype(np.float32)
    gain = (nominal[1] * (1 + 0.025 * noise[1])).astype(np.float32)
    return Calibration(pedestal, gain, 12.4, rng.random(SHAPE, np.float32) < 0.01)


def raw_frames(n: int, of: Calibration, seed: int = 1, shares: Shares = MANY) -> Any:
    """So many random frames, uint16 (n, rows, columns): about a photon a pixel, and such shares of switched pixels."""
    module = cupy()
    rng = module.random.default_rng(seed)
    pedestal = module.asarray(of.pedestal[0], np.float32)
    frames = module.empty((n, *SHAPE), np.uint16)
    for frame in frames:
        adc = pedestal + _NOISE_ADU * rng.standard_normal(SHAPE, np.float32)
        adc += _BACKGROUND_ADU * rng.poisson(1.0, SHAPE).astype(np.float32)
        words = module.rint(adc).clip(0, 0x3FFF).astype(np.uint16)
        stage = rng.random(SHAPE, np.float32)
        switched = rng.integers(1, 13_000, SHAPE).astype(np.uint16)  # a peak, in either stage
        words = module.where(stage < shares.g1, 0x4000 | switched, words)
        frame[:] = module.where(stage > 1 - shares.g2, 0xC000 | switched, words)
    module.cuda.Device().synchronize()
    return frames
