"""Raw JUNGFRAU frames from an HDF5 file, batch by batch, whoever wrote it."""

from collections.abc import Iterator
from datetime import datetime
from typing import Any, NamedTuple

import h5py
import numpy as np
from numpy.typing import NDArray

from framelane.base.any_path import AnyPath
from framelane.base.errors import InputError, InputOptionError
from framelane.base.real_time import TAI_NS, is_iso, is_real, iso
from framelane.files.checked_file import CheckedFile

BATCH_BYTES = 64 << 20
"""Frames that are in memory at once."""

RECORDS = (
    "frame_number",
    "bunch_id",
    "timestamp_ns",
    "time_flags",
    "detector_frame",
    "captured_ns",
    "complete",
    "holes",
)
"""What is kept of a frame with its corrected image."""

_NAMES = ("raw", "entry/data/data")


class Taken(NamedTuple):
    """When frames were taken, ISO 8601 in UTC, and by what that is known."""

    start: str
    end: str | None
    """None where it is not known."""
    start_by: str
    end_by: str


class Batch(NamedTuple):
    """Good frames that follow one another."""

    indices: NDArray[np.int64]
    """Places of the frames in the file, int64 (frames)."""
    words: NDArray[np.uint16]
    """uint16 (frames, rows, columns)."""


