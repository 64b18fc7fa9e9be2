"""Frames a second with and without commits, and by other ways: by turns, in one run."""

import os
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any, Literal

from framelane.bench.files import file_writers
from framelane.bench.files.file_writers import Image, SinkWriter, Writer
from framelane.bench.runner import Target
from framelane.files.forgiving import ForgivingFile

ROUNDS = 9
OTHER_ROUNDS = 3
FRAMES = {"photons": 500, "noise": 150}
SHAPE = 4096, 1024
FOLDER = Path("build")
"""Files are written there: to the disk, not to a file system in memory."""
LIMIT = 1.03
BEFORE, AGAIN, UNSYNCED = "no commits", "no commits, again", "commits, nothing synced"


def _whole(path: Path, image: Image) -> SinkWriter:
    return SinkWriter(path, image, whole=True)


_OURS: dict[str, Callable[[Path, Image], Writer]] = {
    BEFORE: _whole,
    AGAIN: _whole,
    "commits": SinkWriter,
}
_WAYS = _OURS | {UNSYNCED: SinkWriter} | file_writers.WRITERS


@dataclass(frozen=True, slots=True)
class _Taken:
    """Seconds of one run: of the wall, and of all cores."""

    wall: float
    cpu: float


def write_rates() -> tuple[list[dict[str, Any]], list[Target]]:
    """A row a way and kind of image: frames/s, MB/s of pixels, time over that without commits; what was promised."""
    rows, targets = [], []
    for kind, n in FRAMES.items():
        image = (file_writers.photons if kind == "photons" else file_writers.noise)(*SHAPE)
        taken: list[dict[str, _Taken]] = []
        for turn in range(ROUNDS):
            ways = list(_OURS if turn % (ROUNDS // OTHER_ROUNDS) else _WAYS)
            taken.append({way: _run(way, image, n) for way in (ways if turn % 2 else reversed(ways))})
        for way in _WAYS:
            rate = n / median(of[way].wall for of in taken if way in of)
            rows.append(
                {
                    "what": "write rate",
                    "way": way,
                    "image": image.name,
                    "frames_per_s": rate,
                    "mb_per_s": rate * image.pixels.nbytes / 1e6,
                    "time": _ratio(taken, way, "wall"),
                    "cpu_time": _ratio(taken, way, "cpu"),
                }
            )
        what = f"time to write {image.name}, with commits over without"
        cost = _ratio(taken, "commits", "wall")
        targets.append(Target(what=what, value=cost, unit="", limit=LIMIT, better="lower"))
    return rows, targets


def _ratio(taken: list[dict[str, _Taken]], way: str, which: Literal["wall", "cpu"]) -> float:
    """Median over the rounds: in one round the two are measured within seconds of each other."""
    ratios: list[float] = [getattr(of[way], which) / getattr(of[BEFORE], which) for of in taken if way in of]
    return median(ratios)


def _run(way: str, image: Image, n: int) -> _Taken:
    """From the first frame until the disk has the ended file."""
    FOLDER.mkdir(exist_ok=True)
    sync = ForgivingFile.sync
    with tempfile.TemporaryDirectory(dir=FOLDER, prefix="bench-files-") as folder:
        os.sync()
        if way == UNSYNCED:
            ForgivingFile.sync = lambda self: None  # type: ignore[method-assign]
        try:
            wall, cpu = time.perf_counter(), time.process_time()
            with _WAYS[way](Path(folder) / "frames.h5", image) as writer:
                for _ in range(n):
                    writer.write()
            return _Taken(time.perf_counter() - wall, time.process_time() - cpu)
        finally:
            ForgivingFile.sync = sync  # type: ignore[method-assign]
