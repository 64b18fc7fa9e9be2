"""The layout of our HDF5 files: images and our record of every frame. The experiment is in `description`."""

import time
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import h5py
import hdf5plugin
import numpy as np

import framelane
from framelane.base.real_time import is_real, iso
from framelane.files.compact_group import compact_group
from framelane.models.peaks.peak_settings import PeakSettings
from framelane.models.time import time_flags
from framelane.receiver.pipeline.veto import Reason
from framelane.receiver.sinks.pixel_form import PixelForm
from framelane.session.session import Session

RECORD: dict[str, Any] = {
    "frame_number": "u8",
    "timestamp_ns": "u8",
    "time_flags": "u4",
    "bunch_id": "u8",
    "detector_frame": "u8",
    "captured_ns": "u8",
    "complete": "?",
    "holes": "u4",
    "saturated": "u4",
    "invalid": "u4",
    "masked": "u4",
    "peaks": "u4",
    "threshold": "u2",
    "minimum_peaks": "u4",
    "accepted": "?",
    "reason": h5py.enum_dtype({reason.name: reason.value for reason in Reason}, basetype="u1"),
}
"""What is kept of every frame, rejected ones too, and as which type."""

CAPTURED = "captured_ns"
"""The one that only frames of a capture have."""
OF_SOURCE = "frame_number", "timestamp_ns", "time_flags", "bunch_id", "detector_frame", CAPTURED, "complete"
"""Those of them that only the frame's source knows; the others are of its pixels."""

UNKNOWN_FRAME = (1 << 64) - 1
"""The detector's number of a frame whose trailers did not come."""

RECORD_ATTRIBUTES: dict[str, dict[str, Any]] = {
    "timestamp_ns": {"units": "ns", "unknown": np.uint64(0)},
    "time_flags": {
        "flag_masks": np.array([*time_flags.MASKS.values()], np.uint32),
        "flag_meanings": " ".join(time_flags.MASKS),
    },
    CAPTURED: {"units": "ns", "epoch": "1970-01-01T00:00:00", "clock": "utc", "unknown": np.uint64(0)},
    "bunch_id": {"unknown": np.uint64(0)},
    "detector_frame": {"unknown": np.uint64(UNKNOWN_FRAME)},
}

RECORDS_A_CHUNK = 256
_MOST_FRAMES = 100_000
"""The most that an estimate may be: a longer run of the slowest frames would end beyond the calendar."""


def now() -> str:
    """The time, as ISO 8601 in UTC."""
    return iso(time.time_ns())


def begin(
    entry: Any,
    frames: int | None = None,
    frame_time_s: float | None = None,
    taken: tuple[str, str] | None = None,
) -> None:
    """When the run begins, and an estimate of its end, which NXmx requires: by the `frames` that it is to have.

    Frames that were `taken` earlier say both, ISO 8601.
    """
    if taken:
        start, end, known_by = *taken, "the recording"
    else:
        begun, known = time.time_ns(), frames is not None and frame_time_s is not None
        lasts_s = min(frames, _MOST_FRAMES) * frame_time_s if frames and frame_time_s else 0
        start, end = iso(begun), iso(begun + round(lasts_s * 1e9))
        known_by = "frames times frame_time" if known else "the start: the length was not known"
    entry["start_time"], entry["end_time_estimated"] = start, end
    entry["end_time_estimated"].attrs["by"] = known_by


def make_entry(file: Any) -> Any:
    """The group of all that is in a file, to which links can be added at any moment; viewers open it on its images."""
    file.attrs["default"] = "entry"
    entry = compact_group(file, "entry")
    entry.attrs.update({"NX_class": "NXentry", "default": "data"})
    return entry


def group(parent: Any, name: str, nx_class: str, **attributes: str) -> Any:
    """A new group of a NeXus class."""
    made = parent.create_group(name)
    made.attrs.update({"NX_class": nx_class, **attributes})
    return made


def extensible(group: Any, name: str, dtype: Any, shape: tuple[int, ...], chunk: int, **options: Any) -> Any:
    """A dataset that grows along its first axis, from 0."""
    return group.create_dataset(name, (0, *shape), dtype, maxshape=(None, *shape), chunks=(chunk, *shape), **options)


def packed(checksum: bool = True) -> dict[str, Any]:
    """How datasets are compressed: by bitshuffle and LZ4, which readers need a plugin for.

    Without the `checksum` behind it, which some plugins of XDS refuse, that plugin may crash on a damaged chunk.
    """
    return {**({"fletcher32": True} if checksum else {}), **hdf5plugin.Bitshuffle()}


def make_images(entry: Any, shape: tuple[int, int], form: PixelForm, checksum: bool = True, **attributes: Any) -> Any:
    """The group of images, and the dataset of these, (rows, columns), which grows; records come beside it."""
    images = group(entry, "data", "NXdata", signal="data")
    data = extensible(
        *(images, "data", form.dtype, shape, 1),
        fillvalue=form.empty,
        # The cache holds an image: else HDF5 clears new memory for each, which takes a third of its time.
        rdcc_nbytes=shape[0] * shape[1] * form.dtype.itemsize,
        **packed(checksum),
    )
    data.attrs.update({"interpretation": "image", **attributes})
    if form.dtype.kind != "f":
        data.attrs.update({f"code_{name}": form.dtype.type(code) for name, code in form.codes.items()})
    return data


def make_data(entry: Any, session: Session, form: PixelForm, units: str, checksum: bool) -> Any:
    """The same of a session, which is described beside it."""
    entry["program_name"] = "framelane"
    entry["program_name"].attrs["version"] = framelane.__version__
    # With these somebody could write into the ring while the run goes on (docs/howto/security.md).
    entry["session"] = session.model_dump_json(exclude={"rkey", "qpn", "psn", "base"})
    data = make_images(entry, (session.rows, session.columns), form, checksum, units=units)
    if session.fraction_bits and form.dtype.kind != "f":
        data.attrs["scale_factor"] = 2.0**-session.fraction_bits
    return data


def name_epoch(timestamps: Any, first_ns: int, clock: str | None, word: int = 0) -> None:
    """Say of a record of times in ns since when they count: by what the first of them brings, its time flags (`word`).

    Else by the source's `clock`, where that is known. Else by the first time: one between 2010 and tomorrow is of a
    clock that counts from 1970; any other is of none that tells the time of day.
    """
    known_by, flags = "metadata", time_flags.unpack(word)
    if flags.stamped:
        clock, known_by = "tai" if flags.is_tai or is_real(first_ns) else "own", "time_flags of the first frame"
        if flags.utc_known:
            timestamps.attrs["tai_minus_utc_s"] = flags.tai_utc
    elif clock is None:
        clock, known_by = "utc or tai" if is_real(first_ns) else "own", "the first frame"
    epoch = (
        "none: it is not a time of day, the source has a clock of its own" if clock == "own" else "1970-01-01T00:00:00"
    )
    timestamps.attrs.update({"epoch": epoch, "clock": clock, "clock_known_by": known_by})


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
