"""Raw JUNGFRAU frames from an HDF5 file, batch by batch, whoever wrote it."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import h5py
import numpy as np
from numpy.typing import NDArray

from framelane.models.errors import InputError
from framelane.receiver.checked_file import CheckedFile

BATCH_BYTES = 64 << 20
"""Frames that are in memory at once."""

_NAMES = ("raw", "entry/data/data")


class RawFrames(CheckedFile):
    """An open file with `n_frames` raw frames: uint16 words (frames, rows, columns). InputError for any other file.

    They are in the dataset that is named, else in `raw` (see `recorder`), `entry/data/data` (those of `framelane recv`
    without a calibration) or `data/<detector>/data` (PSI's data acquisition at SwissFEL). In the last case `n_good`
    frames, those whose `is_good_frame` is not 0, are read, and `daq_rec` is the DAQ info of the packets: that file's
    layout is from `jungfrau_create_pedestals.py` of PSI's jungfrau_utils.
    """

    needed = "needed is raw, entry/data/data or data/<detector>/data, or name it with --dataset"

    def __init__(self, path: Path, dataset: str | None = None) -> None:
        self._wanted = dataset
        super().__init__(path)

    def batches(self) -> Iterator[NDArray[np.uint16]]:
        """All good frames in their order, uint16 (at most as many as fit `BATCH_BYTES`, rows, columns)."""
        step = max(1, BATCH_BYTES // (self.rows * self.columns * 2))
        for first in range(0, self.n_frames, step):
            batch = self._words(first, min(first + step, self.n_frames))
            good = self._good[first : first + step]
            if good.any():
                yield batch if good.all() else batch[good]

    def _words(self, first: int, end: int) -> NDArray[np.uint16]:
        words: NDArray[np.uint16] = self._try(
            f"read frames {first} to {end - 1} of {self.name}",
            lambda: np.asarray(self._raw[first:end], np.dtype("=u2")),
        )
        return words

    def _load(self) -> None:
        self.name = self._wanted or self._locate()
        self._raw = self._dataset(self.name, (None, None, None), "u2")
        self.n_frames, self.rows, self.columns = map(int, self._raw.shape)
        good = self._beside("is_good_frame")
        self._good = np.ones(self.n_frames, np.bool_) if good is None else good != 0
        self.n_good = int(np.count_nonzero(self._good))
        if not self.n_good:
            raise InputError(f"{self.path}: is_good_frame is 0 for each of {self.n_frames} frames: give another run")
        modes, cells = self._settings()
        self.high_gain = modes[0] != 0 if len(modes) == 1 else None
        """Whether the detector was in high gain; None where the file does not say, or says both."""
        self.storage_cells = cells
        """Storage cells of the frames, ascending; empty where the file does not say."""
        begun = self._try("read begun", lambda: self._file.attrs.get("begun", ""))
        self.begun = begun if isinstance(begun, str) else ""
        """When the recording began, ISO 8601; empty where the file does not say."""

    def _settings(self) -> tuple[list[int], list[int]]:
        """Each gain mode (1: high) and each storage cell that occurs."""
        if self.name == "raw" and self._has("high_gain"):
            came = self._read("packets", (self.n_frames, None), "u", np.int64) > 0
            high = self._read("high_gain", came.shape, "b", np.int64)[came]
            cells = self._read("storage_cell", came.shape, "u", np.int64)[came]
        else:
            words = self._beside("daq_rec")
            if words is None:
                return [], []
            high, cells = words[self._good] & 1, words[self._good] >> 8 & 0xF
        return np.unique(high).tolist(), np.unique(cells).tolist()

    def _locate(self) -> str:
        for name in _NAMES:
            if self._has(name):
                return name
        group = self._try("look for data", lambda: self._file.get("data"))
        if not isinstance(group, h5py.Group):
            return _NAMES[0]
        found = self._try("look into data", lambda: [f"data/{name}/data" for name in group if f"{name}/data" in group])
        if len(found) > 1:
            raise InputError(f"{self.path} has frames of several detectors: choose with --dataset {' or '.join(found)}")
        return str(found[0]) if found else _NAMES[0]

    def _beside(self, name: str) -> NDArray[Any] | None:
        """A number for each frame, from a dataset in the group of the frames; None where there is none."""
        path = self.name.rpartition("/")[0] + "/" + name
        if self.name.count("/") < 2 or not self._has(path):
            return None
        columns = len(self._find(path).shape)
        numbers = self._read(path, (self.n_frames, None)[: max(1, columns)], ("u", "i", "b"), np.int64)
        return numbers.reshape(self.n_frames, -1)[:, 0]
