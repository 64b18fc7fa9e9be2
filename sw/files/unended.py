"""Files of frames whose run has not come to its end: how many frames they have."""

import bisect
from typing import Any, NamedTuple

import h5py
import hdf5plugin  # noqa: F401  (pointers of sparse rows are compressed)

_SPARSE = "/entry/sparse"
_POINTERS = f"{_SPARSE}/pointers"


class Unended(NamedTuple):
    """What a file of frames holds that is still written, or whose writer was killed."""

    groups: tuple[str, ...]
    """The groups that contain its datasets of frames."""
    frames: int
    """How many frames each of these has, with their sparse rows: those that one has and others do not have yet are not
    counted."""

    def has(self, found: Any) -> bool:
        """Whether a dataset of the file has one element a frame."""
        return grows(found) and (found.parent.name in self.groups or found.name == _POINTERS)


def unended(file: Any) -> Unended | None:
    """What an open file of a growing run holds; None for a file that was ended, and for any other.

    A commit writes one dataset's length after the other: whatever ends it in between, the frames of the commit before
    are in all of them. h5py's errors where the file is damaged.
    """
    groups: tuple[str, ...]
    if str(file.attrs.get("format", "")).startswith("framelane-raw-"):
        groups, ended = ("/",), "ended" in file.attrs
    else:
        entry = file.get("entry")
        if not isinstance(entry, h5py.Group) or not isinstance(entry.get("data"), h5py.Group):
            return None
        groups, ended = ("/entry/data", "/entry/result_1"), _ended(entry)
    found = [each for group in groups for each in file.get(group, {}).values()]
    lengths = [len(each) for each in found if grows(each)]
    return None if ended or not lengths else Unended(groups, _with_rows(file, min(lengths)))


def _ended(entry: Any) -> bool:
    return "end_time" in entry or _text(entry, "program_name") != "framelane"


def _with_rows(file: Any, frames: int) -> int:
    """How many of the frames have all of their sparse rows; all where the file has none."""
    sparse = file.get(_SPARSE, {})
    if not {"pointers", "columns", "values"} <= set(sparse):
        return frames
    pointers = sparse["pointers"]
    there = int(sparse.attrs.get("first_value", 0)) + min(len(sparse["columns"]), len(sparse["values"]))
    return bisect.bisect_right(range(min(frames, len(pointers))), there, key=lambda frame: int(pointers[frame, -1]))


def grows(found: Any) -> bool:
    """Whether it is a dataset with one element a frame, to which frames are appended."""
    return isinstance(found, h5py.Dataset) and bool(found.maxshape) and found.maxshape[0] is None


def _text(group: Any, name: str) -> str:
    found = group.get(name)
    value = found[()] if isinstance(found, h5py.Dataset) and found.shape == () else ""
    return value.decode(errors="replace") if isinstance(value, bytes) else str(value)
