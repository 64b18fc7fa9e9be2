"""The files behind a file: those that its datasets are read from, and the parts of its series."""

import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import h5py

from framelane.files.series import parts_of

_ERRORS = OSError, RuntimeError, ValueError, TypeError, KeyError
"""What h5py raises for a damaged file."""


def with_linked(paths: Iterable[Path]) -> list[Path]:
    """The files `paths`, and behind each those that are named as its parts, and those that it shows.

    A file shows the sources of its virtual datasets, and where its external links lead, and what these show in turn. A
    file that is none of HDF5, or damaged, shows nothing.
    """
    found: dict[Path, None] = {}
    waiting = list(paths)[::-1]
    while waiting:
        path = waiting.pop()
        if path not in found:
            found[path] = None
            waiting += [*parts_of(path), *_shown(path)][::-1]
    return list(found)


def missing_source(dataset: Any) -> tuple[Path, str] | None:
    """The first file that a virtual dataset shows and that cannot be read, and why; None where all can.

    HDF5 says nothing of it, and has the fill value for what should come from there. h5py's errors where the file of the
    dataset is damaged.
    """
    return _missing(dataset, {Path(dataset.file.filename)})


def _missing(dataset: Any, before: set[Path]) -> tuple[Path, str] | None:
    if not dataset.is_virtual:
        return None
    own = Path(dataset.file.filename)
    names = dict.fromkeys((each.file_name, each.dset_name) for each in dataset.virtual_sources())
    for file_name, name in names:
        path = _place(own, file_name)
        if path in before:
            continue
        if not path.is_file():
            return path, "there is no such file"
        try:
            with h5py.File(path, "r") as file:
                source = file.get(name)
                if not isinstance(source, h5py.Dataset):
                    return path, f"it has no dataset {name}"
                if found := _missing(source, before | {path}):
                    return found
        except _ERRORS as error:
            return path, str(error)
    return None


def _place(own: Path, name: str) -> Path:
    """Where HDF5 finds the file `name` of a source in the file `own`: in its folder, else in that of the program."""
    name = name.replace("%%", "%")
    if name == ".":
        return own
    prefix = os.environ.get("HDF5_VDS_PREFIX", "").replace("${ORIGIN}", str(own.parent))
    folders = [Path(prefix)] if prefix else []
    folders += [own.parent, Path(os.path.realpath(own)).parent, Path()]
    return next((path for folder in folders if (path := folder / name).is_file()), own.parent / name)


def _shown(path: Path) -> Iterator[Path]:
    try:
        if path.is_file() and h5py.is_hdf5(path):
            with h5py.File(path, "r") as file:
                yield from list(dict.fromkeys(_linked(file, path)))
    except _ERRORS:
        return


def _linked(group: Any, own: Path) -> Iterator[Path]:
    for name in group:
        link = group.get(name, getlink=True)
        if isinstance(link, h5py.ExternalLink):
            yield _place(own, link.filename)
        elif isinstance(link, h5py.HardLink):
            item = group[name]
            if isinstance(item, h5py.Group):
                yield from _linked(item, own)
            elif item.is_virtual:
                yield from (_place(own, each.file_name) for each in item.virtual_sources())
