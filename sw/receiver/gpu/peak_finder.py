"""The peak finder on a GPU: the peaks of `models.peak_finder`, to the last bit."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from framelane.models.peaks.peak_finder import PEAK_FIELDS, PEAK_SUMS, Peaks
from framelane.models.peaks.peak_settings import Panel, PeakSettings
from framelane.receiver.gpu._device import cupy, kernel
from framelane.receiver.gpu._frames import frames as frames_of
from framelane.receiver.gpu._peak_memory import PeakMemory
from framelane.receiver.gpu.buffers import room

LaunchCall = Callable[[Any, int, int, tuple[Any, ...]], object]
"""Called with a kernel of CuPy, the number of blocks, of threads of each, and its arguments, numpy scalars."""


class GpuPeakFinder:
    """Finds the peaks of up to `frames` images of `shape` at once, on the current GPU.

    The arguments are those of `find_peaks`. All memory is taken when it is made, about 105 bytes for every pixel of
    every frame. `launch` is called for each kernel in the place of launching it on CuPy's current stream; the first
    argument of each is the address of the images. One stream at a time. ConfigError for settings that cannot be, or
    without a GPU.
    """

    def __init__(
        self,
        shape: tuple[int, int],
        settings: PeakSettings,
        panels: Sequence[Panel] | None = None,
        usable: NDArray[np.bool_] | None = None,
        fraction_bits: int = 0,
        frames: int = 1,
        launch: LaunchCall | None = None,
    ) -> None:
        module = cupy()
        self._memory = PeakMemory(module, _address, shape, settings, panels, usable, fraction_bits, frames)
        self._launch = _launch if launch is None else launch
        self.frames = frames
        """Room for so many."""
        self.limit = self._memory.limit
        """Peaks of a frame that there is room for in the table: the settings' limit, or as many as there can be."""
        self.table = self._memory.table
        """int64 (frames, limit, 14) on the GPU, in the order of `PEAK_FIELDS`: of each frame the first ones of its
        peaks, as many as were found, `limit` at most; what is behind them is of other images."""
        self.count = self._memory.found
        """uint32 (frames,) on the GPU: how many peaks were found, also where that is more than `limit`."""
        module.cuda.get_current_stream().synchronize()

    @property
    def nbytes(self) -> int:
        """Memory of the GPU, in bytes."""
        return self._memory.nbytes

    def queue(self, images: Any) -> None:
        """Queue the search for peaks in int16 `images` (frames, rows, columns), a CuPy array, frames of any stride.

        `table` and `count` hold its result when it is done, until the next one. Nothing waits, nothing is allocated
        but the first time, when kernels are compiled. InputError for images that do not fit.
        """
        found = frames_of("images", images, np.int16, self._memory.shape)
        room("the tables of peaks", self, found.n)
        for each in self._memory.launches(int(found.address), int(found.stride), found.n, found.aligned):
            self._launch(kernel(each.name, each.function, each.macros), each.blocks, each.threads, each.arguments)

    def read(self, frames: int | None = None) -> Peaks:
        """The peaks of the first `frames` images, by default of all, copied to the host: waits for the stream."""
        found = self.count[:frames].get().astype(np.int64)
        kept = found.clip(max=self.limit)
        table = self.table[: len(found), : max(1, kept.max(initial=0))].get()
        rows = [rows[:n] for rows, n in zip(table, kept.tolist(), strict=True)]
        sums = np.concatenate(rows) if rows else np.empty((0, len(PEAK_FIELDS)), np.int64)
        return Peaks(sums.view(PEAK_SUMS).reshape(-1), found)


def _address(array: Any) -> int:
    return int(array.data.ptr)


def _launch(function: Any, blocks: int, threads: int, arguments: tuple[Any, ...]) -> None:
    """Launch a kernel on the current stream."""
    function((blocks,), (threads,), arguments)
