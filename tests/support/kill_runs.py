"""Runs that are killed (SIGKILL) at a random moment while frames come, and what they have left."""

import os
import random
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import h5py
import hdf5plugin  # noqa: F401
import numpy as np
from numpy.typing import NDArray

from framelane.receiver import link_run, recover
from framelane.session.session_client import SessionClient
from framelane.source.detector_sender import DetectorSender
from live_recv import PROGRAM, Source, receiving, wait_until, write_plan
from mpi_run import SLOTS as RANK_SLOTS
from mpi_run import Run, emulating

OLD_S = 2.0
LONGEST_S = 1.5
"""A run is killed so long behind its first old frame, at most."""
_SHORT_PARTS = "from framelane.receiver.sinks import judged_frames; judged_frames.MOST_CHUNKS = 60; "
_SLOTS = 16
_PERIOD_S = 0.01


@dataclass(frozen=True, slots=True)
class Killed:
    """What became of one run; `lost` are numbers of frames that were written more than `OLD_S` before the kill."""

    kind: str
    old: int
    """Frames older than that."""
    frames: int
    """Frames in its files."""
    files: int
    """Its files, each of which h5py has opened."""
    lost: list[int]
    """Those that its file, as it was left, does not show."""
    hidden: bool
    """Whether newer frames are in a file that is not shown yet, and were linked."""


def kill_recv(folder: Path, seed: int) -> Killed:
    """`framelane recv`, with every second seed in parts of 60 frames."""
    rng = random.Random(seed)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    options = write_plan(folder, port, n_slots=_SLOTS)
    back: list[tuple[float, int]] = []
    program = PROGRAM if seed % 2 else _SHORT_PARTS + PROGRAM
    with receiving(folder, *options, program=program) as run, run.link() as link:
        source = Source(link.session, port)
        end, number = time.monotonic() + OLD_S + rng.uniform(0.3, LONGEST_S), 0
        while time.monotonic() < end:
            if link.window_end > number:
                source.send(number)
                number += 1
            back.append((time.monotonic(), link.window_end - _SLOTS))
            time.sleep(_PERIOD_S)
        killed = time.monotonic()
        run.process.kill()
        run.process.wait(30)
    old = max(frames for at, frames in back if at < killed - OLD_S)
    return _looked_at("recv", folder / "frames.h5", set(range(old)), source.image)


def kill_record(folder: Path, seed: int) -> Killed:
    """`framelane jungfrau record`, every second one compressed."""
    rng = random.Random(seed)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    raw = np.random.default_rng(seed).integers(0, 0x3FFF, (512, 1024), np.uint16)
    command = [sys.executable, "-c", PROGRAM, "jungfrau", "record", "--output", "raw.h5", "--host", "127.0.0.1"]
    options = ["--port", str(port), *(["--compress"] if seed % 2 else [])]
    sent: list[float] = []
    with (
        subprocess.Popen([*command, *options], cwd=folder, stdout=subprocess.PIPE, text=True) as process,
        DetectorSender("127.0.0.1", port, 1) as sender,
    ):
        try:
            assert process.stdout is not None
            assert "listening" in process.stdout.readline()
            prepared = sender.prepare(raw)
            end = time.monotonic() + OLD_S + rng.uniform(0.3, LONGEST_S)
            while time.monotonic() < end:
                sender.send(prepared, len(sent) + 1, len(sent), len(sent) * 1000, 500)
                sent.append(time.monotonic())
                time.sleep(0.05)
            killed = time.monotonic()
        finally:
            process.kill()
    old = {number for number, at in enumerate(sent, 1) if at < killed - OLD_S}
    return _looked_at("record", folder / "raw.h5", old, lambda number: raw)


def kill_rank(folder: Path, seed: int) -> Killed:
    """Rank 1 of two, under MPI; every second time rank 0."""
    rng, rank = random.Random(seed), seed % 2
    back: list[tuple[float, int]] = []
    with Run(folder, recovery=True) as run:
        run.wait_ready()
        with emulating(run), SessionClient("127.0.0.1", run.port + rank) as link:
            end = time.monotonic() + OLD_S + rng.uniform(0, LONGEST_S)
            while time.monotonic() < end:
                back.append((time.monotonic(), link.window_end - RANK_SLOTS))
                time.sleep(_PERIOD_S)
            killed = time.monotonic()
            os.kill(run.pid(rank), signal.SIGKILL)
            assert wait_until(lambda: link.closed)
        run.process.wait(30)
    old = max((frames for at, frames in back if at < killed - OLD_S), default=0)
    with h5py.File(folder / f"run_{1 - rank}.h5") as other:
        assert len(other["entry/data/data"])
    return _looked_at("rank", folder / f"run_{rank}.h5", set(range(old)))


def _looked_at(
    kind: str, path: Path, old: set[int], image: Callable[[int], NDArray[np.uint16]] | None = None
) -> Killed:
    """What the run has left, by h5py alone, and by `recover`, which must agree; each image of which all came."""
    files = sorted(path.parent.glob(f"{path.stem}*.h5"))
    for name in files:
        with h5py.File(name) as each:
            assert (each["raw"] if "raw" in each else each["entry/data/data"])[-1].any()
    with h5py.File(path) as file:
        records = file if "raw" in file else file["entry/data"]
        images = file["raw"] if "raw" in file else file["entry/data/data"]
        numbers, holes = records["frame_number"][()].tolist(), records["holes"][()]
        for f, number in enumerate(numbers):
            if image and not holes[f]:
                np.testing.assert_array_equal(images[f], image(number), f"frame {number}")
    found = recover(path)
    assert len(set(numbers)) == len(numbers)
    assert not found.ended
    if found.link_to:  # between the first commit of another file and the one that shows it
        assert link_run(path, found.link_to) == len(files) - 1
        with h5py.File(found.link_to) as file:
            assert len(file["entry/data/frame_number"]) == found.frames > len(numbers)
    else:
        assert (found.frames, found.troubles) == (len(numbers), [])
    return Killed(kind, len(old), found.frames, len(files), sorted(old - set(numbers)), bool(found.link_to))


KINDS: dict[str, Callable[[Path, int], Killed]] = {"recv": kill_recv, "record": kill_record, "rank": kill_rank}
