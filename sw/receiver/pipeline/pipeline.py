"""The CPU pipeline: a raw image in its slot of the ring to photons, a verdict and sparse rows."""

from collections.abc import Callable
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from framelane.base.errors import ConfigError, InputError
from framelane.models.jungfrau.jf_fixed import FixedCalibration
from framelane.receiver.pipeline import _correct_int16, _counting
from framelane.receiver.pipeline.judge import Judge
from framelane.receiver.pipeline.judging import Judging
from framelane.receiver.pipeline.result import Result
from framelane.receiver.pipeline.veto import Veto

Process = Callable[[NDArray[np.uint16]], Result]
"""What becomes of a raw image, uint16 (rows, columns), between the ring and the sinks."""


class KeepingProcess(Protocol):
    """A `Process` that can be told to `keep` a frame whatever the veto says."""

    def __call__(self, raw: NDArray[np.uint16], /, keep: bool = False) -> Result: ...


class Pipeline:
    """Corrects with `fixed`, counts, and judges by `judging`; all memory is taken here, none for a frame.

    Photons equal `models.jf_correct.correct_int16` bit for bit. `threads` at most; None: one a core. ConfigError for a
    calibration to fractions of a photon, ConfigError or InputError where `judging` does not fit it. Not for use by
    several threads at once.
    """

    def __init__(self, fixed: FixedCalibration, judging: Judging, *, threads: int | None = None) -> None:
        if fixed.fraction_bits:
            raise ConfigError(
                f"the pipeline counts whole photons: quantize with 0 fraction bits, not {fixed.fraction_bits}"
            )
        _, rows, columns = fixed.pedestal.shape
        self._image = np.empty((rows, columns), np.int16)
        self._constants = _correct_int16.arrange(fixed)
        self._judge = Judge((rows, columns), judging, threads=threads)

    def change_veto(self, veto: Veto) -> None:
        """See `Judge`."""
        self._judge.change_veto(veto)

    def __call__(self, raw: NDArray[np.uint16], /, keep: bool = False) -> Result:
        """Process one image: C-contiguous uint16 (rows, columns) of the calibration's shape, else InputError."""
        if raw.dtype != np.uint16 or raw.shape != self._image.shape or not raw.flags.c_contiguous:
            raise InputError(
                f"the image is {raw.dtype} {raw.shape}, the calibration is for uint16 {self._image.shape} without gaps"
            )
        words, image, threshold = raw.reshape(-1), self._image.reshape(-1), self._judge.begin()

        def correct(band: tuple[int, int], counts: NDArray[np.int64]) -> None:
            _counting.correct(words, *self._constants, threshold, image, *band, counts)

        return self._judge(self._image, correct, keep)
