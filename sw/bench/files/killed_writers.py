"""Writers in processes of their own: how soon another process sees a frame, and what is left when they are killed."""

import multiprocessing
import os
import random
import signal
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from multiprocessing.connection import Connection
from pathlib import Path
from statistics import median
from typing import Any

from framelane.bench.files.file_writers import WRITERS, frames_in, photons
from framelane.bench.files.write_rate import FOLDER

KILLS = 12
RATE = 50.0
SHAPE = 512, 1024
LATENCY_S = 6.0
OLD_S = 2.0
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
    """A row a way: seconds from the return of `write` until a process that polls the file has seen the frame."""
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
        rows.append({"what": "seen by a reader", "way": way, "median_s": median(waited), "most_s": max(waited)})
    return rows


def killed() -> list[dict[str, Any]]:
    """A row a way: what h5py and silx open after SIGKILL at a random moment, and which frames were lost."""
    rows, rng = [], random.Random(1)
    for way in WRITERS:
        opened = {"h5py": 0, "h5py, as SWMR": 0, "silx": 0}
        lost, old_lost = [], 0
        for _ in range(KILLS):
            with _folder() as folder, _writing(way, folder / "frames.h5") as writer:
                time.sleep(rng.uniform(OLD_S, OLD_S + 1.5))
                at = time.monotonic()
                os.kill(writer.process.pid, signal.SIGKILL)
                writer.process.join()
                n = writer.look()
                names = sorted(folder.glob("frames*.h5"))
                for reader, reads in _READERS.items():
                    opened[reader] += bool(names) and all(reads(name) for name in names)
                left = 0
                with suppress(*_GONE):
                    left = frames_in(way, folder / "frames.h5")
                lost.append(n - left)
                old_lost += max(0, sum(written < at - OLD_S for written in writer.written) - left)
        rows.append(
            {"what": "SIGKILL", "way": way, "kills": KILLS, **{f"opened by {name}": n for name, n in opened.items()}}
            | {"lost_median": median(lost), "lost_most": max(lost), f"lost_older_than_{OLD_S:.0f}_s": old_lost}
        )
    return rows


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


_READERS = {
    "h5py": _by_h5py,
    "h5py, as SWMR": lambda path: _by_h5py(path, swmr=True),
    "silx": _by_silx,
}


@contextmanager
def _folder() -> Iterator[Path]:
    FOLDER.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=FOLDER, prefix="bench-files-") as name:
        yield Path(name)
