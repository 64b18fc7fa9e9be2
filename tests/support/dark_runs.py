"""Dark runs of a simulated detector, which is forced into one gain stage."""

from pathlib import Path
from typing import Any

import h5py
import numpy as np
from numpy.typing import NDArray

from framelane.calibration.stage_pedestal import Stage

NOISE_ADU = {Stage.G0: 24.0, Stage.G1: 3.0, Stage.G2: 3.0, Stage.HG0: 40.0}


def dark_frames(stage: Stage, pedestal: NDArray[Any], n: int, noise: NDArray[Any] | None = None) -> NDArray[np.uint16]:
    """Read `n` frames without light: uint16 (n, rows, columns), all in `stage`; never an error word."""
    rng = np.random.default_rng([stage.code, stage is Stage.HG0])
    frames = np.empty((n, *pedestal.shape), np.uint16)
    for frame in frames:
        ripple = rng.standard_normal(pedestal.shape, np.float32)
        adc = np.rint(pedestal + (NOISE_ADU[stage] if noise is None else noise) * ripple)
        frame[:] = adc.clip(1, 0x3FFE).astype(np.uint16) | stage.code << 14
    return frames


def write_frames(path: Path, frames: NDArray[np.uint16], name: str = "raw", **beside: Any) -> Path:
    """Write raw frames, and datasets of the same group."""
    with h5py.File(path, "w") as file:
        file[name] = frames
        for other, values in beside.items():
            file[f"{name.rpartition('/')[0]}/{other}"] = values
    return path
