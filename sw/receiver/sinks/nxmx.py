"""The layout of our HDF5 files: fields of NXmx (manual.nexusformat.org), and our record of every frame."""

import datetime
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import h5py
import hdf5plugin
import numpy as np

import framelane
from framelane.files.compact_group import compact_group
from framelane.models.jungfrau.jf_correct import ERROR_WORD, G1_ZERO_WORD, MAX_VALUE, SATURATED_WORD, PixelCode
from framelane.models.peaks.peak_settings import PeakSettings
from framelane.models.placement.slots import HOLE_WORD
from framelane.receiver.pipeline.veto import Reason
from framelane.session.session import Session

KEV_ANGSTROM = 12.398419843320026
"""Planck's constant times the speed of light, in keV angstrom (both exact in the SI of 2019)."""

PIXEL_M = 75e-6
"""Side of a JUNGFRAU pixel."""

PHOTON_CODES = {code.name.lower(): int(code) for code in PixelCode}
RAW_CODES = {
    "hole": HOLE_WORD,
    "saturated": SATURATED_WORD,
    "invalid": ERROR_WORD,
    "invalid_g1_zero": G1_ZERO_WORD,
}

RECORD: dict[str, Any] = {
    "frame_number": "u8",
    "timestamp_ns": "u8",
    "bunch_id": "u8",
    "detector_frame": "u8",
    "complete": "?",
    "holes": "u4",
    "saturated": "u4",
    "invalid": "u4",
    "masked": "u4",
    "peaks": "u4",
    "accepted": "?",
    "reason": h5py.enum_dtype({reason.name: reason.value for reason in Reason}, basetype="u1"),
}
"""What is kept of every frame, rejected ones too, and as which type."""

OF_SOURCE = "frame_number", "timestamp_ns", "bunch_id", "detector_frame", "complete"
"""Those of them that only the frame's source knows; the others are of its pixels."""

UNKNOWN_FRAME = (1 << 64) - 1
"""The detector's number of a frame whose trailers did not come."""

RECORD_ATTRIBUTES: dict[str, dict[str, Any]] = {
    "timestamp_ns": {"units": "ns"},
    "detector_frame": {"unknown": np.uint64(UNKNOWN_FRAME)},
}

RECORDS_A_CHUNK = 256


def now() -> str:
    """The time, as ISO 8601."""
    return datetime.datetime.now(datetime.UTC).isoformat()


def group(parent: Any, name: str, nx_class: str, **attributes: str) -> Any:
    """A new group of a NeXus class."""
    made = parent.create_group(name)
    made.attrs.update({"NX_class": nx_class, **attributes})
    return made


def make_entry(file: Any) -> Any:
    """The group of all that is in a file, to which `end_time` can be added at any moment."""
    made = compact_group(file, "entry")
    made.attrs.update({"NX_class": "NXentry", "default": "data"})
    return made


def extensible(group: Any, name: str, dtype: Any, shape: tuple[int, ...], chunk: int, **options: Any) -> Any:
    """A dataset that grows along its first axis, from 0."""
    return group.create_dataset(name, (0, *shape), dtype, maxshape=(None, *shape), chunks=(chunk, *shape), **options)


def compressed(group: Any, name: str, dtype: Any, shape: tuple[int, ...], chunk: int, **options: Any) -> Any:
    """The same with bitshuffle and LZ4, which readers need a plugin for, and a checksum, without which the plugin may
    crash on a damaged chunk."""
    return extensible(group, name, dtype, shape, chunk, fletcher32=True, **hdf5plugin.Bitshuffle(), **options)


def make_data(entry: Any, session: Session, raw: bool) -> Any:
    """The group of images, and the dataset of these; records come beside it (`JudgedFrames`)."""
    entry["definition"] = "NXmx"
    entry["start_time"] = now()
    entry["program_name"] = "framelane"
    entry["program_name"].attrs["version"] = framelane.__version__
    # Whoever has the rkey can write into the ring.
    entry["session"] = session.model_dump_json(exclude={"rkey"})
    images = group(entry, "data", "NXdata", signal="data")
    codes = RAW_CODES if raw else PHOTON_CODES
    dtype = np.dtype(np.uint16 if raw else np.int16)
    shape = (session.rows, session.columns)
    # The cache holds an image: else HDF5 clears new memory for each, which takes a third of its time.
    fill = dtype.type(codes["hole"])
    data = compressed(images, "data", dtype, shape, chunk=1, fillvalue=fill, rdcc_nbytes=session.image_bytes)
    data.attrs["units"] = "ADU words" if raw else session.unit
    if session.fraction_bits:
        data.attrs["scale_factor"] = 2.0**-session.fraction_bits
    data.attrs.update({f"code_{name}": dtype.type(code) for name, code in codes.items()})
    return data


def make_ladder(images: Any, thresholds: Sequence[int], unit: str) -> Any:
    """The record of how many pixels reach each threshold; the memory of a chunk of it, (frames, thresholds)."""
    shape = (len(thresholds),)
    ladder = extensible(images, "ladder", "u4", shape, chunk=RECORDS_A_CHUNK)
    ladder.attrs.update({"thresholds": np.array(thresholds, np.int64), "threshold_units": unit})
    return np.zeros((RECORDS_A_CHUNK, *shape), np.uint32)


def make_bragg_peaks(images: Any, settings: PeakSettings) -> Any:
    """The record of the number of Bragg peaks, on which the verdicts are; the memory of a chunk of it, (frames,)."""
    peaks = extensible(images, "bragg_peaks", "u4", (), chunk=RECORDS_A_CHUNK)
    peaks.attrs.update(asdict(settings))
    images["accepted"].attrs["judged_by"] = "bragg_peaks"
    return np.zeros(RECORDS_A_CHUNK, np.uint32)


def describe_instrument(entry: Any, photon_energy_kev: float | None) -> None:
    """The beam's energy, where it is known, and the detector's pixels."""
    instrument = group(entry, "instrument", "NXinstrument")
    detector = group(instrument, "detector", "NXdetector")
    detector["underload_value"], detector["saturation_value"] = -MAX_VALUE, MAX_VALUE
    values = [(detector, "x_pixel_size", PIXEL_M, "m"), (detector, "y_pixel_size", PIXEL_M, "m")]
    if photon_energy_kev is not None:
        beam = group(instrument, "beam", "NXbeam")
        values.append((beam, "incident_energy", photon_energy_kev, "keV"))
        values.append((beam, "incident_wavelength", KEV_ANGSTROM / photon_energy_kev, "angstrom"))
    for where, name, value, units in values:
        where[name] = value
        where[name].attrs["units"] = units
