"""One file over those that the ranks of a run have written: its frames in the order of the detector."""

import contextlib
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import h5py
import numpy as np

from framelane.models.errors import InputError
from framelane.models.part_file import PartFile
from framelane.receiver import nxmx
from framelane.receiver.frame_order import Integers, order, pieces
from framelane.receiver.rank_file import RankFile

_COPIED = "definition", "program_name", "instrument"


@dataclass(frozen=True, slots=True)
class Part:
    """What a rank has left: a file, or None where it wrote none; `about` it are attributes.

    Where the number of its frames is given, a file with another is of another run.
    """

    path: Path | None
    frames: int | None = None
    about: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Master:
    """How many frames are in it, and by rank why its file is not."""

    frames: int
    left_out: dict[int, str]


def write_master(path: Path, parts: Sequence[Part]) -> Master:
    """Write the master of `parts`, which are in rank order. It appears whole, and not at all where no frame came.

    `/entry/data/data` is one virtual dataset of all images, in the order of `detector_frame`. The records of frames
    beside it are copied in that order, with `rank`, and with `rank_frame`, the place in that rank's file.
    `/entry/ranks/<rank>` says what is `about` a rank, and links the `entry` of its file. Files are named relative to
    the master: the folder may be moved. A file that cannot be read, or has other images than the first, is left out;
    InputError where the master cannot be written.
    """
    left_out: dict[int, str] = {}
    files: dict[int, RankFile] = {}
    with contextlib.ExitStack() as stack:
        for rank, part in enumerate(parts):
            try:
                if part.path is not None:
                    files[rank] = stack.enter_context(_open(part.path, part.frames, files))
            except InputError as error:
                left_out[rank] = str(error)
        if files:
            with PartFile(path) as target, _create(target.path, path) as file:
                _fill(file, files, Path(os.path.realpath(path)).parent)
                _list_ranks(file["entry"], parts, files, left_out)
    return Master(sum(len(file.numbers) for file in files.values()), left_out)


def _open(path: Path, frames: int | None, others: Mapping[int, RankFile]) -> RankFile:
    if not path.is_file():
        raise InputError(f"{path} is not to be seen from rank 0: let all ranks write to a file system that they share")
    file = RankFile(path)
    first = next(iter(others.values()), file)
    if len(file.numbers) == (len(file.numbers) if frames is None else frames) and file.kind == first.kind:
        return file
    file.close()
    if file.kind != first.kind:
        raise InputError(f"{path} has other images than {first.path}: let all ranks have sessions of the same kind")
    raise InputError(f"{path} has {len(file.numbers)} frames, its rank has written {frames}: it is another file")


@contextlib.contextmanager
def _create(at: Path, path: Path) -> Iterator[Any]:
    try:
        with h5py.File(at, "w", libver="v110") as file:
            yield file
    except (OSError, RuntimeError) as error:
        reason = next(iter(str(error).splitlines()), type(error).__name__)
        raise InputError(f"cannot write {path}: {reason}: make room there") from error


def _fill(file: Any, files: Mapping[int, RankFile], folder: Path) -> None:
    first = next(iter(files.values()))
    entry = nxmx.group(file, "entry", "NXentry", default="data")
    for name in _COPIED:
        if name in first.entry:
            first.entry.copy(name, entry)
    entry["start_time"] = min(each.time("start_time") for each in files.values())
    entry["end_time"] = max(each.time("end_time") for each in files.values())
    images = nxmx.group(entry, "data", "NXdata", signal="data")
    of, places = order([each.numbers for each in files.values()], nxmx.UNKNOWN_FRAME)
    sources = [(_relative(each.path, folder), np.flatnonzero(of == n)) for n, each in enumerate(files.values())]
    _link_images(images, first, [(name, at, places[at]) for name, at in sources])
    starts = np.cumsum([0, *(len(each.numbers) for each in files.values())])
    for name in first.records:
        if not all(name in each.records for each in files.values()):
            continue
        dtype, attributes = first.described(name)
        rows = np.concatenate([each.record(name) for each in files.values()])
        images.create_dataset(name, dtype=dtype, data=rows[starts[of] + places]).attrs.update(attributes)
    images["rank"] = np.array(list(files), np.uint16)[of]
    images["rank_frame"] = places.astype(np.uint64)


def _link_images(images: Any, first: RankFile, sources: Sequence[tuple[str, Integers, Integers]]) -> None:
    """The virtual dataset: of each file its name, where its frames are here, and where they are there.

    By HDF5's own calls: h5py's layouts know no blocks, without which a mapping a frame would be needed.
    """
    rows, columns = first.data.shape[1:]
    total = sum(len(at) for _, at, _ in sources)
    properties = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    properties.set_fill_value(np.array(first.data.fillvalue, first.data.dtype))
    for name, at, places in sources:
        for piece in pieces(at, places):
            here = h5py.h5s.create_simple((total, rows, columns))
            here.select_hyperslab(
                *((piece.start, 0, 0), (piece.count, 1, 1), (piece.stride, rows, columns), (piece.block, rows, columns))
            )
            there = h5py.h5s.create_simple((len(at), rows, columns))
            there.select_hyperslab((piece.index, 0, 0), (piece.count * piece.block, rows, columns))
            properties.set_virtual(here, name.encode(), b"/entry/data/data", there)
    kind, space = h5py.h5t.py_create(first.data.dtype), h5py.h5s.create_simple((total, rows, columns))
    h5py.h5d.create(images.id, b"data", kind, space, properties)
    images["data"].attrs.update(first.data.attrs)


def _list_ranks(entry: Any, parts: Sequence[Part], files: Mapping[int, RankFile], left_out: Mapping[int, str]) -> None:
    folder = Path(os.path.realpath(entry.file.filename)).parent
    ranks = entry.create_group("ranks")
    for rank, part in enumerate(parts):
        group = ranks.create_group(str(rank))
        found = len(files[rank].numbers) if rank in files else 0
        group.attrs.update({**part.about, "frames": part.frames or found})
        if rank in files:
            group.attrs["file"] = _relative(files[rank].path, folder)
            group["entry"] = h5py.ExternalLink(group.attrs["file"], "/entry")
        elif rank in left_out:
            group.attrs["left_out"] = left_out[rank]


def _relative(path: Path, folder: Path) -> str:
    return os.path.relpath(os.path.realpath(path), folder)
