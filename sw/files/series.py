"""A growing file of frames that goes on in others when it is full, behind one file that links them all."""

import contextlib
import os
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Generic, Self, TypeVar

import h5py
import numpy as np

from framelane.base.claim import Claim
from framelane.base.errors import InputError, InputOptionError
from framelane.files.growing_hdf5 import GrowingHdf5
from framelane.files.new_hdf5 import HDF5, NewHdf5
from framelane.files.unended import Unended, unended

File = TypeVar("File", bound=GrowingHdf5)
_DIGITS = 6
_OF_BEGINNING = "start_time", "begun", "first_value"
"""Datasets and attributes of which the first part has the right one."""


class Series(Generic[File]):
    """Files made by `make(path, before)`; `before` is the one that was full, None for the first.

    The first is `path` itself. When it is `filled`, it becomes `<stem>_data_000001`, frames go to `<stem>_data_000002`
    and so on, and `path` is a file that shows all of them as one: virtual datasets, of which the last part grows. It
    can be read at any moment, as each of them. An older file `path`, with its parts, is replaced only with `force`, and
    no other run can write it meanwhile. InputError where they cannot be written; where the next part cannot be begun,
    the one before can still be closed.
    """

    def __init__(self, path: Path, make: Callable[[Path | Claim, File | None], File], *, force: bool = False) -> None:
        self._path, self._make = path, make
        self._parts: list[Path] = []
        self._lengths: dict[Path, Lengths] = {}
        """The lengths of the parts that were ended."""
        self._linked = False
        """Whether `path` shows the part that is written now."""
        self._ended = False
        self.stopped: str | None = None
        """Why no further part could be begun."""
        self._claim = Claim(path, force=force, kind=HDF5)
        try:
            self._older = parts_of(path)
            if self._older and not force:
                raise InputOptionError(
                    "cannot write {0}: {1} is a part of an older file of this name: give another, or {force} to "
                    "replace it",
                    *(path, self._older[0]),
                )
            self.current = make(self._claim, None)
            self.current.when_shown(self._replace)
        except BaseException:
            self._claim.release()
            raise

    @property
    def file(self) -> File:
        """The file for the next frame: a new one when the last is full."""
        if self.current.filled:
            self._go_on()
        return self.current

    @contextlib.contextmanager
    def changing(self) -> Iterator[File]:
        """The same, of which nothing is committed while it lasts."""
        file = self.file
        with file.changing():
            yield file

    def close(self) -> None:
        """End the files."""
        if not self.current.closed:
            self.current.close()
        self._replace()
        if self._parts:
            link(self._claim, self._parts, growing=False, known=self._lengths)
        self._ended = True
        self._claim.release()

    def discard(self) -> None:
        """Leave nothing behind, unless they are closed."""
        self.current.discard()
        if not self._ended:
            for part in self._parts:
                part.unlink(missing_ok=True)
            if self._parts:
                self._path.unlink(missing_ok=True)
        self._claim.release()

    def leave(self) -> None:
        """Let all be as it was committed last, unless they are closed."""
        self.current.leave()
        if self._parts and not self._ended:
            with contextlib.suppress(InputError):  # the disk is full, say: then it stays as it was linked last
                parts = [part for part in self._parts if part.is_file()]
                link(self._claim, parts, growing=False, known=self._lengths)
        self._claim.release()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, *error: object) -> None:
        try:
            if kind is None:
                self.close()
        finally:
            self.discard()

    def _go_on(self) -> None:
        ended, following = self.current, self._name((len(self._parts) or 1) + 1)
        try:
            self._replace()
            names = [self._name(1), following] if not self._parts else [following]
            if taken := next((name for name in names if name.exists()), None):
                raise InputError(f"cannot write {taken}: there is a file of this name: move it away")
            begun = self._make(following, ended)
        except InputError as error:
            self.stopped = str(error)
            raise
        try:
            ended.close(last=False)
        except BaseException:
            begun.discard()
            raise
        if not self._parts:
            self._parts.append(self._name(1))
            _rename(self._path, self._parts[0])
        elif not self._linked:  # it was full before its first commit
            self._link()
        with contextlib.suppress(OSError, KeyError, RuntimeError):  # then it is read again to be linked
            self._lengths[self._parts[-1]] = lengths(self._parts[-1])
        self._linked = False
        self.current = begun
        self._parts.append(following)
        self.current.when_shown(self._link)

    def _replace(self) -> None:
        """Remove what an older file of this name had beside it."""
        older, self._older = self._older, []
        for part in older:
            part.unlink(missing_ok=True)

    def _link(self) -> None:
        link(self._claim, list(self._parts), growing=True, known=self._lengths)
        self._linked = True

    def _name(self, number: int) -> Path:
        path = Path(os.path.realpath(self._path))
        return path.with_name(f"{path.stem}_data_{number:0{_DIGITS}}{path.suffix}")


