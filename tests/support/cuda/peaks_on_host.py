"""The GPU's peak finder, its kernels run by the host: slow, and right or not."""

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cuda_on_host import HostModule
from framelane.models.peaks.peak_finder import PEAK_FIELDS, PEAK_SUMS, Peaks
from framelane.models.peaks.peak_settings import Panel, PeakSettings
from framelane.receiver.gpu._peak_memory import PeakMemory, PeakPlan
from framelane.receiver.gpu._source import source

THREADS, LANES = 4, 2


class HostPeakFinder:
    """As `GpuPeakFinder`, on arrays of numpy. `folder` keeps what is compiled."""

    def __init__(
        self,
        folder: Path,
        shape: tuple[int, int],
        settings: PeakSettings,
        panels: Sequence[Panel] | None = None,
        usable: NDArray[np.bool_] | None = None,
        fraction_bits: int = 0,
        frames: int = 1,
    ) -> None:
        plan = PeakPlan(lanes=LANES, candidates=THREADS, rounds=THREADS, blocks=3)
        self._folder = folder
        self._memory = PeakMemory(np, _address, shape, settings, panels, usable, fraction_bits, frames, plan)

    def __call__(self, images: NDArray[np.int16]) -> Peaks:
        """The peaks of images (frames, rows, columns) in one piece."""
        memory = self._memory
        aligned = not (_address(images) % 16 or images[0].nbytes % 16)
        for each in memory.launches(_address(images), images[0].size, len(images), aligned):
            module = _module(self._folder, each.name, tuple(sorted(each.macros.items())))
            module.launch(each.function, (each.blocks,), each.threads, each.arguments)
        found = memory.found[: len(images)].astype(np.int64)
        kept = [rows[: min(n, memory.limit)] for rows, n in zip(memory.table, found.tolist(), strict=False)]
        sums = np.concatenate(kept) if kept else np.empty((0, len(PEAK_FIELDS)), np.int64)
        return Peaks(sums.view(PEAK_SUMS).reshape(-1), found)


def _address(array: Any) -> int:
    return int(array.ctypes.data)


@cache
def _module(folder: Path, name: str, macros: tuple[tuple[str, int], ...]) -> HostModule:
    return HostModule(folder, source(name, dict(macros)), LANES)
