"""Frames of a 4M detector to measure with: 8 modules of the real frames, where they are, else of simulated ones."""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from framelane.demo import sources
from framelane.demo.sources import FileSource, SimulatedSource, Source
from framelane.models.jungfrau.jf_calibration import Calibration
from framelane.receiver.jungfrau.jungfrau_file import JungfrauFile

MODULES = 8


def tiled_frames(n: int) -> tuple[list[NDArray[np.uint16]], Calibration]:
    """So many different images, uint16 (4096, 1024), and the calibration of all their pixels."""
    path = sources.real_frames()
    if path is None:
        return _tiled(SimulatedSource(1, n, seed=1), n)
    with JungfrauFile(path) as file:
        return _tiled(FileSource(file, None), n)


def _tiled(source: Source, n: int) -> tuple[list[NDArray[np.uint16]], Calibration]:
    modules = [source.frame(number).raw for number in range(source.n_frames)]
    images = [np.concatenate([modules[(first + k) % len(modules)] for k in range(MODULES)]) for first in range(n)]
    one = source.calibration
    tile = (1, MODULES, 1)
    many = replace(
        one, pedestal=np.tile(one.pedestal, tile), gain=np.tile(one.gain, tile), mask=np.tile(~one.usable, tile)
    )
    return images, many
