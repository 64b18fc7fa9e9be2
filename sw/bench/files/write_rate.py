"""Frames a second with and without commits, and by other ways: by turns, in one run."""

import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

from framelane.bench.files import file_writers
from framelane.bench.files.file_writers import Image, SinkWriter, Writer
from framelane.bench.runner import Target
from framelane.files.forgiving import ForgivingFile

ROUNDS = 15
FRAMES = {"photons": 120, "noise": 60}
SHAPE = 4096, 1024
FOLDER = Path("build")
"""Files are written there: to the disk, not to a file system in memory."""
LIMIT = 1.03
BEFORE = "no commits"


def _whole(path: Path, image: Image) -> SinkWriter:
    return SinkWriter(path, image, whole=True)


_WAYS: dict[str, Callable[[Path, Image], Writer]] = {
    BEFORE: _whole,
    "commits, nothing synced": SinkWriter,
    **file_writers.WRITERS,
}


def write_rates() -> tuple[list[dict[str, Any]], list[Target]]:
    """A row a way and kind of image: frames/s, MB/s of pixels, time over that without commits; what was promised."""
    rows, targets = [], []
    for kind, n in FRAMES.items():
        image = (file_writers.photons if kind == "photons" else file_writers.noise)(*SHAPE)
        taken: dict[str, list[tuple[float, float]]] = {way: [] for way in _WAYS}
        for turn in range(ROUNDS):
            for way in list(_WAYS) if turn % 2 else reversed(_WAYS):
                taken[way].append(_seconds(way, image, n))
        for way, times in taken.items():
            rate = n / median(wall for wall, _ in times)
            rows.append(
                {
                    "what": "write rate",
                    "way": way,
                    "image": image.name,
                    "frames_per_s": rate,
                    "mb_per_s": rate * image.pixels.nbytes / 1e6,
                    "time": _ratio(times, taken[BEFORE], 0),
                    "cpu_time": _ratio(times, taken[BEFORE], 1),
                }
            )
        cost = _ratio(taken["commits"], taken[BEFORE], 0)
        what = f"time to write {image.name}, with commits over without"
        targets.append(Target(what=what, value=cost, unit="", limit=LIMIT, better="lower"))
    return rows, targets


def _ratio(times: list[tuple[float, float]], before: list[tuple[float, float]], which: int) -> float:
    """Median over the rounds: of one round both are measured one after the other."""
    return median(these[which] / those[which] for these, those in zip(times, before, strict=True))


def _seconds(way: str, image: Image, n: int) -> tuple[float, float]:
    """Seconds from the first frame until the disk has the ended file; of the wall, and of all cores."""
    FOLDER.mkdir(exist_ok=True)
    sync = ForgivingFile.sync
    with tempfile.TemporaryDirectory(dir=FOLDER, prefix="bench-files-") as folder:
        os.sync()
        if way == "commits, nothing synced":
            ForgivingFile.sync = lambda self: None  # type: ignore[method-assign]
        try:
            with _WAYS[way](Path(folder) / "frames.h5", image) as writer:
                wall, cpu = time.perf_counter(), time.process_time()
                for _ in range(n):
                    writer.write()
            return time.perf_counter() - wall, time.process_time() - cpu
        finally:
            ForgivingFile.sync = sync  # type: ignore[method-assign]
