"""A file for the HDF5 library that is whole on the disk at every moment, up to its last commit.

HDF5 changes the structure of a growing file in place, in many small writes: a process that ends between two of them
leaves a file that cannot be opened. Here what the last commit has of the file is not touched between commits. What is
appended goes to the disk at once, where no structure points yet; what HDF5 changes behind that is held in memory. A
commit makes it appear in an order in which the file can be read after each single write, as a writer of HDF5's own SWMR
does ("HDF5 Single-Writer/Multiple-Reader User's Guide"): what was appended is synced, then the end of the file and the
indexes of chunks are written and synced, then the object headers, which say how many frames there are.

Two things must hold of the HDF5 file (`LAYOUT`, `MOST_CHUNKS`): freed room is not used again, or a structure that is
still pointed to would be overwritten; and no structure that is changed in place crosses a page of `PAGE` bytes, so that
a write is done or not, whatever ends the process or the machine.
"""

import io
import os
from collections.abc import Callable, Iterator
from typing import Any

from framelane.files.forgiving import ForgivingFile

PAGE = 4096
LAYOUT: dict[str, Any] = {
    "libver": "v110",
    "fs_strategy": "none",
    "alignment_threshold": 64,
    "alignment_interval": PAGE,
}
"""Options of h5py.File that a committed file needs."""
MOST_CHUNKS = 2000
"""A dataset may have so many chunks.

From about 2036 on the blocks of its index (an extensible array: 16 elements in the first, doubled every second level;
20 bytes each where chunks are compressed) are larger than a page.
"""
_HEADERS = (b"OHDR", b"OCHK")
"""How object headers and their continuations begin ("HDF5 File Format Specification Version 3.0", IV.A.1.b)."""
_SUPERBLOCK = b"\x89HDF"

Held = dict[tuple[int, int], bytes]
"""Writes by position and length, in the order in which they came."""


class CommittedFile(io.RawIOBase):
    """The file `disk` as HDF5 sees it; its failures are those of `disk`, which never raises."""

    def __init__(self, disk: ForgivingFile) -> None:
        self._disk = disk
        self._at = 0
        self._end = 0
        """The end of the committed part, in bytes. What lies beyond it is written at once."""
        self._held: Held = {}
        self._leaving: Held = {}
        """What a commit is writing."""
        self.frozen = False
        """Whether all that is written from now on is forgotten: the file stays as it was committed."""

    def write(self, data: Any) -> int:
        """Append to the disk, or hold what would change the committed file."""
        view = memoryview(data).cast("B")
        if self._at < self._end or self.frozen:
            key = self._at, len(view)
            self._held.pop(key, None)
            self._held[key] = bytes(view)
        else:
            self._disk.seek(self._at)
            self._disk.write(view)
        self._at += len(view)
        return len(view)

    def readinto(self, buffer: Any) -> int:
        """Read what was written, held or not."""
        view = memoryview(buffer).cast("B")
        self._disk.seek(self._at)
        n = self._disk.readinto(view) or 0
        for held in (self._leaving, self._held):
            for (at, length), data in held.items():
                first, end = max(at, self._at), min(at + length, self._at + len(view))
                if first < end:
                    view[first - self._at : end - self._at] = data[first - at : end - at]
                    n = max(n, end - self._at)
        self._at += n
        return n

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        """Move the position, as in any file."""
        if whence == os.SEEK_END:
            self._at = self._disk.seek(offset, whence)
        else:
            self._at = offset + (self._at if whence == os.SEEK_CUR else 0)
        return self._at

    def tell(self) -> int:
        """The position."""
        return self._at

    def truncate(self, size: int | None = None) -> int:
        """Make the file longer; the committed part of it does not become shorter."""
        size = self._at if size is None else size
        if not self.frozen:
            self._disk.truncate(max(size, self._end))
        return size

    def readable(self) -> bool:
        """It can be read."""
        return True

    def writable(self) -> bool:
        """It can be written."""
        return True

    def seekable(self) -> bool:
        """Any position can be read and written."""
        return True

    def begin(self) -> Callable[[], None]:
        """Begin a commit of all that was written, directly after HDF5 has flushed; the function returned does it.

        It takes as long as the disk. HDF5 may write meanwhile, which is of the next commit.
        """
        leaving = self._leaving = self._held
        self._held = {}
        self._end = self._disk.seek(0, os.SEEK_END)

        def commit() -> None:
            self._disk.sync()
            for part in _in_order(leaving):
                for (at, _), data in part.items():
                    self._disk.put(memoryview(data), at)
                self._disk.sync()
            if self._leaving is leaving:
                self._leaving = {}

        return commit


def _in_order(held: Held) -> Iterator[Held]:
    """The writes of a commit in two parts: the end of the file before all else, object headers after all else."""
    headers = {key: data for key, data in held.items() if data[:4] in _HEADERS}
    others = {key: data for key, data in held.items() if key not in headers}
    yield dict(sorted(others.items(), key=lambda item: item[1][:4] != _SUPERBLOCK))
    yield headers
