"""The experiment in a file: NXmx (manual.nexusformat.org, application definition NXmx) where enough of it is known.

Coordinates are NeXus': z along the beam, y up, so that x points to the left as seen from the sample; columns of an
image count to the right and rows down.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from framelane.models.jungfrau.jf_panels import PIXEL_M, Panel
from framelane.receiver.sinks import nxmx
from framelane.receiver.sinks.pixel_form import RAW, PixelForm
from framelane.session.metadata import KEV_ANGSTROM, Metadata

NEEDED = "distance_mm", "beam_x", "beam_y", "energy_kev", "material", "thickness_um"
"""What a reader of NXmx has to know; energies are also those of a calibration."""
_UNKNOWN = "unknown"
"""Names that NXmx requires and nobody has given."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Description:
    """What is known of the detector that an image (rows, columns) is of, and of the beam."""

    metadata: Metadata
    shape: tuple[int, int]
    photon_energy_kev: float | None
    panels: Sequence[Panel] | None = None
    """Where the pixels are; None where nobody has said it."""
    detector: str = "JUNGFRAU"
    """Its name."""
    mask: NDArray[np.uint32] | None = None
    """The image's mask in the bits of NXmx; None where nothing is known of any pixel."""

    @property
    def missing(self) -> list[str]:
        """What is needed for NXmx and not known, as options are called."""
        known = self.metadata.given | ({} if self.photon_energy_kev is None else {"energy_kev": 0})
        return [name for name in NEEDED if name not in known] + (["geometry"] if self.panels is None else [])

    def write(self, entry: Any, form: PixelForm, checksum: bool = True) -> None:
        """Write it to the group `entry`, which has images in this form.

        `definition` is only there where all of NXmx is, of photons or energies: raw words are none.
        """
        given = self.metadata
        if given.given:
            entry["metadata"] = given.model_dump_json(exclude_none=True)
        _write_names(entry, given)
        instrument = entry["instrument"]
        if self.photon_energy_kev is not None:
            beam = nxmx.group(instrument, "beam", "NXbeam")
            _value(beam, "incident_energy", self.photon_energy_kev, "keV")
            _value(beam, "incident_wavelength", KEV_ANGSTROM / self.photon_energy_kev, "angstrom")
            _value(beam, "total_flux", given.total_flux, "Hz")
        detector = nxmx.group(instrument, "detector", "NXdetector")
        detector["description"], detector["type"] = self.detector, "Pixel"
        for name in ("x_pixel_size", "y_pixel_size"):
            _value(detector, name, PIXEL_M, "m")
        if form.highest is not None:
            detector["underload_value"], detector["saturation_value"] = form.lowest, form.highest
        self._write_mask(detector, checksum)
        _value(detector, "distance", given.distance_mm, "m", 1e3)
        _value(detector, "beam_center_x", given.beam_x, "pixel")
        _value(detector, "beam_center_y", given.beam_y, "pixel")
        _value(detector, "sensor_thickness", given.thickness_um, "m", 1e6)
        _value(detector, "count_time", given.count_time_s, "s")
        _value(detector, "frame_time", given.frame_time_s, "s")
        for name, text in (
            ("sensor_material", given.material),
            ("serial_number", given.serial_number),
            ("firmware_version", given.firmware),
        ):
            if text is not None:
                detector[name] = text
        if not self.missing and form is not RAW:
            self._place(detector)
            entry["definition"] = "NXmx"

    def _write_mask(self, detector: Any, checksum: bool) -> None:
        mask = np.zeros(self.shape, np.uint32) if self.mask is None else self.mask
        made = detector.create_dataset("pixel_mask", data=mask, chunks=self.shape, **nxmx.packed(checksum))
        if self.mask is None:
            made.attrs["known"] = "nothing: only the codes in the images tell bad pixels"

    def _place(self, detector: Any) -> None:
        """Where the detector is, and each of its panels: NXdetector_module."""
        given = self.metadata
        assert given.distance_mm is not None
        assert given.beam_x is not None
        assert given.beam_y is not None
        axes = nxmx.group(detector, "transformations", "NXtransformations")
        _axis(axes, "det_z", given.distance_mm / 1e3, (0.0, 0.0, 1.0), ".")
        detector["depends_on"] = axes["det_z"].name
        for panel in self.panels or ():
            module = nxmx.group(detector, f"module_{panel.name}", "NXdetector_module")
            module["data_origin"] = np.array([panel.row, panel.column])
            module["data_size"] = np.array([panel.rows, panel.columns])
            away = -np.array([panel.corner[0] - given.beam_x, panel.corner[1] - given.beam_y, 0.0]) * PIXEL_M
            length = float(np.linalg.norm(away))
            direction = tuple(away / length) if length else (1.0, 0.0, 0.0)
            _axis(module, "module_offset", length, direction, axes["det_z"].name)
            for name, (x, y) in (("fast", panel.fast), ("slow", panel.slow)):
                vector = (float(-x), float(-y), 0.0)
                _axis(module, f"{name}_pixel_direction", PIXEL_M, vector, module["module_offset"].name)


def _write_names(entry: Any, given: Metadata) -> None:
    """Sample, source and instrument. The sample stands still: stills."""
    sample = nxmx.group(entry, "sample", "NXsample")
    sample["name"], sample["depends_on"] = given.sample or _UNKNOWN, "."
    nxmx.group(entry, "source", "NXsource")["name"] = given.source_name or _UNKNOWN
    nxmx.group(entry, "instrument", "NXinstrument")["name"] = given.instrument or _UNKNOWN


def _value(group: Any, name: str, value: float | None, units: str, divisor: float = 1.0) -> None:
    if value is not None:
        group[name] = value / divisor
        group[name].attrs["units"] = units


def _axis(group: Any, name: str, length_m: float, vector: Sequence[float], depends_on: str) -> None:
    """A translation of `length_m` along the unit `vector`."""
    group[name] = length_m
    group[name].attrs.update(
        {
            "units": "m",
            "transformation_type": "translation",
            "vector": np.array(vector),
            "offset": np.zeros(3),
            "offset_units": "m",
            "depends_on": depends_on,
        }
    )