class RawFrames(CheckedFile):
    """An open file with `n_frames` raw frames: uint16 words (frames, rows, columns). InputError for any other file.

    They are in the dataset that is named, else in `raw` (see `recorder`), `entry/data/data` (those of `framelane recv`
    without a calibration) or `data/<detector>/data` (PSI's data acquisition at SwissFEL). In the last case `n_good`
    frames, those whose `is_good_frame` is not 0, are read, and `daq_rec` is the DAQ info of the packets: that file's
    layout is from `jungfrau_create_pedestals.py` of PSI's jungfrau_utils.
    """

    needed = "needed is raw, entry/data/data or data/<detector>/data, or the dataset that is named"

    def __init__(self, path: AnyPath, dataset: str | None = None) -> None:
        self._wanted = dataset
        super().__init__(path)

    @property
    def starts(self) -> range:
        """The frames that batches begin with, so that `BATCH_BYTES` hold one."""
        return range(0, self.n_frames, max(1, BATCH_BYTES // (self.rows * self.columns * 2)))

    def batch(self, first: int) -> Batch:
        """The good frames from `first`, one of `starts`, to before the next; there may be none."""
        end = min(first + self.starts.step, self.n_frames)
        words, good = self._words(first, end), self._good[first:end]
        return Batch(first + np.flatnonzero(good), words if good.all() else words[good])

    def batches(self) -> Iterator[Batch]:
        """All good frames in their order."""
        for first in self.starts:
            batch = self.batch(first)
            if batch.indices.size:
                yield batch

    def records(self) -> dict[str, NDArray[np.uint64]]:
        """`RECORDS` of each frame, as far as they are beside the frames; uint64 (frames)."""
        found = {name: self._beside(name, np.uint64) for name in RECORDS}
        return {name: numbers for name, numbers in found.items() if numbers is not None}

    def _words(self, first: int, end: int) -> NDArray[np.uint16]:
        words: NDArray[np.uint16] = self._try(
            f"read frames {first} to {end - 1} of {self.name}",
            lambda: np.asarray(self._raw[first:end], np.dtype("=u2")),
        )
        return words

    def _load(self) -> None:
        self.name = self._locate() if self._wanted is None else _plain(self._wanted)
        self._raw = self._dataset(self.name, (None, None, None), "u2")
        self.n_frames, self.rows, self.columns = self._shape(self._raw)
        good = self._beside("is_good_frame")
        self._good = np.ones(self.n_frames, np.bool_) if good is None else good != 0
        self.n_good = int(np.count_nonzero(self._good))
        if not self.n_good:
            raise InputError(f"{self.path}: is_good_frame is 0 for each of {self.n_frames} frames: give another run")
        self.modes, cells = self._settings()
        """Gain mode of each frame, int8 (frames, modules or 1): 1 high, 0 normal, -1 where the file does not say."""
        modes = self.modes[self._good]
        self.gain_modes = np.unique(modes[modes >= 0]).astype(np.bool_).tolist()
        """The gain modes of the good frames, whether high; empty where the file does not say."""
        self.storage_cells = np.unique(cells[self._good][modes >= 0]).tolist()
        """Storage cells of the good frames, ascending; empty where the file does not say."""
        begun = self._try("read begun", lambda: self._file.attrs.get("begun", ""))
        self.begun = begun if isinstance(begun, str) else ""
        """When the recording began, ISO 8601; empty where the file does not say."""

    @property
    def high_gain(self) -> bool | None:
        """Whether the detector was in high gain; None where the file does not say, or says both."""
        return self.gain_modes[0] if len(self.gain_modes) == 1 else None

    def taken(self, clock: str | None = None) -> Taken | None:
        """When its first and its last frame were taken; None where nothing in the file says it.

        As the file says it itself, which one of a recording that was killed does of its beginning alone. Else by the
        first and the last time stamp that can be a time of day, of a source whose `clock` is utc, tai or its own; None:
        as the file says.
        """
        begun, ended = self._times()
        first, last, known_by = self._stamps(clock)
        start, end = begun or first, ended or last
        if start is None:
            return None
        if end is not None and datetime.fromisoformat(end) < datetime.fromisoformat(start):
            end = None
        return Taken(start, end, "the recording" if begun else known_by, "the recording" if ended else known_by)

    def _times(self) -> tuple[str | None, str | None]:
        """When the recording began and ended, by itself."""
        if self.name == "raw":
            begun, ended = self._try("read its times", lambda: [self._file.attrs.get(n) for n in ("begun", "ended")])
        else:
            begun, ended = (self._text(f"entry/{name}") for name in ("start_time", "end_time"))
        return begun if is_iso(begun) else None, ended if is_iso(ended) else None

    def _stamps(self, clock: str | None) -> tuple[str | None, str | None, str]:
        """The least and the greatest time of a frame, and whose time it is: of the capture's packets, or the source."""
        for name, of in ("captured_ns", "utc"), ("timestamp_ns", clock or self._clock()):
            times = [] if (found := self._beside(name, np.uint64)) is None else found[found != 0].tolist()
            ends = [min(times), max(times)] if times else []
            if ends and of != "own" and all(is_real(time) for time in ends):
                shift = TAI_NS if of == "tai" else 0
                return iso(ends[0] - shift), iso(ends[1] - shift), f"the first and the last {name}, {of}"
        return None, None, ""

    def _clock(self) -> str:
        """What the file says of the clock of its time stamps."""
        path = _plain(self.name.rpartition("/")[0] + "/timestamp_ns")
        said = self._try("read its clock", lambda: self._find(path).attrs.get("clock")) if self._has(path) else None
        return said if said in ("utc", "tai", "own") else "utc or tai"

    def _text(self, name: str) -> Any:
        if not self._has(name):
            return None
        found = self._try(f"read {name}", lambda: self._find(name)[()])
        return found.decode("ascii", "replace") if isinstance(found, bytes) else None

    def _settings(self) -> tuple[NDArray[np.int8], NDArray[np.int64]]:
        """The gain mode and the storage cell of each frame and module; -1: the file does not say."""
        if self.name == "raw" and self._has("high_gain"):
            came = self._read("packets", (self.n_frames, None), "u", np.int64) > 0
            high = self._read("high_gain", came.shape, "b", np.int8)
            cells = self._read("storage_cell", came.shape, "u", np.int64)
            return np.where(came, high, np.int8(-1)), cells
        words = self._beside("daq_rec")
        if words is None:
            unknown = np.full((self.n_frames, 1), -1, np.int8)
            return unknown, unknown.astype(np.int64)
        words = words.reshape(-1, 1)
        return (words & 1).astype(np.int8), words >> 8 & 0xF

    def _locate(self) -> str:
        for name in _NAMES:
            if self._has(name):
                return name
        group = self._try("look for data", lambda: self._file.get("data"))
        if not isinstance(group, h5py.Group):
            return _NAMES[0]
        found = self._try("look into data", lambda: [f"data/{name}/data" for name in group if f"{name}/data" in group])
        if len(found) > 1:
            raise InputOptionError(
                "{0} has frames of several detectors: choose with {dataset} {1}", self.path, " or ".join(found)
            )
        return str(found[0]) if found else _NAMES[0]

    def _beside(self, name: str, dtype: type[np.generic] = np.int64) -> NDArray[Any] | None:
        """A number for each frame, from a dataset in the group of the frames; None where there is none."""
        path = _plain(self.name.rpartition("/")[0] + "/" + name)
        if not self._has(path):
            return None
        columns = len(self._find(path).shape)
        numbers = self._read(path, (self.n_frames, None)[: max(1, columns)], ("u", "i", "b"), dtype)
        return numbers.reshape(self.n_frames, -1)[:, 0]


def _plain(name: str) -> str:
    """A dataset's path from the root of the file without `/` before and behind it, so that one dataset has one name."""
    return "/".join(part for part in name.split("/") if part not in ("", ".")) or "/"
