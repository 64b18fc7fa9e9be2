"""One file over those that the ranks of a run have written: its frames in the order of the detector."""

import contextlib
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import h5py
import numpy as np

from framelane.base.errors import InputError
from framelane.files.new_hdf5 import NewHdf5
from framelane.receiver.sinks import nxmx
from framelane.receiver.sinks.description import Description
from framelane.receiver.sinks.frame_order import Integers, order, pieces, twice
from framelane.receiver.sinks.peak_table import GROUP
from framelane.receiver.sinks.rank_file import RankFile

Redescribe = Callable[[RankFile], Description]
"""What is known of the experiment behind a file."""

_COPIED = ("program_name",)
_DESCRIPTION = "definition", "metadata", "sample", "source", "instrument"
_MOST_NAMED = 3


@dataclass(frozen=True, slots=True)
class Part:
    """What a rank has left: a file, or None where it wrote none; `about` it are attributes.

    Where the number of its frames is given, a file with another is of another run. Where `about` says how many frames
    were `complete` and `incomplete`, the master adds those that are `unwritten`: the disk was full, say.
    """

    path: Path | None
    frames: int | None = None
    about: Mapping[str, Any] = field(default_factory=dict)
    stamp: tuple[int, int] | None = None
    """The bytes of the file, and when it was changed (ns since 1970), where it is seen by who has written it."""


@dataclass(frozen=True, slots=True)
class Master:
    """How many frames are in it, and by rank why its file is not."""

    frames: int
    left_out: dict[int, str]


def write_master(
    path: Path,
    parts: Sequence[Part],
    whole: bool = False,
    redescribe: Redescribe | None = None,
    *,
    force: bool = False,
) -> Master:
    """Write the master of `parts`, which are in rank order. It appears whole, and not at all where no frame came.

    `/entry/data/data` is one virtual dataset of all images, in the order of `detector_frame`. The records of frames
    beside it are copied in that order, with `rank`, and with `rank_frame`, the place in that rank's file. Those of
    `/entry/result_1`, where Bragg peaks are, are virtual too.
    `/entry/ranks/<rank>` says what is `about` a rank, and links the `entry` of its file. Files are named relative to
    the master: the folder may be moved. A file that cannot be read, has other images than the first, or was judged
    by other settings, is left out; with `whole` that is an InputError, and so are files that have the same frame of the
    detector: nothing is written then. An older file is replaced only with `force`. InputError where the master cannot
    be written, too.

    What the first file says of the experiment is the master's, or what `redescribe` makes of it.
    """
    left_out: dict[int, str] = {}
    files: dict[int, RankFile] = {}
    with contextlib.ExitStack() as stack:
        for rank, part in enumerate(parts):
            try:
                if part.path is not None:
                    _check_stamp(part.path, part.stamp)
                    files[rank] = stack.enter_context(_open(part.path, part.frames, files))
            except InputError as error:
                if whole:
                    raise
                left_out[rank] = str(error)
        if whole:
            _check_numbers(list(files.values()))
        if files:
            with NewHdf5(path, force=force) as new:
                folder = Path(os.path.realpath(path)).parent
                _fill(new.file, files, folder, redescribe)
                _list_ranks(new.file["entry"], parts, files, left_out, folder)
    return Master(sum(len(file.numbers) for file in files.values()), left_out)


def _check_stamp(path: Path, stamp: tuple[int, int] | None) -> None:
    if stamp is not None and path.is_file() and (path.stat().st_size, path.stat().st_mtime_ns) != stamp:
        raise InputError(
            f"{path} as rank 0 sees it is not the file that its rank has written: let all ranks write to a file "
            "system that they share"
        )


def _open(path: Path, frames: int | None, others: Mapping[int, RankFile]) -> RankFile:
    if not path.is_file():
        raise InputError(f"{path} is not to be seen from rank 0: let all ranks write to a file system that they share")
    file = RankFile(path)
    try:
        _check(file, frames, next(iter(others.values()), file))
    except InputError:
        file.close()
        raise
    return file


def _check(file: RankFile, frames: int | None, first: RankFile) -> None:
    """InputError where the file is not of one run with the first."""
    if other := _differences(file.kind, first.kind):
        raise InputError(
            f"{file.path} has other images than {first.path} ({other}): let all ranks have sessions of the same kind"
        )
    if other := _differences(file.settings, first.settings):
        raise InputError(f"{file.path} was judged otherwise than {first.path} ({other}): give the files of one run")
    if frames is not None and len(file.numbers) != frames:
        raise InputError(
            f"{file.path} has {len(file.numbers)} frames, its rank has written {frames}: it is another file"
        )


