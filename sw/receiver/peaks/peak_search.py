"""Bragg peaks of images that are at hand, as a table."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from framelane.base.errors import InputError
from framelane.models.peaks.peak_settings import Panel, PeakSettings
from framelane.receiver.peaks.peak_finder import PeakFinder


def find_peaks(
    images: NDArray[np.int16],
    settings: PeakSettings | None = None,
    *,
    panels: Sequence[Panel] | None = None,
    usable: NDArray[np.bool_] | None = None,
    fraction_bits: int = 0,
) -> NDArray[np.void]:
    """The Bragg peaks of corrected images, int16 (frames, rows, columns) or (rows, columns): a structured array.

    Its fields, as in docs/reference/peaks.md: `frame`, `panel`, `pixels`, centroid `row`, `column` in pixels,
    `intensity`, `background`, `sigma` and `max_value` in photons or keV, `saturated` and others; ordered by frame,
    panel, and place. Values of the images are in units of `2**-fraction_bits`. `settings` None: the defaults. No peak
    crosses the border of one of the `panels`, None: the image is one. Pixels that are not `usable`, bool (rows,
    columns), do not count. Of a frame at most `settings.limit` peaks are described. InputError for other arrays.
    """
    if images.dtype != np.int16 or images.ndim not in (2, 3):
        raise InputError(
            f"the images are {images.dtype} {images.shape}: give int16 (frames, rows, columns) or (rows, columns), as "
            "framelane.receiver.correct makes them"
        )
    batch = images if images.ndim == 3 else images[np.newaxis]
    shape = int(batch.shape[1]), int(batch.shape[2])
    finder = PeakFinder(shape, settings or PeakSettings(), panels, usable, fraction_bits)
    return finder(batch).described(fraction_bits)
