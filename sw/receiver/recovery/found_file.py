"""One file of frames as a run has left it, whichever command wrote it and whatever ended that."""

from pathlib import Path
from typing import Any, ClassVar, Literal

import h5py
import numpy as np
from numpy.typing import NDArray

from framelane.base.errors import InputError
from framelane.files.checked_file import CheckedFile
from framelane.receiver.sinks import nxmx

Kind = Literal["received frames", "raw recording", "corrected frames", "frames of several receivers"]
_IMAGES: dict[Kind, str] = {
    "received frames": "entry/data/data",
    "raw recording": "raw",
    "corrected frames": "entry/data/data",
    "frames of several receivers": "entry/data/data",
}


class FoundFile(CheckedFile):
    """An open file of frames of `kind`. InputError for any other file, and for one that is damaged."""

    needed: ClassVar[str] = "give a file of framelane recv, jungfrau record, correct or master"
    whole: ClassVar[bool] = False

    kind: Kind
    ended: bool
    """Whether its run came to its end."""
    frames: int
    complete: int
    """Frames of which all pixels came."""
    fault: str
    """Why its run ended early, where the file says so; else empty."""
    came: int | None
    """How many frames had come to its receiver, in all its files, when that ended; None where the file does not say."""
    numbers: NDArray[np.uint64]
    """The numbers of frames where they are known, in the order of the file; of several receivers the detector's."""
    last_ns: int | None
    """Time of the last frame by the clock of its source, where it came."""
    sources: list[Path]
    """The files that hold its images, where it links others, in their order."""
    ranks: dict[int, dict[str, Any]]
    """What the file says about each rank; empty where there are none."""

    def _load(self) -> None:
        self._try("tell what it is", self._identify)
        folder = _IMAGES[self.kind].rpartition("/")[0]
        self._images = self._find(_IMAGES[self.kind])
        numbered = "detector_frame" if self.ranks else "frame_number"
        numbers = self._column(f"{folder}/{numbered}")
        self.frames = self._shape(self._images)[0] if numbers is None else len(numbers)
        holes = self._column(f"{folder}/holes")
        complete = self._column(f"{folder}/complete")
        if complete is None:
            complete = np.ones(self.frames, np.bool_) if holes is None else holes == 0
        self.complete = int(np.count_nonzero(complete))
        self.numbers = np.zeros(0, np.uint64) if numbers is None else numbers[numbers != nxmx.UNKNOWN_FRAME]
        times = self._column(f"{folder}/timestamp_ns")
        self.last_ns = int(times[-1]) if times is not None and len(times) and times[-1] else None
        self.came = self._try("read what became of frames", self._came)
        self.sources = self._try("list the files that it links", self._linked)

    def unreadable(self) -> int:
        """How many images cannot be read: it reads all."""
        bad = 0
        for index in range(self.frames):
            try:
                self._try(f"read image {index}", lambda index=index: self._images[index])  # type: ignore[misc]
            except InputError:
                bad += 1
        return bad

    def _identify(self) -> None:
        self.ranks = {}
        kind = str(self._file.attrs.get("format", ""))
        self.fault = str(self._file.attrs.get("fault", ""))
        entry = self._file.get("entry")
        if kind.startswith("framelane-raw-"):
            self.kind, self.ended = "raw recording", "ended" in self._file.attrs
            return
        if not isinstance(entry, h5py.Group) or "data" not in entry:
            raise InputError(f"{self.path} holds no frames: {self.needed}")
        self.ended = "end_time" in entry
        if "ranks" in entry:
            self.kind = "frames of several receivers"
            self.ranks = {int(rank): dict(group.attrs) for rank, group in entry["ranks"].items()}
        elif kind.startswith("framelane-corrected-"):
            self.kind, self.ended = "corrected frames", "ended" in self._file.attrs
        elif "complete" in entry["data"]:
            self.kind = "received frames"
        else:
            raise InputError(f"{self.path} holds frames of another program: {self.needed}")

    def _column(self, name: str) -> NDArray[Any] | None:
        """One value a frame; None where it is not kept."""
        if not self._has(name):
            return None
        found = self._find(name)
        values: NDArray[Any] = self._try(f"read {name}", lambda: self._values(found))
        return values

    def _came(self) -> int | None:
        loss = self._file.get("entry/loss")
        if not isinstance(loss, h5py.Group) or "complete" not in loss.attrs:
            return None
        return int(loss.attrs["complete"]) + int(loss.attrs.get("incomplete", 0))

    def _linked(self) -> list[Path]:
        if self.ranks:
            names = [str(about["file"]) for _, about in sorted(self.ranks.items()) if "file" in about]
        elif self._images.is_virtual:
            names = [each.file_name.replace("%%", "%") for each in self._images.virtual_sources()]
        else:
            names = []
        return [self.path.parent / name for name in dict.fromkeys(names)]
