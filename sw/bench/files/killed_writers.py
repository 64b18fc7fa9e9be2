"""Writers in processes of their own: how soon another process sees a frame, and what is left when they are killed."""

import functools
import multiprocessing
import random
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from multiprocessing.connection import Connection
from pathlib import Path
from statistics import median
from typing import Any

from framelane.bench.files.file_writers import WRITERS, frames_in, photons
from framelane.bench.files.write_rate import FOLDER

KILLS = 10
READS = 100
RATE = 50.0
SHAPE = 512, 1024
LATENCY_S = 6.0
OLD_S = 2.0
OLD_LOST = "lost_older_than_2_s"
_POLL_S = 0.01
_SPAWNED = multiprocessing.get_context("spawn")
_GONE = OSError, KeyError, RuntimeError


def _write(way: str, path: Path, said: Connection) -> None:
    """Write frames at `RATE` for ever, and say when each call returned, by the clock of all processes (ns)."""
    with WRITERS[way](path, photons(*SHAPE)) as writer:
        start, n = time.monotonic(), 0
        while True:
            writer.write()
            n += 1
            said.send_bytes(time.monotonic_ns().to_bytes(8, "little"))
            time.sleep(max(0.0, start + n / RATE - time.monotonic()))


class _Watched:
    """A writer, and when its frames were written, in seconds."""

    def __init__(self, process: Any, said: Connection) -> None:
        self.process, self._said = process, said
        self.written: list[float] = []

    def look(self) -> int:
        """How many frames it has written."""
        with suppress(EOFError):
            while self._said.poll():
                self.written.append(int.from_bytes(self._said.recv_bytes(), "little") * 1e-9)
        return len(self.written)


@contextmanager
def _writing(way: str, path: Path) -> Iterator[_Watched]:
    here, there = _SPAWNED.Pipe(duplex=False)
    process = _SPAWNED.Process(target=_write, args=(way, path, there), daemon=True)
    process.start()
    there.close()
    try:
        watched = _Watched(process, here)
        while not watched.look() and process.is_alive():
            time.sleep(_POLL_S)
        yield watched
    finally:
        process.kill()
        process.join()
        here.close()


def latencies() -> list[dict[str, Any]]:
    """A row a way: seconds from the return of `write` until a process that polls the file has seen the frame.

    Beside that, of a hundred attempts by each reader, those that could read the last image while frames came.
    """
    rows = []
    for way in WRITERS:
        with _folder() as folder, _writing(way, folder / "frames.h5") as writer:
            seen: list[float] = []
            end = time.monotonic() + LATENCY_S
            while time.monotonic() < end:
                with suppress(*_GONE):
                    n = frames_in(way, folder / "frames.h5")
                    seen += [time.monotonic()] * (n - len(seen))
                time.sleep(_POLL_S)
            writer.look()
            waited = [after - at for at, after in zip(writer.written, seen, strict=False)]
            opened = {name: sum(_all_opened(folder, reads) for _ in range(READS)) / READS for name, reads in _READERS}
        read = {f"read by {name}": 100 * share for name, share in opened.items()}
        rows.append({"what": "seen by a reader", "way": way, **_waits(waited), **read})
    return rows


def _waits(waited: list[float]) -> dict[str, float | None]:
    """None where no frame was ever seen."""
    return {"median_s": median(waited) if waited else None, "most_s": max(waited, default=None)}


def killed() -> list[dict[str, Any]]:
    """A row a way: what h5py and silx open after SIGKILL at a random moment, and which frames were lost."""
    rows, rng = [], random.Random(1)
    for way in WRITERS:
        opened = dict.fromkeys((name for name, _ in _READERS), 0)
        lost, old_lost = [], 0
        for _ in range(KILLS):
            with _folder() as folder, _writing(way, folder / "frames.h5") as writer:
                time.sleep(rng.uniform(OLD_S, OLD_S + 1.5))
                at = time.monotonic()
                writer.process.kill()
                writer.process.join()
                n = writer.look()
                for name, reads in _READERS:
                    opened[name] += _all_opened(folder, reads)
                left = 0
                with suppress(*_GONE):
                    left = frames_in(way, folder / "frames.h5")
                lost.append(n - left)
                old_lost += max(0, sum(written < at - OLD_S for written in writer.written) - left)
        rows.append(
            {"what": "SIGKILL", "way": way, "kills": KILLS, **{f"opened by {name}": n for name, n in opened.items()}}
            | {"lost_median": median(lost), "lost_most": max(lost), OLD_LOST: old_lost}
        )
    return rows


def _all_opened(folder: Path, reads: Callable[[Path], bool]) -> bool:
    names = sorted(folder.glob("frames*.h5"))
    return bool(names) and all(reads(name) for name in names)


def _by_h5py(path: Path, **how: Any) -> bool:
    import h5py

    try:
        with h5py.File(path, "r", **how) as file:
            return bool(file["entry/data/data"][-1].shape)
    except _GONE:
        return False


def _by_silx(path: Path) -> bool:
    """As `silx view` opens a file. False where silx is not installed."""
    try:
        import silx.io
    except ImportError:
        return False
    try:
        with silx.io.open(str(path)) as file:
            return bool(file["entry/data/data"][-1].shape)
    except _GONE:
        return False


_READERS: tuple[tuple[str, Callable[[Path], bool]], ...] = (
    ("h5py", _by_h5py),
    ("h5py as SWMR", functools.partial(_by_h5py, swmr=True)),
    ("silx", _by_silx),
)
"""DIALS opens files as the second does (dxtbx, FormatNXmx)."""


@contextmanager
def _folder() -> Iterator[Path]:
    FOLDER.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=FOLDER, prefix="bench-files-") as name:
        yield Path(name)
