"""The file of one rank, as the master of a run takes it."""

import json
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from framelane.base.errors import InputError
from framelane.files.checked_file import CheckedFile
from framelane.receiver.sinks.peak_table import GROUP
from framelane.receiver.sinks.pixel_form import PixelForm
from framelane.session.metadata import Metadata

_DATA = "entry/data"
_DETECTOR = "entry/instrument/detector"
_MASK = f"{_DETECTOR}/pixel_mask"
_ENERGY = "entry/instrument/beam/incident_energy"
_JUDGED = "peaks", "accepted", "ladder", "bragg_peaks"
"""Records whose attributes say how frames were judged."""


class RankFile(CheckedFile):
    """A file that an `Hdf5Sink` has written, or was writing when it was killed. InputError for any other.

    A file that was not `ended` has the frames that all of its records have.
    """

    needed: ClassVar[str] = "give a file that framelane recv has written"

    data: Any
    """Its images, (frames, rows, columns)."""
    numbers: NDArray[np.uint64]
    """The detector's, one a frame."""
    kind: dict[str, Any]
    """What images must have in common to be in one dataset: pixels, shape, attributes."""
    settings: dict[str, Any]
    """What verdicts must have in common to be judged again together: thresholds, minimum, unit, share; by name."""
    records: list[str]
    """The names of what is kept of every frame."""
    peaks: dict[str, Any]
    """The datasets that say where Bragg peaks are, (frames, ...); empty where there are none."""
    entry: Any
    ended: bool
    """Whether its run has come to its end."""

    def _load(self) -> None:
        self.data = self._find(f"{_DATA}/data")
        self.entry = self._try("open its entry", lambda: self._file["entry"])
        self.ended = "end_time" in self.entry
        self.peaks = self._try("open its peaks", lambda: dict(self.entry.get(GROUP, {})))
        self.numbers = self._read(f"{_DATA}/detector_frame", (None,), "u", np.uint64)
        if len(self.data.shape) != 3 or self._shape(self.data)[0] != len(self.numbers):
            raise InputError(f"{self.path}: images of the shape {self.data.shape} cannot be: {self.needed}")
        rows, columns = self.data.shape[1:]
        pixels = {"rows": rows, "columns": columns, "pixels": str(self.data.dtype)}
        self.kind = pixels | self._attributes("data", "")
        self.records = [
            name for name in self._try("list its records", lambda: list(self.entry["data"])) if name != "data"
        ]
        if "rank_frame" in self.records:
            raise InputError(f"{self.path} links the files of ranks itself: give those")
        self.settings = {}
        for name in _JUDGED:
            self.settings |= self._attributes(name, f"{name}.") if name in self.records else {}

    def record(self, name: str) -> NDArray[Any]:
        """One row a frame."""
        found = self._find(f"{_DATA}/{name}")
        rows: NDArray[Any] = self._try(f"read {name}", lambda: self._values(found))
        if rows.shape[:1] != self.numbers.shape:
            raise InputError(f"{self.path}: {name} has the shape {rows.shape}, the file has {len(self.numbers)} frames")
        return rows

    def described(self, name: str) -> tuple[Any, dict[str, Any]]:
        """The dtype and the attributes of a record."""
        found = self._find(f"{_DATA}/{name}")
        return found.dtype, self._try(f"read the attributes of {name}", lambda: dict(found.attrs))

    def _attributes(self, name: str, prefix: str) -> dict[str, Any]:
        """Those of a dataset, as values that can be compared."""
        _, attributes = self.described(name)
        return {prefix + key: np.asarray(value).tolist() for key, value in attributes.items()}

    @property
    def form(self) -> PixelForm:
        """What stands in its images for values: the range of those that are good, and the type."""
        limits = [self._scalar(f"{_DETECTOR}/{name}") for name in ("underload_value", "saturation_value")]
        lowest, highest = (None if limit is None else limit.item() for limit in limits)
        return PixelForm(self.data.dtype, {}, lowest, highest)

    @property
    def photon_energy_kev(self) -> float | None:
        """The photon energy in keV, if the file has it."""
        energy = self._scalar(_ENERGY)
        return None if energy is None else float(energy)

    @property
    def mask(self) -> NDArray[np.uint32] | None:
        """The bits of NXmx, uint32 (rows, columns); None where nothing is known of the pixels."""
        if not self._has(_MASK) or "known" in self._try("read its mask", lambda: dict(self._find(_MASK).attrs)):
            return None
        return self._read(_MASK, self.data.shape[1:], "u", np.uint32)

    @property
    def metadata(self) -> Metadata:
        """What was given of the experiment."""
        text = self._scalar("entry/metadata")
        table = self._try("read its metadata", lambda: json.loads(text)) if text is not None else {}
        return Metadata.of_table(table, self.path)

    def _scalar(self, name: str) -> Any:
        """A value, None where there is none."""
        return self._try(f"read {name}", lambda: self._find(name)[()]) if self._has(name) else None

    def time(self, name: str) -> str:
        """`start_time`, `end_time` or `end_time_estimated`, ISO 8601."""
        return str(self._try(f"read {name}", lambda: self.entry[name].asstr()[()]))
