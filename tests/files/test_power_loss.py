"""A machine that loses its power in a moment of a run of several files leaves what was committed, under its name.

SIGKILL cannot show this: the kernel still writes what a killed process has left. Here the order of writes, syncs and
names is noted, and the disk put together as it may be behind each of them: a file has what it was last synced with,
and of the changes of names since the last sync of their folder any may be missing. What is lost of writes within one
file is in test_growing_hdf5.
"""

import contextlib
import itertools
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest

from framelane.files.series import Series
from framelane.receiver.pipeline.result import Counts, Result
from framelane.receiver.pipeline.veto import Reason, Verdict
from framelane.receiver.ring.receiver import ReceivedFrame
from framelane.receiver.sinks import judged_frames
from framelane.receiver.sinks.hdf5 import Hdf5Sink
from framelane.session.session import Session

MOST = 5
"""Frames of a part."""
Names = dict[str, int]


class Disk:
    """What of a folder is on the disk for sure, and what may be; the files by their inodes."""

    def __init__(self, folder: Path, after: Callable[[], None], monkeypatch: pytest.MonkeyPatch) -> None:
        self._folder, self._after = folder, after
        self.contents: dict[int, bytes] = {}
        self.names: Names = {}
        self._looking = False
        """Whether what happens is of the test, not of what it watches."""
        self._pending: list[Callable[[Names], object]] = []
        """Changes of names since the folder was synced."""
        for name in ("open", "fsync", "fdatasync", "replace", "rename", "link", "unlink"):
            monkeypatch.setattr(os, name, self._noting(getattr(os, name), getattr(self, f"_{name}")))

    def after_a_loss(self) -> list[Names]:
        """The names that there may be."""
        found = []
        for kept in itertools.product((False, True), repeat=len(self._pending)):
            names = dict(self.names)
            for change in itertools.compress(self._pending, kept):
                change(names)
            found.append(names)
        return found

    @contextlib.contextmanager
    def looking(self) -> Iterator[None]:
        """Within the block nothing is noted."""
        self._looking = True
        yield
        self._looking = False

    def _noting(self, call: Callable[..., Any], note: Callable[..., None]) -> Callable[..., Any]:
        def noted(*arguments: Any, **others: Any) -> Any:
            if self._looking:
                return call(*arguments, **others)
            before = self._names_now()
            result = call(*arguments, **others)
            note(before, *arguments)
            with self.looking():
                self._after()
            return result

        return noted

    def _names_now(self) -> Names:
        with os.scandir(self._folder) as entries:
            return {entry.name: entry.inode() for entry in entries}

    def _fsync(self, _: Names, descriptor: int) -> None:
        inode = os.fstat(descriptor).st_ino
        if inode == self._folder.stat().st_ino:
            self.names, self._pending = self._names_now(), []
        else:
            self.contents[inode] = Path(f"/proc/self/fd/{descriptor}").read_bytes()

    _fdatasync = _fsync

    def _open(self, before: Names, path: Any, *_: object) -> None:
        name = Path(os.fsdecode(path)).name
        if name in self._names_now() and name not in before:
            inode = self._names_now()[name]
            self.contents[inode] = b""
            self._pending.append(lambda names: names.update({name: inode}))

    def _replace(self, before: Names, old: Path, new: Path) -> None:
        def change(names: Names) -> None:
            names.pop(old.name, None)
            names[new.name] = before[old.name]

        self._pending.append(change)

    _rename = _replace

    def _link(self, before: Names, old: Path, new: Path) -> None:
        self._pending.append(lambda names: names.update({new.name: before[old.name]}))

    def _unlink(self, _: Names, path: Path) -> None:
        self._pending.append(lambda names: names.pop(path.name, None))


def write(series: Series[Hdf5Sink], number: int, shape: tuple[int, int]) -> None:
    pixels = np.full(shape, number, np.int16)
    with series.changing() as sink:
        sink.write(
            ReceivedFrame(number, 0, pixels.view(np.uint16), 0, (None,)),
            Result(pixels, Counts(0, 0, 0, 0, 0), Verdict(0, 0, 0, Reason.ENOUGH_PEAKS), None, None),
        )


def test_a_loss_of_power_between_two_files_of_a_run_leaves_all_that_was_committed(
    tmp_path: Path, make_session: Callable[..., Session], monkeypatch: pytest.MonkeyPatch
) -> None:
    session = make_session(rows=4, columns=32, pixels="corrected")
    folder, left = tmp_path / "run", tmp_path / "left"
    folder.mkdir()
    left.mkdir()
    promised, tried = 0, 0

    def check() -> None:
        nonlocal tried
        for names in disk.after_a_loss() if promised else ():
            for name, inode in names.items():
                (left / name).write_bytes(disk.contents[inode])
            with h5py.File(left / "frames.h5") as file:
                assert len(file["entry/data/frame_number"]) >= promised
                assert (file["entry/data/data"][:promised, 1, 1] == np.arange(promised)).all()
            for path in tuple(left.iterdir()):
                path.unlink()
            tried += 1

    monkeypatch.setattr(judged_frames, "MOST_CHUNKS", MOST)
    monkeypatch.setattr("framelane.files.growing_hdf5.COMMIT_S", 1e6)
    disk = Disk(folder, check, monkeypatch)
    with Series(folder / "frames.h5", lambda path, before: Hdf5Sink(path, session, before=before)) as series:
        for number in range(3 * MOST + 2):
            write(series, number, (session.rows, session.columns))
            if number % 2:
                series.current.commit()
                promised = number + 1
                with disk.looking():
                    check()
    assert tried > 100
