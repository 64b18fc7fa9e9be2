"""Raw JUNGFRAU frames from an HDF5 file, which holds their calibration too (see `calibration_file`).

| name                | shape                   | type   |                                                          |
|---------------------|-------------------------|--------|----------------------------------------------------------|
| `raw`               | (frames, rows, columns) | uint16 | pixel words, gain stage in bits 15..14                   |
| `photons_reference` | (frames, rows, columns) | float  | optional: somebody else's conversion to photons          |
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from framelane.calibration.calibration_file import CalibrationFile


class JungfrauFile(CalibrationFile):
    """An open file with `n_frames` raw frames of the calibration's shape. Raises InputError for any other file."""

    def image(self, index: int) -> NDArray[np.uint16]:
        """Raw words of frame `index`, uint16 (rows, columns)."""
        words: NDArray[np.uint16] = self._try(
            f"read frame {index} of raw", lambda: np.asarray(self._raw[index], np.dtype("=u2"))
        )
        return words

    def reference(self, index: int) -> NDArray[np.float32] | None:
        """The file's own photons of frame `index`, float32 (rows, columns); None where it has none."""
        dataset = self._reference
        if dataset is None:
            return None
        photons: NDArray[np.float32] = self._try(
            f"read frame {index} of photons_reference", lambda: np.asarray(dataset[index], np.float32)
        )
        return photons

    def _load(self) -> None:
        super()._load()
        self._raw = self._dataset("raw", (None, self.rows, self.columns), "u2")
        self.n_frames = len(self._raw)
        self._reference: Any = None
        if self._has("photons_reference"):
            self._reference = self._dataset("photons_reference", self._raw.shape, "f")
