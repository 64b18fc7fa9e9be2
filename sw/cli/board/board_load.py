"""`framelane board load`: images of a file into the memory of a board."""

import time
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from rich.console import Console

from framelane.base.errors import InputError, OptionError
from framelane.base.progress import say
from framelane.driver import Board
from framelane.files.recorded_file import RecordedFile
from framelane.models.jungfrau.jf_correct import guard

_EVERY_S = 2.0
"""From one line about the progress to the next."""


def run(board: Board, file: Path | None, first: int, frames: int | None, console: Console) -> None:
    """Load frames of `file`, or have the board send its own picture again where there is none."""
    images = board.images()
    if file is None:
        images.sent = 0
        say(console, "the board sends its own picture")
        return
    if first < 0 or (frames is not None and not 0 < frames <= images.room):
        raise OptionError(
            "{first} must be 0 or more, and {frames} 1 to {0}: the board's memory holds so many", images.room
        )
    raw = _frames(file, first, images.room if frames is None else frames)
    guarded, replaced = guard(raw)
    if replaced:
        say(console, f"{replaced} words of gain code 10, which no detector has, are sent as the error word 0xFFFF")
    begin = said = time.monotonic()

    def told(done: int, total: int) -> None:
        nonlocal said
        if time.monotonic() - said > _EVERY_S:
            said = time.monotonic()
            say(console, f"{done / total:.0%}")

    images.load(list(guarded), told)
    count, rows, columns = guarded.shape
    say(
        console,
        f"{count} images of {rows} x {columns} pixels are loaded and compared, in {time.monotonic() - begin:.1f} s; "
        "the board sends them over and over",
    )


def _frames(path: Path, first: int, most: int) -> NDArray[np.uint16]:
    """Frames (frames, rows, columns) of a file; InputError where it has none there."""
    if path.suffix == ".npy":
        frames = _of_npy(path)[first : first + most]
    else:
        with RecordedFile(path) as file:
            frames = file.images(first, min(first + most, file.n_frames))
    if not len(frames):
        raise InputError(f"{path} has no frame {first}: give a smaller --first")
    return frames


def _of_npy(path: Path) -> NDArray[np.uint16]:
    try:
        found = np.load(path, mmap_mode="r", allow_pickle=False)
    except (OSError, ValueError, EOFError) as error:
        raise InputError(f"cannot read {path}: {error}: give a file of numpy.save, or HDF5") from error
    if not isinstance(found, np.ndarray) or found.dtype != np.uint16 or found.ndim not in (2, 3):
        raise InputError(f"{path} has no raw frames: needed is uint16 of (rows, columns) or (frames, rows, columns)")
    frames: NDArray[np.uint16] = found if found.ndim == 3 else found[None]
    return frames