def parts_of(path: Path) -> list[Path]:
    """The files that are named as parts of the series of `path`, in their order."""
    path = Path(os.path.realpath(path))
    stem, suffix = re.escape(path.stem), re.escape(path.suffix)
    named = re.compile(rf"{stem}_data_\d{{{_DIGITS}}}{suffix}")
    folder = path.parent
    return sorted(each for each in folder.iterdir() if named.fullmatch(each.name)) if folder.is_dir() else []


def _rename(path: Path, name: Path) -> None:
    """Give the file another name; it keeps the old one as well, until that is replaced, where the disk can do this."""
    path = Path(os.path.realpath(path))
    try:
        name.hardlink_to(path)
    except OSError:
        path.rename(name)


Lengths = dict[str, int]
"""How many frames each growing dataset of a file has, by the dataset's name."""


def lengths(part: Path) -> Lengths:
    """The lengths in a file that nothing writes any more. OSError, KeyError, RuntimeError where it cannot be read."""
    with h5py.File(part, "r") as file:
        left = unended(file)
        found: Lengths = {}

        def visit(name: str, item: h5py.HLObject) -> None:
            if isinstance(item, h5py.Dataset) and item.maxshape and item.maxshape[0] is None:
                found[f"/{name}"] = _length(item, left)

        file.visititems(visit)
        return found


def link(path: Path | Claim, parts: list[Path], *, growing: bool, known: Mapping[Path, Lengths] | None = None) -> None:
    """Write the file `path`, or that of a claim, that shows `parts` as one; the last of them still `growing`, or not.

    Datasets that grow are virtual ones of all parts, in this order. All else is copied from the last part, and when it
    began from the first. Files are named relative to `path`. What is `known` of parts is not read in them again, and of
    the others one is open at a time. InputError where one cannot be read, or `path` cannot be written.
    """
    known = known or {}
    try:
        counted = [known[part] if part in known else lengths(part) for part in parts]
        with h5py.File(parts[0], "r") as first, h5py.File(parts[-1], "r") as last, NewHdf5(path) as new:
            folder = Path(os.path.realpath(new.path)).parent
            names = [os.path.relpath(os.path.realpath(part), folder) for part in parts]
            _Linking(names, counted, first, last, growing).group(new.file, "/")
    except (OSError, KeyError, RuntimeError, ValueError) as error:
        name = path.path if isinstance(path, Claim) else path
        raise InputError(f"cannot link {parts[0]} and the files behind it in {name}: {error}") from error


class _Linking:
    def __init__(self, names: list[str], counted: list[Lengths], first: Any, last: Any, growing: bool) -> None:
        self._names, self._counted, self._first, self._last, self._growing = names, counted, first, last, growing

    def group(self, made: Any, name: str) -> None:
        """Fill a group with what the last part has in it."""
        first, last = self._first[name], self._last[name]
        made.attrs.update(last.attrs)
        made.attrs.update({key: value for key, value in first.attrs.items() if key in _OF_BEGINNING})
        for child, found in last.items():
            inner = f"{name.rstrip('/')}/{child}"
            if isinstance(found, h5py.Group):
                self.group(made.create_group(child), inner)
            elif found.maxshape and found.maxshape[0] is None:
                self._dataset(made, child, inner, found)
            else:
                found.file.copy(first[child] if child in _OF_BEGINNING else found, made, child)

    def _dataset(self, made: Any, child: str, name: str, found: Any) -> None:
        each = [counted[name] for counted in self._counted]
        tail = found.shape[1:]
        # A part that grows counts with what it has by then, which HDF5 looks up when the file is opened.
        least = 1 if self._growing else 0
        layout = h5py.VirtualLayout((sum(each[:-1]) + max(least, each[-1]), *tail), found.dtype, (None, *tail))
        at = 0
        for number, (part, length) in enumerate(zip(self._names, each, strict=True), 1):
            last = self._growing and number == len(each)
            if length or last:
                source = h5py.VirtualSource(
                    part.replace("%", "%%"),
                    name,
                    shape=(max(1, length), *tail),
                    maxshape=(None, *tail) if last else None,
                )
                if last:
                    layout[at : h5py.h5s.UNLIMITED] = source[0 : h5py.h5s.UNLIMITED]
                else:
                    layout[at : at + length] = source
            at += length
        fill = found.fillvalue if np.dtype(found.dtype).metadata is None else None
        made.create_virtual_dataset(child, layout, fillvalue=fill)
        made[child].attrs.update(found.attrs)


def _length(found: Any, left: Unended | None) -> int:
    """The length of a dataset of frames; in a file that was not ended, as many as all datasets have."""
    return min(len(found), left.frames) if left and left.has(found) else len(found)
