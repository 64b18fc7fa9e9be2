"""A file as DIALS sees it: its own reader of NXmx (PyPI: nxmx), asked what dxtbx asks of it."""

from pathlib import Path
from typing import Any

import h5py
import hdf5plugin  # noqa: F401  (so that h5py reads compressed datasets)
import numpy as np
import nxmx

PIXEL_MM = 0.075


def read_nxmx(path: Path) -> dict[str, Any]:
    """What a detector model is made of; lengths in mm. Raises whatever the reader raises where that cannot be."""
    with h5py.File(path, "r") as file:
        reader: Any = nxmx.NXmx  # its functions have no types
        (entry,) = reader(file).entries
        (instrument,) = entry.instruments
        (detector,) = instrument.detectors
        (beam,) = instrument.beams
        (sample,) = entry.samples
        (data,) = entry.data
        images = data[data.signal]
        return {
            "shape": images.shape,
            "stills": sample.depends_on is None,
            "names": (sample.name, entry.source.name, instrument.name),
            "wavelength": beam.incident_wavelength.to("angstrom").magnitude,
            "material": {"Si": "Si", "CdTe": "CdTe", "GaAs": "GaAs"}[detector.sensor_material],
            "thickness": detector.sensor_thickness.to("mm").magnitude,
            "trusted": (detector.underload_value, detector.saturation_value),
            "readout": detector.bit_depth_readout,
            "distance": detector.distance.to("mm").magnitude if detector.distance is not None else None,
            "beam": (_pixels(detector.beam_center_x), _pixels(detector.beam_center_y)),
            "times": [time.to("s").magnitude if time is not None else None for time in _times(detector)],
            "serial": detector.serial_number,
            "mask": None if detector.pixel_mask is None else detector.pixel_mask[()],
            "begin_end": (entry.start_time, entry.end_time, entry.end_time_estimated),
            "panels": [_panel(module) for module in _some(detector.modules)],
        }


def _some(modules: list[Any]) -> list[Any]:
    if not modules:
        raise ValueError("no NXdetector_module")
    return modules


def _times(detector: Any) -> tuple[Any, Any]:
    return detector.count_time, detector.frame_time


def _pixels(length: Any) -> Any:
    return None if length is None else float(length.magnitude)


def _panel(module: Any) -> dict[str, Any]:
    """Where it lies in the image, and in space: of its first pixel the outer corner, as dxtbx turns chains into it."""
    fast, slow = module.fast_pixel_direction, module.slow_pixel_direction
    for axis in (fast, slow):
        if axis.transformation_type != "translation" or axis.depends_on is None:
            raise ValueError(f"{axis.path} is not a translation that depends on another")
    corner = nxmx.get_cumulative_transformation(nxmx.get_dependency_chain(module.module_offset))[0, :3, 3]
    return {
        "origin": tuple(module.data_origin.tolist()),
        "size": tuple(module.data_size.tolist()),
        "pixel": tuple(float(axis[()].to("mm").magnitude[0]) for axis in (fast, slow)),
        "fast": np.asarray(fast.vector).tolist(),
        "slow": np.asarray(slow.vector).tolist(),
        "corner": corner.tolist(),
    }
