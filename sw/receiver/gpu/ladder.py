"""How many pixels of a frame on the GPU reach each of several thresholds: `framelane.receiver.pipeline.ladder`."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from framelane.receiver.gpu._device import cupy, kernel
from framelane.receiver.gpu.launches import Launch
from framelane.receiver.pipeline import ladder

RUNGS = 16
"""Rungs of a launch: RUNGS of kernels/ladder.cu."""
COUNT_BYTES = 8
_THREADS, _BLOCKS_EACH = 256, 4
"""Blocks of a multiprocessor."""
_OUT_OF_REACH = 0x7FFF


class GpuLadder:
    """Launches that count pixels of an int16 image in GPU memory, (1, rows, columns), for thresholds in photons.

    The counts, one i64 a threshold, go to pinned memory from `address` on. ConfigError where the thresholds do not
    rise, or no value reaches one.
    """

    def __init__(self, rungs: Sequence[int], image: Any, address: int) -> None:
        xp = cupy()
        self.launches: list[Launch] = []
        self._memory: list[Any] = [image]
        thresholds = ladder.check_thresholds(rungs)
        blocks = _BLOCKS_EACH * xp.cuda.Device().attributes["MultiProcessorCount"]
        for first in range(0, len(thresholds), RUNGS):
            part = thresholds[first : first + RUNGS].astype(np.uint32)
            padded = np.full(RUNGS, _OUT_OF_REACH, np.uint32)
            padded[: len(part)] = part
            on_gpu, work = xp.asarray(padded << 16 | padded), xp.zeros(RUNGS + 2, np.uint32)
            self._memory += [on_gpu, work]
            arguments = (
                *(np.uintp(image.data.ptr), np.uint32(image.size)),
                *(np.uintp(on_gpu.data.ptr), np.uint32(len(part)), np.uintp(work.data.ptr)),
                np.uintp(address + COUNT_BYTES * first),
            )
            self.launches.append(Launch(kernel("ladder", "ladder", {}), blocks, _THREADS, arguments))
