"""Images that the source has corrected already: photons in their slot of the ring, to a verdict and sparse rows."""

import numpy as np
from numpy.typing import NDArray

from framelane.base.errors import InputError
from framelane.receiver.pipeline import _counting
from framelane.receiver.pipeline.judge import Judge
from framelane.receiver.pipeline.judging import Judging
from framelane.receiver.pipeline.result import Result
from framelane.receiver.pipeline.veto import Veto


class CorrectedImages:
    """Counts the codes and peaks of corrected images of `shape` (rows, columns), and judges them by `judging`.

    The words are those of `models.jf_correct.correct_int16`, in units of `2**-fraction_bits` photons or keV; a hole of
    the ring, 0x8000, is -32768, the code of a hole. `threads` at most; None: one a core. For what is refused see
    `Judge`. Not for use by several threads at once.
    """

    def __init__(
        self, shape: tuple[int, int], judging: Judging, *, threads: int | None = None, fraction_bits: int = 0
    ) -> None:
        self._shape = shape
        self._judge = Judge(shape, judging, threads=threads, fraction_bits=fraction_bits)

    def change_veto(self, veto: Veto) -> None:
        """See `Judge`."""
        self._judge.change_veto(veto)

    def __call__(self, words: NDArray[np.uint16], /, keep: bool = False) -> Result:
        """Take one image: C-contiguous uint16 (rows, columns), else InputError. The result has the same memory."""
        if words.dtype != np.uint16 or words.shape != self._shape or not words.flags.c_contiguous:
            raise InputError(
                f"the image is {words.dtype} {words.shape}, needed is uint16 {self._shape} without gaps: the words of "
                "the ring"
            )
        image = words.view(np.int16)
        pixels, threshold = image.reshape(-1), self._judge.begin()

        def count(band: tuple[int, int], counts: NDArray[np.int64]) -> None:
            _counting.count(pixels, threshold, *band, counts)

        return self._judge(image, count, keep)
