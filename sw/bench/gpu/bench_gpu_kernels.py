"""The kernels that are measured: how each is called, the bytes that it must move, and that its results are right."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from framelane.bench.gpu.bench_gpu_data import SHAPE, Shares
from framelane.models.jungfrau.jf_calibration import Calibration
from framelane.models.jungfrau.jf_correct import MAX_VALUE, correct_int16
from framelane.models.jungfrau.jf_fixed import quantize
from framelane.receiver.gpu._device import cupy
from framelane.receiver.gpu.gpu_error import GpuError
from framelane.receiver.gpu.kernels import CountBuffers, GpuKernels, SparseBuffers
from framelane.receiver.pipeline.correction import Correction

THRESHOLD = 10
"""Photons: of a peak, and of a pixel in sparse rows."""

SOURCES = 8
MOST = 40
MOST_LANES = 8
"""Each has results of its own."""

_PIXELS = SHAPE[0] * SHAPE[1]
_CAPACITY = 1 << 17

INT16, COUNTED, FLOAT32 = "int16", "int16, counted", "float32"
COUNT, SPARSE, HOLES = "count", "sparse rows", "holes of each source"


@dataclass(frozen=True, slots=True)
class Moved:
    """Bytes of a pixel that a kernel must move: in every frame, once a batch, and where it is in sparse rows."""

    frame: float
    constants: float
    switched: float
    """More constants, of a pixel that is in G1 or G2 in some frame of the batch."""
    sparse: float = 0.0

    def of_frames(self, batch: int, density: float) -> float:
        """Bytes of a batch of images and their results, `density` of whose pixels are in sparse rows."""
        return _PIXELS * batch * (self.frame + self.sparse * density)

    def of_constants(self, batch: int, shares: Shares) -> float:
        """Bytes of the constants of a batch, such shares of whose pixels are in G1 and G2."""
        used = sum(1 - (1 - share) ** batch for share in (shares.g1, shares.g2))
        return _PIXELS * (self.constants + self.switched * used)


MOVED = {
    INT16: Moved(2 + 2, 4, 4),
    COUNTED: Moved(2 + 2, 4, 4),
    FLOAT32: Moved(2 + 4, 8, 8),
    COUNT: Moved(2, 2, 2),
    SPARSE: Moved(2 + 8 / SHAPE[1], 2, 4, 4 + 2),
    HOLES: Moved(2, 0, 0),
}

OVERLAPPED = (INT16, FLOAT32, COUNT, SPARSE)
"""Launches that may overlap the one before on their stream."""


class Measured:
    """The kernels with frames `raw` (frames, rows, columns), and room for their results."""

    def __init__(self, of: Calibration, raw: Any) -> None:
        module = cupy()
        self._of, self._fixed = of, quantize(of)
        self.kernels = GpuKernels(self._fixed, threshold=THRESHOLD, sparse_threshold=THRESHOLD, calibration=of)
        self.raw = raw
        self.images = module.empty(raw.shape, np.int16)
        self.floats = module.empty(raw.shape, np.float32)
        self.counts = [CountBuffers(MOST, SOURCES) for _ in range(MOST_LANES)]
        self.rows = [SparseBuffers(MOST, SHAPE, _CAPACITY) for _ in range(MOST_LANES)]

    def call(self, what: str, frames: slice, lane: int = 0, overlapped: bool = False) -> Callable[[], object]:
        """What queues a kernel for these frames; those of one lane have to run one after the other, or `overlapped`."""
        kernels, raw, counts, rows = self.kernels, self.raw[frames], self.counts[lane], self.rows[lane]
        return {
            INT16: lambda: kernels.correct_int16(raw, self.images[frames], overlapped=overlapped),
            COUNTED: lambda: kernels.correct_int16(raw, self.images[frames], counts),
            FLOAT32: lambda: kernels.correct_float32(raw, self.floats[frames], overlapped=overlapped),
            COUNT: lambda: kernels.count(raw, counts, overlapped=overlapped),
            SPARSE: lambda: kernels.sparse(raw, rows, overlapped=overlapped),
            HOLES: lambda: kernels.count_holes(raw, counts),
        }[what]

    def check(self, what: str, batch: int) -> float:
        """Compare the last of the first `batch` results with the CPU's; the share of pixels in sparse rows.

        Launches of other frames are behind each other before, overlapped where they may be. GpuError where they differ.
        """
        last = batch - 1
        raw = self.raw[last].get()
        image = correct_int16(raw, self._fixed)
        kept = (image >= THRESHOLD) & (image <= MAX_VALUE)
        for each in (self.images, self.floats):
            each[last].fill(-1)
        cupy().cuda.Device().synchronize()
        for first in (2 * batch, batch, 0):
            self.call(what, slice(first, first + batch), overlapped=what in OVERLAPPED)()
        right = True
        if what in (INT16, COUNTED):
            right = np.array_equal(self.images[last].get(), image)
        if what == FLOAT32:
            expected = Correction(self._of, "float32", engine="numpy")(raw)
            right = np.array_equal(self.floats[last].get(), expected, equal_nan=True)
        if what in (COUNT, COUNTED):
            right = right and self.counts[0].read(batch)[last].peaks == int(kept.sum())
        if what == SPARSE:
            rows = self.rows[0].read(last)
            right = np.array_equal(rows.dense(SHAPE[1]), np.where(kept, image, 0))
        if not right:
            raise GpuError(f"{what} of the last of {batch} frames is not what the CPU makes of it: run the tests")
        return float(kept.mean())