def _differences(these: Mapping[str, Any], those: Mapping[str, Any]) -> str:
    """Those values of the one that the other has not, the first of them."""
    names = [name for name in {**these, **those} if these.get(name) != those.get(name)]
    pairs = ((name, these.get(name, "not set"), those.get(name, "not set")) for name in names[:_MOST_NAMED])
    return "; ".join(f"{name} is {this}, there {that}" for name, this, that in pairs)


def _check_numbers(files: Sequence[RankFile]) -> None:
    """InputError where two files have the same frame."""
    if found := twice([file.numbers for file in files], nxmx.UNKNOWN_FRAME):
        number, *both = found
        names = " and ".join(str(files[n].path) for n in both)
        raise InputError(f"{names} both have the detector's frame {number}: give the files of one run, each once")


def _fill(file: Any, files: Mapping[int, RankFile], folder: Path, redescribe: Redescribe | None) -> None:
    first = next(iter(files.values()))
    entry = nxmx.make_entry(file)
    for name in _COPIED if redescribe else (*_COPIED, *_DESCRIPTION):
        if name in first.entry:
            first.entry.copy(name, entry)
    if redescribe:
        redescribe(first).write(entry, first.form)
    entry["start_time"] = min(each.time("start_time") for each in files.values())
    if all("end_time_estimated" in each.entry for each in files.values()):
        entry["end_time_estimated"] = max(each.time("end_time_estimated") for each in files.values())
    if all(each.ended for each in files.values()):
        entry["end_time"] = max(each.time("end_time") for each in files.values())
    images = nxmx.group(entry, "data", "NXdata", signal="data")
    of, places = order([each.numbers for each in files.values()], nxmx.UNKNOWN_FRAME)
    sources = [(_relative(each.path, folder), np.flatnonzero(of == n)) for n, each in enumerate(files.values())]
    linked = [(name, at, places[at]) for name, at in sources]
    _link(images, "data", first.data, linked)
    starts = np.cumsum([0, *(len(each.numbers) for each in files.values())])
    for name in first.records:
        if not all(name in each.records for each in files.values()):
            continue
        dtype, attributes = first.described(name)
        rows = np.concatenate([each.record(name) for each in files.values()])
        images.create_dataset(name, dtype=dtype, data=rows[starts[of] + places]).attrs.update(attributes)
    if all(each.peaks for each in files.values()):
        table = nxmx.group(entry, GROUP, "NXcollection")
        for name, found in first.peaks.items():
            _link(table, name, found, linked)
    images["rank"] = np.array(list(files), np.uint16)[of]
    images["rank_frame"] = places.astype(np.uint64)


def _link(group: Any, name: str, first: Any, sources: Sequence[tuple[str, Integers, Integers]]) -> None:
    """The virtual dataset `name` of those that are called as `first`, that of the first file.

    `sources` has of each file its name, where its frames are here, and where they are there. It is made by HDF5's own
    calls: h5py's layouts know no blocks, without which a mapping a frame would be needed.
    """
    tail = first.shape[1:]
    zeros, ones = (0,) * len(tail), (1,) * len(tail)
    shape = (sum(len(at) for _, at, _ in sources), *tail)
    properties = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    properties.set_fill_value(np.array(first.fillvalue, first.dtype))
    for file, at, places in sources:
        for piece in pieces(at, places):
            here = h5py.h5s.create_simple(shape)
            here.select_hyperslab(
                start=(piece.start, *zeros),
                count=(piece.count, *ones),
                stride=(piece.stride, *tail),
                block=(piece.block, *tail),
            )
            there = h5py.h5s.create_simple((len(at), *tail))
            there.select_hyperslab((piece.index, *zeros), (piece.count * piece.block, *tail))
            properties.set_virtual(here, file.replace("%", "%%").encode(), first.name.encode(), there)
    kind, space = h5py.h5t.py_create(first.dtype), h5py.h5s.create_simple(shape)
    h5py.h5d.create(group.id, name.encode(), kind, space, properties)
    group[name].attrs.update(first.attrs)


def _list_ranks(
    entry: Any, parts: Sequence[Part], files: Mapping[int, RankFile], left_out: Mapping[int, str], folder: Path
) -> None:
    ranks = entry.create_group("ranks")
    for rank, part in enumerate(parts):
        group = ranks.create_group(str(rank))
        found = len(files[rank].numbers) if rank in files else 0
        frames = part.frames or found
        group.attrs.update({**part.about, "frames": frames})
        if "complete" in part.about:
            came = part.about["complete"] + part.about.get("incomplete", 0)
            group.attrs["unwritten"] = max(0, came - frames)
        if rank in files:
            group.attrs["file"] = _relative(files[rank].path, folder)
            group["entry"] = h5py.ExternalLink(group.attrs["file"], "/entry")
        elif rank in left_out:
            group.attrs["left_out"] = left_out[rank]


def _relative(path: Path, folder: Path) -> str:
    return os.path.relpath(os.path.realpath(path), folder)
