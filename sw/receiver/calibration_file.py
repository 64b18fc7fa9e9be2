"""The calibration of a JUNGFRAU from an HDF5 file.

Datasets at the root of the file, planes in the order G0, G1, G2:

| name               | shape              | type  |                                                    |
|--------------------|--------------------|-------|----------------------------------------------------|
| `pedestal_adu`     | (3, rows, columns) | float | ADU                                                |
| `gain_adu_per_kev` | (3, rows, columns) | float | ADU/keV, positive in G0, negative in G1 and G2     |
| `gain_known`       | (3, rows, columns) | bool  | optional: where the gain was measured, not assumed |
| `mask`             | (rows, columns)    | bool  | optional, also by stage: pixels not to be used     |

and the attribute `photon_energy_kev` of the file.
"""

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any, Self

import h5py
import hdf5plugin
import numpy as np
from numpy.typing import NDArray

from framelane.models.errors import InputError
from framelane.models.jf_calibration import STAGES, Calibration
from framelane.models.part_file import PartFile
from framelane.receiver.forgiving import ForgivingFile

_KINDS = {"u2": "uint16", "f": "a floating type", "b": "bool"}


class CalibrationFile:
    """An open file, checked: shapes and dtypes agree, the calibration is read. Raises InputError for any other file.

    `pedestal_adu`, `gain_adu_per_kev` (float32) and `gain_known` (bool, all true where the file does not say) have the
    shape (3, rows, columns).
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        if not path.is_file():
            raise InputError(f"there is no file {path}: give an HDF5 file")
        self._file = self._try("open it", lambda: h5py.File(path, "r"))
        try:
            self._load()
        except BaseException:
            self._file.close()
            raise

    @property
    def calibration(self) -> Calibration:
        """The same for the models; InputError where a pixel has no usable numbers."""
        try:
            return Calibration(self.pedestal_adu, self.gain_adu_per_kev, self.photon_energy_kev, self.mask)
        except InputError as error:
            raise InputError(f"{self.path}: {error}") from error

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def _load(self) -> None:
        planes = self._dataset("pedestal_adu", (STAGES, None, None), "f")
        _, self.rows, self.columns = shape = tuple(map(int, planes.shape))
        self.pedestal_adu: NDArray[np.float32] = self._read("pedestal_adu", shape, "f", np.float32)
        self.gain_adu_per_kev: NDArray[np.float32] = self._read("gain_adu_per_kev", shape, "f", np.float32)
        known = self._read("gain_known", shape, "b", np.bool_) if self._has("gain_known") else np.ones(shape, np.bool_)
        self.gain_known: NDArray[np.bool_] = known
        self.mask: NDArray[np.bool_] | None = None
        if self._has("mask"):
            self.mask = self._read("mask", shape if len(self._find("mask").shape) == 3 else shape[1:], "b", np.bool_)
        attributes = self._file.attrs
        value = self._try("read photon_energy_kev", lambda: np.asarray(attributes.get("photon_energy_kev", np.nan)))
        self.photon_energy_kev = float(value) if value.shape == () and value.dtype.kind in "fiu" else math.nan
        if not 0 < self.photon_energy_kev < math.inf:
            raise InputError(f"{self.path}: attribute photon_energy_kev is missing or not a positive number of keV")

    def _read(self, name: str, shape: tuple[int | None, ...], kind: str, dtype: type[np.generic]) -> NDArray[Any]:
        dataset = self._dataset(name, shape, kind)
        array: NDArray[Any] = self._try(f"read {name}", lambda: np.asarray(dataset[()], dtype))
        return array

    def _has(self, name: str) -> bool:
        """Whether there is anything of that name, a link that leads nowhere included."""
        return self._try(f"look for {name}", lambda: self._file.get(name, getlink=True)) is not None

    def _find(self, name: str) -> Any:
        """The dataset of that name; its shape and dtype can be had."""
        dataset = self._try(f"find {name}", lambda: self._file.get(name))
        if dataset is None:
            raise InputError(
                f"{self.path} has no dataset {name}: needed are pedestal_adu, gain_adu_per_kev and, for frames, raw"
            )
        if not isinstance(dataset, h5py.Dataset):
            raise InputError(f"{self.path}: {name} is not a dataset: {type(dataset).__name__}")
        shape, _ = self._try(f"tell the type of {name}", lambda: (dataset.shape, dataset.dtype))
        if shape is None:
            raise InputError(f"{self.path}: dataset {name} is empty: it has no shape")
        return dataset

    def _dataset(self, name: str, shape: tuple[int | None, ...], kind: str) -> Any:
        """The dataset, whose shape must be `shape` (None: any size but 0) and whose dtype of `kind`."""
        dataset = self._find(name)
        if len(dataset.shape) != len(shape) or any(
            n != (wanted or n or 1) for n, wanted in zip(dataset.shape, shape, strict=True)
        ):
            sizes = ", ".join("any" if n is None else str(n) for n in shape)
            raise InputError(f"{self.path}: dataset {name} has the shape {dataset.shape}, needed is ({sizes})")
        if not dataset.dtype.str[1:].startswith(kind):
            raise InputError(f"{self.path}: dataset {name} has the dtype {dataset.dtype}, needed is {_KINDS[kind]}")
        return dataset

    def _try(self, what: str, action: Callable[[], Any]) -> Any:
        """What the HDF5 library makes of it: each of these is how it says that it cannot."""
        try:
            return action()
        except MemoryError as error:
            raise InputError(f"{self.path} is too large: cannot {what} ({_reason(error)})") from error
        except (OSError, RuntimeError, ValueError, TypeError, KeyError) as error:
            reason = _reason(error)
            raise InputError(f"{self.path} is damaged or not an HDF5 file: cannot {what} ({reason})") from error


def _reason(error: Exception) -> str:
    return next(iter(str(error).splitlines()), type(error).__name__)


def write_calibration(path: Path, calibration: Calibration) -> None:
    """Write a file that `CalibrationFile` reads: what is not `usable` is masked. InputError where that fails."""
    try:
        with PartFile(path) as part:
            with ForgivingFile(part.path) as disk, h5py.File(disk, "w", libver="v110") as file:
                for name, planes, dtype in (
                    ("pedestal_adu", calibration.pedestal, np.float32),
                    ("gain_adu_per_kev", calibration.gain, np.float32),
                    ("mask", ~calibration.usable, np.bool_),
                ):
                    chunks = (1, *planes.shape[1:])
                    file.create_dataset(name, data=planes.astype(dtype), chunks=chunks, **hdf5plugin.Bitshuffle())
                file.attrs["photon_energy_kev"] = calibration.photon_energy_kev
            if disk.error:
                raise disk.error
    except OSError as error:
        raise InputError(f"cannot write {path}: {error.strerror}: make room there, or give another file") from error
