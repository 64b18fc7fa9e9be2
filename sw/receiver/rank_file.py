"""The file of one rank, as the master of a run takes it."""

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from framelane.models.errors import InputError
from framelane.receiver.checked_file import CheckedFile

_DATA = "entry/data"


class RankFile(CheckedFile):
    """A file that an `Hdf5Sink` has written. InputError for any other."""

    needed: ClassVar[str] = "give a file that framelane recv has written"

    data: Any
    """Its images, (frames, rows, columns)."""
    numbers: NDArray[np.uint64]
    """The detector's, one a frame."""
    kind: tuple[Any, ...]
    """What images must have in common to be in one dataset: dtype, shape, attributes."""
    records: list[str]
    """The names of what is kept of every frame."""
    entry: Any

    def _load(self) -> None:
        self.data = self._find(f"{_DATA}/data")
        self.numbers = self._read(f"{_DATA}/detector_frame", (None,), "u", np.uint64)
        if len(self.data.shape) != 3 or len(self.data) != len(self.numbers):
            raise InputError(f"{self.path}: images of the shape {self.data.shape} cannot be: {self.needed}")
        attributes = self._try("read the attributes of the images", lambda: dict(self.data.attrs))
        self.kind = self.data.dtype, self.data.shape[1:], {name: str(value) for name, value in attributes.items()}
        self.entry = self._try("open its entry", lambda: self._file["entry"])
        self.records = [
            name for name in self._try("list its records", lambda: list(self.entry["data"])) if name != "data"
        ]

    def record(self, name: str) -> NDArray[Any]:
        """One row a frame."""
        found = self._find(f"{_DATA}/{name}")
        rows: NDArray[Any] = self._try(f"read {name}", lambda: found[()])
        if rows.shape[:1] != self.numbers.shape:
            raise InputError(f"{self.path}: {name} has the shape {rows.shape}, the file has {len(self.numbers)} frames")
        return rows

    def described(self, name: str) -> tuple[Any, dict[str, Any]]:
        """The dtype and the attributes of a record."""
        found = self._find(f"{_DATA}/{name}")
        return found.dtype, self._try(f"read the attributes of {name}", lambda: dict(found.attrs))

    def time(self, name: str) -> str:
        """`start_time` or `end_time`, ISO 8601."""
        return str(self._try(f"read {name}", lambda: self.entry[name].asstr()[()]))
