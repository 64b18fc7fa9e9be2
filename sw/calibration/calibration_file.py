"""The calibration of a JUNGFRAU from an HDF5 file.

Datasets at the root of the file, planes in the order G0, G1, G2, or HG0, G1, G2 where the attribute `high_gain` is 1:

| name               | shape              | type   |                                                           |
|--------------------|--------------------|--------|-----------------------------------------------------------|
| `pedestal_adu`     | (3, rows, columns) | float  | ADU                                                       |
| `gain_adu_per_kev` | (3, rows, columns) | float  | ADU/keV, positive in plane 0, negative in planes 1 and 2  |
| `gain_known`       | (3, rows, columns) | bool   | optional: where the gain was measured, not assumed        |
| `mask`             | (rows, columns)    | bool   | optional, also by stage: pixels not to be used            |
| `mask_reasons`     | (3, rows, columns) | uint32 | optional: bits of `Reason`, which are its attributes      |
| `pedestal_rms_adu` | (3, rows, columns) | float  | optional: noise, ADU; NaN where it is not known           |
| `pedestal_count`   | (3, rows, columns) | uint32 | optional: words behind a pedestal; 0 where it is not known |

and the attribute `photon_energy_kev` of the file. A file with both gain modes has the same again, for the high one, in
the group `high_gain`. The group `provenance` is written by `provenance_group`.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import hdf5plugin
import numpy as np
from numpy.typing import NDArray

from framelane.base.any_path import AnyPath
from framelane.base.errors import InputError
from framelane.calibration.calibration_set import CalibrationSet
from framelane.calibration.provenance import Provenance
from framelane.calibration.provenance_group import read_provenance, write_provenance
from framelane.calibration.stage_pedestal import Reason
from framelane.files.checked_file import CheckedFile
from framelane.files.new_hdf5 import NewHdf5
from framelane.models.jungfrau.jf_calibration import STAGES, Calibration

FORMAT = "framelane-calibration-1"
_HIGH_GAIN = "high_gain"


class CalibrationFile(CheckedFile):
    """An open file, checked: shapes and dtypes agree, the calibration is read. Raises InputError for any other file.

    `pedestal_adu`, `gain_adu_per_kev` (float32) and `gain_known` (bool, all true where the file does not say) have the
    shape (3, rows, columns). They are those of the gain mode that is wanted; None: of the one at the root of the file.
    """

    needed = "needed are pedestal_adu, gain_adu_per_kev and, for frames, raw"

    def __init__(self, path: AnyPath, high_gain: bool | None = None) -> None:
        self._wanted = high_gain
        super().__init__(path)

    @property
    def calibration(self) -> Calibration:
        """The same for the models; InputError where a pixel has no usable numbers."""
        try:
            return Calibration(
                self.pedestal_adu, self.gain_adu_per_kev, self.photon_energy_kev, self.mask, self.high_gain
            )
        except InputError as error:
            raise InputError(f"{self.path}: {error}") from error

    @property
    def rms_adu(self) -> NDArray[np.float32]:
        """Noise, float32 (3, rows, columns); NaN where it is not known."""
        return self._optional("pedestal_rms_adu", "f", np.float32, np.nan)

    @property
    def count(self) -> NDArray[np.uint32]:
        """Words behind each pedestal, uint32 (3, rows, columns); 0 where it is not known."""
        return self._optional("pedestal_count", "u", np.uint32, 0)

    @property
    def mask_reasons(self) -> NDArray[np.uint32]:
        """Bits of `Reason`, uint32 (3, rows, columns): `GIVEN` where the file masks a pixel and does not say why."""
        reasons = self._optional("mask_reasons", "u", np.uint32, 0)
        if self.mask is not None:
            reasons[np.broadcast_to(self.mask, reasons.shape) & (reasons == 0)] = Reason.GIVEN.bit
        return reasons

    @property
    def provenance(self) -> Provenance | None:
        """How the file was made; None where it does not say."""
        if not self._has("provenance"):
            return None
        found: Provenance = self._try("read provenance", lambda: read_provenance(self._file["provenance"]))
        return found

    def _load(self) -> None:
        root_is_high = self._attribute(_HIGH_GAIN, 0) == 1
        self.has_high_gain = root_is_high or self._has(_HIGH_GAIN)
        self.high_gain = root_is_high if self._wanted is None else self._wanted
        if self.high_gain and not self.has_high_gain:
            raise InputError(
                f"{self.path} has no calibration of the high gain: make one with a dark run of HG0 and gain maps of "
                "six planes"
            )
        if root_is_high and not self.high_gain:
            raise InputError(f"{self.path} is a calibration of the high gain only: make one with a dark run of G0")
        self._group = f"{_HIGH_GAIN}/" if self.high_gain and not root_is_high else ""
        pedestal, gain, known, mask = (
            self._group + name for name in ("pedestal_adu", "gain_adu_per_kev", "gain_known", "mask")
        )
        planes = self._dataset(pedestal, (STAGES, None, None), "f")
        _, self.rows, self.columns = shape = tuple(map(int, planes.shape))
        self.pedestal_adu: NDArray[np.float32] = self._read(pedestal, shape, "f", np.float32)
        self.gain_adu_per_kev: NDArray[np.float32] = self._read(gain, shape, "f", np.float32)
        self.gain_known: NDArray[np.bool_] = (
            self._read(known, shape, "b", np.bool_) if self._has(known) else np.ones(shape, np.bool_)
        )
        self.mask: NDArray[np.bool_] | None = None
        if self._has(mask):
            self.mask = self._read(mask, shape if len(self._find(mask).shape) == 3 else shape[1:], "b", np.bool_)
        self.photon_energy_kev = self._attribute("photon_energy_kev", math.nan)
        if not 0 < self.photon_energy_kev < math.inf:
            raise InputError(f"{self.path}: attribute photon_energy_kev is missing or not a positive number of keV")

    def _attribute(self, name: str, default: float) -> float:
        """A number; NaN for anything else that has the name."""
        value = self._try(f"read {name}", lambda: np.asarray(self._file.attrs.get(name, default)))
        return float(value) if value.shape == () and value.dtype.kind in "fiub" else math.nan

    def _optional(self, name: str, kind: str, dtype: type[np.generic], default: float) -> NDArray[Any]:
        name, shape = self._group + name, (STAGES, self.rows, self.columns)
        return self._read(name, shape, kind, dtype) if self._has(name) else np.full(shape, default, dtype)


def write_calibration(
    path: AnyPath,
    calibration: Calibration,
    photons: Iterable[NDArray[np.float32]] = (),
    *,
    force: bool = False,
) -> None:
    """Write an HDF5 file that `CalibrationFile` reads: what is not `usable` is masked. InputError where that fails.

    `photons`, images float32 (rows, columns) one after the other, become its `photons_reference`, where there are any.
    An older file is replaced only with `force`.
    """

    def fill(file: Any) -> None:
        _put(file, calibration)
        dataset = None
        for number, image in enumerate(photons):
            if dataset is None:
                how = {"maxshape": (None, *image.shape), "chunks": (1, *image.shape), "fletcher32": True}
                name, shape = "photons_reference", (0, *image.shape)
                dataset = file.create_dataset(name, shape, np.float32, **how, **hdf5plugin.Bitshuffle())
            dataset.resize(number + 1, axis=0)
            dataset[number] = image

    _write(Path(path), fill, force)


def write_sets(path: Path, sets: Sequence[CalibrationSet], provenance: Provenance, *, force: bool = False) -> None:
    """The same with statistics and provenance: of one gain mode, or of the normal and then the high one."""

    def fill(file: Any) -> None:
        for each, place in zip(sets, (file, file.create_group(_HIGH_GAIN) if len(sets) > 1 else None), strict=False):
            _put(place, each.calibration)
            _array(place, "pedestal_rms_adu", each.rms)
            _array(place, "pedestal_count", each.count)
            reasons = _array(place, "mask_reasons", each.reasons)
            for reason in Reason:
                reasons.attrs[reason.words] = reason.bit
        file.attrs["format"] = FORMAT
        write_provenance(file.create_group("provenance"), provenance)

    _write(path, fill, force)


def _put(place: Any, calibration: Calibration) -> None:
    _array(place, "pedestal_adu", calibration.pedestal.astype(np.float32))
    _array(place, "gain_adu_per_kev", calibration.gain.astype(np.float32))
    _array(place, "mask", ~calibration.usable)
    place.attrs["photon_energy_kev"] = calibration.photon_energy_kev
    place.attrs[_HIGH_GAIN] = calibration.high_gain


def _array(place: Any, name: str, planes: NDArray[Any]) -> Any:
    chunks = (1, *planes.shape[1:])
    return place.create_dataset(name, data=planes, chunks=chunks, fletcher32=True, **hdf5plugin.Bitshuffle())


def _write(path: Path, fill: Callable[[Any], None], force: bool) -> None:
    with NewHdf5(path, force=force) as new:
        fill(new.file)
