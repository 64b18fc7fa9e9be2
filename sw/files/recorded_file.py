"""Raw JUNGFRAU frames from an HDF5 file with a dataset `raw` at its root: a recorder's, or anybody's."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from framelane.base.errors import InputError
from framelane.files.checked_file import CheckedFile

RECORDS = ("frame_number", "bunch_id", "timestamp_ns", "holes")
"""What is kept of a frame with its corrected image."""


class RecordedFile(CheckedFile):
    """An open file with `n_frames` raw frames of `rows` x `columns` pixels. InputError for any other file."""

    needed = "needed is raw, uint16 (frames, rows, columns)"

    def images(self, first: int, end: int) -> NDArray[np.uint16]:
        """Raw words of frames `first` to `end` - 1, uint16 (frames, rows, columns)."""
        words: NDArray[np.uint16] = self._try(
            f"read frames {first} to {end - 1} of raw", lambda: np.asarray(self._raw[first:end], np.dtype("=u2"))
        )
        return words

    def records(self) -> dict[str, NDArray[np.uint64]]:
        """`RECORDS` of each frame, as far as the file has them; uint64 (frames)."""
        kept = [name for name in RECORDS if self._has(name)]
        return {name: self._read(name, (self.n_frames,), ("u", "i"), np.uint64) for name in kept}

    def _load(self) -> None:
        self._raw: Any = self._dataset("raw", (None, None, None), "u2")
        self.n_frames, self.rows, self.columns = self._shape(self._raw)
        self.high_gain: bool | None = None
        """Whether the detector was in high gain; None where the file does not say."""
        if self._has("high_gain"):
            packets = self._read("packets", (self.n_frames, None), "u", np.uint16)
            modes = np.unique(self._read("high_gain", packets.shape, "b", np.bool_)[packets > 0])
            if modes.size > 1:
                raise InputError(f"{self.path} has frames in high gain and others: record them apart")
            self.high_gain = bool(modes[0]) if modes.size else None
