"""Ways of writing frames so that they can be read before the run has ended, with the same datasets in each."""

import functools
import os
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from ipaddress import IPv4Address
from pathlib import Path
from typing import Any, Self

import h5py
import numpy as np
from numpy.typing import NDArray

from framelane.files.growing_hdf5 import COMMIT_S
from framelane.receiver.pipeline.result import Counts, Result
from framelane.receiver.pipeline.veto import Reason, Verdict
from framelane.receiver.ring.receiver import ReceivedFrame
from framelane.receiver.sinks import nxmx
from framelane.receiver.sinks.hdf5 import Hdf5Sink
from framelane.receiver.sinks.pixel_form import form_of
from framelane.session.session import Session
from framelane.session.session_plan import Node, SessionPlan

SERIES_S = 1.0
"""A file of a series has the frames of so many seconds: with what its end takes none becomes two seconds old."""
_COUNTS = Counts(0, 0, 0, 0, 20)
_VERDICT = Verdict(20, 10, 0, Reason.ENOUGH_PEAKS)


@dataclass(frozen=True, slots=True)
class Image:
    """Frames to be written: `pixels` int16 (rows, columns), and the session that they came by."""

    name: str
    pixels: NDArray[np.int16]
    session: Session


def photons(rows: int, columns: int) -> Image:
    """Few photons a pixel: they compress well, the time goes into that."""
    return _image("photons", np.random.default_rng(1).poisson(0.2, (rows, columns)).astype(np.int16))


def noise(rows: int, columns: int) -> Image:
    """Pixels that cannot be compressed: the time goes to the disk."""
    return _image("noise", np.random.default_rng(1).integers(0, 32000, (rows, columns), np.int16))


def _image(name: str, pixels: NDArray[np.int16]) -> Image:
    node = Node(mac="02:00:00:00:00:01", ip=IPv4Address("127.0.0.1"))
    rows, columns = pixels.shape
    plan = SessionPlan(source=node, receiver=node, n_slots=2, rows=rows, columns=columns, pixels="corrected")
    return Image(f"{rows} x {columns}, {name}", pixels, Session.random(plan))


class SinkWriter:
    """Writes by our sink: with commits, or with `whole` without any, as all files were written before."""

    def __init__(self, path: Path, image: Image, *, whole: bool = False) -> None:
        self._sink = Hdf5Sink(path, image.session, photon_energy_kev=12.4, whole=whole)
        self._image = image
        self._n = 0

    def write(self) -> None:
        """Append a frame."""
        words = self._image.pixels.view(np.uint16)
        frame = ReceivedFrame(self._n, self._n % 2, words, 0, (None,))
        self._sink.write(frame, Result(self._image.pixels, _COUNTS, _VERDICT, None, None))
        self._n += 1

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._sink.__exit__(*(error or (None,)))


class OpenWriter:
    """Writes a file of HDF5's own file access that stays open; twice a second all is flushed and synced.

    With `swmr` as a single writer with many readers does; else without locks, or no reader could open it.
    """

    def __init__(self, path: Path, image: Image, *, swmr: bool) -> None:
        how: dict[str, Any] = {"libver": "latest"} if swmr else {"locking": False}
        self._file: Any = h5py.File(path, "w", **how)
        entry = nxmx.group(self._file, "entry", "NXentry", default="data")
        self._data = nxmx.make_images(entry, image.pixels.shape, form_of(None))
        self._records = [
            nxmx.extensible(entry["data"], name, dtype, (), chunk=nxmx.RECORDS_A_CHUNK)
            for name, dtype in nxmx.RECORD.items()
        ]
        self._pixels, self._n, self._flushed, self._synced = image.pixels, 0, 0, time.monotonic()
        self._descriptor = os.open(path, os.O_RDWR)
        if swmr:
            self._file.swmr_mode = True

    def write(self) -> None:
        """Append a frame."""
        self._n += 1
        self._data.resize(self._n, axis=0)
        self._data[-1] = self._pixels
        if time.monotonic() > self._synced + COMMIT_S:
            self._sync()

    def _sync(self) -> None:
        for record in self._records:
            record.resize(self._n, axis=0)
            record[self._flushed :] = np.arange(self._flushed, self._n).astype(record.dtype)
        self._flushed = self._n
        self._file.flush()
        os.fdatasync(self._descriptor)
        self._synced = time.monotonic()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._sync()
        self._file.close()
        os.fsync(self._descriptor)
        os.close(self._descriptor)


class SeriesWriter:
    """Writes short files, each of which is closed, synced and renamed: `<stem>_0001.h5` and so on."""

    def __init__(self, path: Path, image: Image) -> None:
        self._path, self._image, self._number = path, image, 0
        self._begin()

    def write(self) -> None:
        """Append a frame."""
        self._writer.write()
        if time.monotonic() > self._begun + SERIES_S:
            self._writer.__exit__(None)
            self._begin()

    def _begin(self) -> None:
        self._number += 1
        name = self._path.with_stem(f"{self._path.stem}_{self._number:04}")
        self._writer, self._begun = SinkWriter(name, self._image, whole=True), time.monotonic()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._writer.__exit__(*(error or (None,)))


Writer = SinkWriter | OpenWriter | SeriesWriter
WRITERS: dict[str, Callable[[Path, Image], Writer]] = {
    "commits": SinkWriter,
    "SWMR": functools.partial(OpenWriter, swmr=True),
    "flushed": functools.partial(OpenWriter, swmr=False),
    "series": SeriesWriter,
}


def frames_in(name: str, path: Path) -> int:
    """How many frames can be read of what the writer `name` has left or is writing. OSError or KeyError if none."""
    if name == "series":
        return sum(_length(each, False) for each in path.parent.glob(f"{path.stem}_*{path.suffix}"))
    return _length(path, name == "SWMR")


def _length(path: Path, swmr: bool) -> int:
    opened: AbstractContextManager[Any] = h5py.File(path, "r", swmr=swmr)
    with opened as file:
        return len(file["entry/data/data"])
