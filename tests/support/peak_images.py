"""Images for peak finders, int16 (rows, columns), and what peaks are in them by the plainest arithmetic there is."""

from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from framelane.models.jungfrau.jf_correct import PixelCode
from framelane.models.peaks.peak_settings import Panel, PeakSettings

CODES = [int(code) for code in PixelCode]


def background(shape: tuple[int, int], seed: int, mean: float = 1.3) -> NDArray[np.int16]:
    return np.random.default_rng(seed).poisson(mean, shape).astype(np.int16)


def spots(shape: tuple[int, int], seed: int, share: float = 0.01, codes: float = 0.02) -> NDArray[np.int16]:
    """Background with spots of 2 x 2 pixels of any brightness, and with this share of pixels that are codes."""
    rng = np.random.default_rng(seed)
    image = background(shape, seed + 1).astype(np.int64)
    for row, column in np.argwhere(rng.random(shape) < share):
        image[row : row + 2, column : column + 2] += int(np.exp(rng.uniform(1, 9.5)))
    image = image.clip(-32700, 32700)
    special = rng.random(shape) < codes
    image[special] = rng.choice(CODES, int(special.sum()))
    return image.astype(np.int16)


def nasty(shape: tuple[int, int]) -> dict[str, NDArray[np.int16]]:
    """Images that no detector should deliver, and all do."""
    rng = np.random.default_rng(3)
    stripes = background(shape, 4)
    stripes[::7] = 300
    chess = background(shape, 5)
    chess[(np.indices(shape).sum(0) % 2) == 0] += 200
    edges = background(shape, 6)
    for place in ((0, slice(3, 5)), (-1, slice(3, 5)), (slice(3, 5), 0), (slice(3, 5), -1), (slice(0, 2), -1)):
        edges[place] = 500
    plateau = background(shape, 7)
    plateau[8:12, 8:12] = 900
    rings = np.full(shape, 2, np.int16)
    rings[10:13, 10:13] = 100
    rings[11, 11] = PixelCode.SATURATED
    return {
        "nothing": np.zeros(shape, np.int16),
        "one value": np.full(shape, 32700, np.int16),
        "lowest value": np.full(shape, -32700, np.int16),
        "every code": rng.choice(CODES, shape).astype(np.int16),
        "any word": rng.integers(-(1 << 15), 1 << 15, shape, np.int16),
        "ends of the range": rng.choice([-32700, 32700], shape).astype(np.int16),
        "negative background": (background(shape, 8) - 40 + 400 * (rng.random(shape) < 0.01)).astype(np.int16),
        "stripes": stripes,
        "chess": chess,
        "edges": edges,
        "plateau": plateau,
        "saturated middle": rings,
        "dark spots": (1000 - 900 * (rng.random(shape) < 0.02)).astype(np.int16),
        "half holes": np.where(np.arange(shape[1]) % 2 == 0, PixelCode.HOLE, spots(shape, 9)).astype(np.int16),
        "crowd": spots(shape, 10, share=0.2),
    }


def plain_peaks(
    image: NDArray[np.int16],
    settings: PeakSettings,
    panels: Sequence[Panel],
    usable: NDArray[np.bool_],
) -> list[tuple[int, set[tuple[int, int]]]]:
    """The pixels of every peak with the number of its panel, pixel by pixel, with fractions: for small images."""
    peaks: list[tuple[int, set[tuple[int, int]]]] = []
    for number, panel in enumerate(panels):
        places = [
            (row, column)
            for row in range(panel.row, panel.row + panel.rows)
            for column in range(panel.column, panel.column + panel.columns)
        ]
        values = {p: int(image[p]) for p in places if usable[p] and -32700 <= image[p] <= 32700}
        bright: set[tuple[int, int]] = set()
        for _ in range(settings.rounds):
            bright = {p for p in values if _bright(p, values, bright, settings)}
        while bright:
            group = {min(bright)}
            while more := {p for p in bright - group if any(_apart(p, q) == 1 for q in group)}:
                group |= more
            bright -= group
            if settings.min_pixels <= len(group) <= settings.max_pixels:
                peaks.append((number, group))
    return peaks


def _apart(one: tuple[int, int], other: tuple[int, int]) -> int:
    return max(abs(one[0] - other[0]), abs(one[1] - other[1]))


def _bright(
    place: tuple[int, int], values: dict[tuple[int, int], int], left_out: set[tuple[int, int]], settings: PeakSettings
) -> bool:
    around = [v for p, v in values.items() if p not in left_out and settings.inner < _apart(p, place) <= settings.outer]
    if values[place] < settings.minimum or len(around) < settings.min_ring:
        return False
    mean = Fraction(sum(around), len(around))
    variance = Fraction(sum(v * v for v in around), len(around)) - mean**2
    above = values[place] - mean
    return above > 0 and above**2 > Fraction(settings.snr) ** 2 * variance
