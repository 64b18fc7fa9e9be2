"""Gain maps of JUNGFRAU modules, as their maker (PSI) measures and gives them: `gainMaps_M*.bin`.

A file holds one module: planes of 512 x 1024 float64, little endian, ADU/keV, without a header. Three planes are G0,
G1, G2; six are G0, G1, G2, HG0, HG1, HG2, the gains of the same stages where the detector runs in high gain. (Sources:
`jungfrau_convert_gainmaps.py` of PSI's jungfrau_utils names the six; `load_calibration` of aare, of the detector's
makers, reads three, or the fourth in the place of the first.)
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from framelane.base.documents import open_regular
from framelane.base.errors import InputError, InputOptionError
from framelane.base.part_file import PartFile
from framelane.models.jungfrau.jf_calibration import SIGN, STAGES
from framelane.models.jungfrau.jf_packet import MODULE_COLUMNS, MODULE_ROWS

NAMES = ("G0", "G1", "G2", "HG0", "HG1", "HG2")
NOMINAL_ADU_PER_KEV = (41.0, -1.44, -0.1145)
MOST_OFF_NOMINAL = 10.0
"""A plane whose median is further than this factor from nominal holds something else: other units, another order."""

_PLANE_BYTES = MODULE_ROWS * MODULE_COLUMNS * 8


@dataclass(frozen=True, eq=False, slots=True)
class Gains:
    """The gains of one gain mode."""

    values: NDArray[np.float32]
    """ADU/keV, (3, rows, columns): positive in plane 0, negative in planes 1 and 2, where not `bad`."""
    bad: NDArray[np.bool_]
    """Not finite, 0 or of the wrong sign; of the same shape."""


class GainMaps:
    """The gain maps of all modules, one file each, in module order: module 0 is at the top of the raw image.

    InputError for a file that is not there, or has the wrong size.
    """

    def __init__(self, paths: Sequence[Path]) -> None:
        self.paths = tuple(paths)
        if not self.paths:
            raise InputError("no gain maps: give the file of each module, in module order")
        self._maps = [_read(path) for path in self.paths]

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns of the raw image."""
        return len(self._maps) * MODULE_ROWS, MODULE_COLUMNS

    @property
    def high_gain(self) -> bool:
        """Whether every module has the planes of the high gain."""
        return all(len(planes) == len(NAMES) for planes in self._maps)

    def gains(self, high_gain: bool, mask_bad: bool = False, unused_modules: Sequence[int] = ()) -> Gains:
        """The gains of one gain mode; float32, of which none is less exact than 1e-7.

        InputError for a bad gain, unless `mask_bad` or its module is not used; where a module has no planes of the high
        gain; and where a plane cannot be what it should.
        """
        first = STAGES if high_gain else 0
        names = NAMES[first : first + STAGES]
        bad = np.zeros((len(self._maps), STAGES, MODULE_ROWS, MODULE_COLUMNS), np.bool_)
        sign = np.array(SIGN).reshape(STAGES, 1, 1)
        for module, (path, planes) in enumerate(zip(self.paths, self._maps, strict=True)):
            wanted = planes[first : first + STAGES]
            if len(wanted) < STAGES:
                raise InputError(
                    f"{path} has three planes, those of the normal gain: for HG0 give maps with six planes"
                )
            bad[module] = ~np.isfinite(wanted) | (wanted * sign <= 0)
            if module not in unused_modules:
                _check_medians(path, names, wanted, bad[module])
                if not mask_bad:
                    _refuse_bad(path, names, wanted, bad[module])
        values = np.concatenate([planes[first : first + STAGES] for planes in self._maps], axis=1)
        return Gains(values.astype(np.float32), np.concatenate(list(bad), axis=1))


def write_gain_maps(path: Path, planes: NDArray[np.floating[Any]], *, force: bool = False) -> None:
    """Write a file that `GainMaps` reads: planes (3 or 6, 512, 1024) of a module, ADU/keV. It appears whole.

    An older file is replaced only with `force`.

    InputError where it cannot be written, or the planes are not those of a module.
    """
    if planes.shape not in ((STAGES, MODULE_ROWS, MODULE_COLUMNS), (len(NAMES), MODULE_ROWS, MODULE_COLUMNS)):
        raise InputError(f"gains of the shape {planes.shape} are not gain maps: needed is (3 or 6, 512, 1024)")
    with PartFile(path, force=force) as part:
        try:
            part.path.write_bytes(planes.astype("<f8").tobytes())
        except OSError as error:
            raise InputError(f"cannot write {path}: {error.strerror}") from error


def _read(path: Path) -> NDArray[np.float64]:
    """(3 or 6, 512, 1024) float64."""
    try:
        with open_regular(path, "gain maps") as file:
            data = file.read(len(NAMES) * _PLANE_BYTES + 1)
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}: give the gain maps of a module") from error
    if len(data) not in (STAGES * _PLANE_BYTES, len(NAMES) * _PLANE_BYTES):
        size = f"{len(data)} bytes" if len(data) <= len(NAMES) * _PLANE_BYTES else f"more than {len(data) - 1} bytes"
        raise InputError(
            f"{path} has {size}, gain maps of a module of {MODULE_ROWS} x {MODULE_COLUMNS} pixels have "
            f"{STAGES * _PLANE_BYTES} (three planes) or {len(NAMES) * _PLANE_BYTES} (six): truncated, or another file"
        )
    return np.frombuffer(data, "<f8").reshape(-1, MODULE_ROWS, MODULE_COLUMNS)


def _check_medians(path: Path, names: Sequence[str], planes: NDArray[np.float64], bad: NDArray[np.bool_]) -> None:
    for name, gain, plane, plane_bad in zip(names, NOMINAL_ADU_PER_KEV, planes, bad, strict=True):
        good = plane[~plane_bad]
        if good.size <= plane.size // 2:
            raise InputOptionError(
                "{0}: {1} of {2} gains of {3} are not finite, 0 or of the wrong sign: this is not a gain map, or the "
                "module is given as bad with {bad_modules}",
                *(path, plane.size - good.size, plane.size, name),
            )
        median = float(np.median(good))
        if not 1 / MOST_OFF_NOMINAL < median / gain < MOST_OFF_NOMINAL:
            raise InputError(
                f"{path}: the median gain of {name} is {median:.4g} ADU/keV, far from the nominal {gain:g}: needed are "
                f"float64 planes of {', '.join(NAMES)} in this order, in ADU/keV"
            )


def _refuse_bad(path: Path, names: Sequence[str], planes: NDArray[np.float64], bad: NDArray[np.bool_]) -> None:
    if bad.any():
        plane, row, column = map(int, np.unravel_index(int(bad.argmax()), bad.shape))
        raise InputOptionError(
            "{0}: {1} gains are not finite, 0 or of the wrong sign, first {2:g} ADU/keV in {3} row {4} column {5}: "
            "give another file, or mask these pixels with {mask_bad_gains}",
            *(path, np.count_nonzero(bad), planes[plane, row, column], names[plane], row, column),
        )
