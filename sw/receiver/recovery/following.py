"""Frames of a file that another process is still writing, as they come."""

import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from framelane.base.any_path import AnyPath
from framelane.base.errors import ConfigError, InputError
from framelane.files.checked_file import CheckedFile
from framelane.files.unended import grows

_POLL_S = 0.1
_DOUBT_S = 2.0
"""A file that cannot be read for so long is damaged: a page of it may just be on its way."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class FollowedFrame:
    """A frame of a file that grows."""

    index: int
    """Its place in the file, from 0."""
    number: int
    image: NDArray[Any]
    """(rows, columns), as in the file."""
    record: dict[str, Any]
    """What the file keeps of it beside the image: `timestamp_ns`, `holes` and others, by name."""


def follow(path: AnyPath, *, idle: float | None = None) -> Iterator[FollowedFrame]:
    """The frames of a file of `framelane recv` or `jungfrau record`, from the first on, while it is written.

    A frame can be had within a second of its arrival. It ends behind the last frame of a run that was ended, or when
    for `idle` seconds none has come, the first included: the writer may have been killed. It waits for a file that is
    not there yet. ConfigError where `idle` is not positive; InputError for a file that is damaged or holds no frames.
    """
    path = Path(path)
    if idle is not None and not idle > 0:
        raise ConfigError(f"idle {idle:g} is too short: give seconds above 0, or none to wait for ever")
    seen, came, sound = 0, time.monotonic(), time.monotonic()
    while True:
        ended = False
        if path.exists():
            try:
                with _GrowingFrames(path) as file:
                    ended = file.ended
                    for index in range(seen, file.frames):
                        yield file.frame(index)
                        seen, came = index + 1, time.monotonic()
                sound = time.monotonic()
            except InputError:
                if time.monotonic() > sound + _DOUBT_S:
                    raise
        else:
            sound = time.monotonic()
        if ended or (idle is not None and time.monotonic() > came + idle):
            return
        time.sleep(_POLL_S)


class _GrowingFrames(CheckedFile):
    """The frames that the file has by now."""

    needed: ClassVar[str] = "give a file of framelane recv or jungfrau record"

    ended: bool
    frames: int

    def _load(self) -> None:
        group = "entry/data" if self._has("entry") else "/"
        self._images = self._dataset("entry/data/data" if self._has("entry") else "raw", (None, None, None), ("u", "i"))
        self.frames = self._shape(self._images)[0]
        self.ended = self._unended is None
        beside = self._try("list its records", lambda: dict(self._file[group].items()))
        self._records = {name: found for name, found in beside.items() if grows(found) and found != self._images}
        if "frame_number" not in self._records:
            raise InputError(f"{self.path} has no numbers of frames that grow: {self.needed}")

    def frame(self, index: int) -> FollowedFrame:
        image = self._try(f"read image {index}", lambda: np.asarray(self._images[index]))
        record = self._try(
            f"read the record of frame {index}", lambda: {name: each[index] for name, each in self._records.items()}
        )
        return FollowedFrame(index=index, number=int(record["frame_number"]), image=image, record=record)
