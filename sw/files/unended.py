"""Files of frames whose run has not come to its end: how many frames they have."""

from typing import Any, NamedTuple

import h5py


class Unended(NamedTuple):
    """What a file of frames holds that is still written, or whose writer was killed."""

    group: str
    """Where its datasets of frames are."""
    frames: int
    """How many frames each of these has: those that one has and others do not have yet are not counted."""


def unended(file: Any) -> Unended | None:
    """What an open file of a growing run holds; None for a file that was ended, and for any other.

    A commit writes one dataset's length after the other: whatever ends it in between, the frames of the commit before
    are in all of them. h5py's errors where the file is damaged.
    """
    if str(file.attrs.get("format", "")).startswith("framelane-raw-"):
        group, ended = "/", "ended" in file.attrs
    else:
        entry = file.get("entry")
        if not isinstance(entry, h5py.Group) or not isinstance(entry.get("data"), h5py.Group):
            return None
        group, ended = "/entry/data", "end_time" in entry or _text(entry, "program_name") != "framelane"
    beside = file.get("entry/result_1", {}).values()
    lengths = [len(found) for found in (*file[group].values(), *beside) if grows(found)]
    return None if ended or not lengths else Unended(group, min(lengths))


def grows(found: Any) -> bool:
    """Whether it is a dataset with one element a frame, to which frames are appended."""
    return isinstance(found, h5py.Dataset) and bool(found.maxshape) and found.maxshape[0] is None


def _text(group: Any, name: str) -> str:
    found = group.get(name)
    value = found[()] if isinstance(found, h5py.Dataset) and found.shape == () else ""
    return value.decode(errors="replace") if isinstance(value, bytes) else str(value)
