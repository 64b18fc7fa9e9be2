"""What is known of a detector, put together of metadata, a geometry, and the images themselves."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from framelane.base.errors import InputOptionError
from framelane.models.jungfrau.jf_geometry import Geometry
from framelane.models.jungfrau.jf_packet import MODULE_COLUMNS, MODULE_ROWS
from framelane.models.jungfrau.jf_panels import Panel, assembled_panels, image_panel, stacked_panels
from framelane.receiver.geometry.geometry_file import load
from framelane.receiver.sinks.description import Description
from framelane.receiver.sinks.mask_bits import DEAD, USER
from framelane.session.metadata import Metadata

_SAME_ENERGY = 0.01
"""So far apart, as a share, may what is given be from a calibration."""


def describe(
    metadata: Metadata,
    shape: tuple[int, int],
    *,
    photon_energy_kev: float | None = None,
    usable: NDArray[np.bool_] | None = None,
    geometry: Geometry | None = None,
    mask: NDArray[np.uint32] | None = None,
) -> Description:
    """The description of images of `shape` (rows, columns).

    `photon_energy_kev` is that of the calibration, None where there is none. Bad pixels are those that are not `usable`
    (rows, columns), or `mask` has them. `geometry` has been loaded already; else that of the metadata is. Where there
    is none, frames of one module lie as they are read, and modules one above the other nobody knows where.
    InputError where these do not go together.
    """
    if geometry is None and metadata.geometry is not None:
        geometry = load(metadata.geometry)
    energy = metadata.photon_energy_kev
    if energy is not None and photon_energy_kev not in (None, 1.0):  # 1: photons are keV
        assert photon_energy_kev is not None
        if abs(energy / photon_energy_kev - 1) > _SAME_ENERGY:
            raise InputOptionError(
                "{energy_kev} {0:g} (or its wavelength) is not that of {calibration}, which counts photons of {1:g} "
                "keV: give the one that is right, or a calibration of this energy",
                energy,
                photon_energy_kev,
            )
    panels, name = _panels(geometry, shape)
    if mask is None and usable is not None:
        mask = np.where(usable, np.uint32(0), np.uint32(DEAD))
    if geometry is not None and shape == _stack(len(geometry.module)):
        mask = _unwanted(geometry, shape, mask)
    return Description(
        metadata=metadata,
        shape=shape,
        photon_energy_kev=energy or photon_energy_kev,
        panels=panels,
        detector=name,
        mask=mask,
    )


def _panels(geometry: Geometry | None, shape: tuple[int, int]) -> tuple[Sequence[Panel] | None, str]:
    if geometry is None:
        if shape == _stack(1):
            geometry = load("jungfrau_500k")
        elif shape == _stack(shape[0] // MODULE_ROWS) and shape[0]:
            return None, f"JUNGFRAU, {shape[0] // MODULE_ROWS} modules"
        else:
            return image_panel(shape), "JUNGFRAU"
    if shape == _stack(len(geometry.module)):
        return stacked_panels(geometry), geometry.name
    if shape == (geometry.rows, geometry.columns):
        return assembled_panels(geometry), geometry.name
    rows, columns = _stack(len(geometry.module))
    raise InputOptionError(
        "{geometry} {0!r} has modules of {1} x {2} pixels and images of {3} x {4}, the frames have {5} x {6}: give "
        "that of this detector",
        geometry.name,
        rows,
        columns,
        geometry.rows,
        geometry.columns,
        *shape,
    )


def _stack(modules: int) -> tuple[int, int]:
    """The shape of a raw frame."""
    return modules * MODULE_ROWS, MODULE_COLUMNS


def _unwanted(geometry: Geometry, shape: tuple[int, int], mask: NDArray[np.uint32] | None) -> NDArray[np.uint32] | None:
    """The mask with those modules that the geometry masks."""
    masked = np.repeat([place.masked for place in geometry.module], MODULE_ROWS)
    if not masked.any():
        return mask
    made = np.zeros(shape, np.uint32) if mask is None else mask.copy()
    made[masked] |= np.uint32(USER)
    return made
