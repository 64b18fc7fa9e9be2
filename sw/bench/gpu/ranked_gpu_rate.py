"""One rank of the bench of several GPUs: `python -m framelane.bench.gpu.ranked_gpu_rate FILE`, started by MPI.

Every rank has a GPU, a ring in pinned memory and a thread that fills it, of its own. All begin at the same time of the
host's clock; rank 0 writes what all have measured to the file.
"""

import importlib
import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from framelane.base.errors import ConfigError
from framelane.bench.gpu import gpu_pipeline_rate
from framelane.bench.gpu.gpu_pipeline_frames import N_SLOTS, SPARSE_THRESHOLD, Filler, FrameRing, marked, veto_between
from framelane.receiver.gpu._device import cupy
from framelane.receiver.gpu.driver import driver
from framelane.receiver.gpu.pipeline.frame_pipeline import GpuFramePipeline
from framelane.receiver.gpu.pipeline.gpu_lanes import Way
from framelane.receiver.pipeline.judging import Judging
from framelane.receiver.ranks.rank_gpu import choose_gpu
from framelane.receiver.ranks.ranks import Lost, Ranks

SECONDS = 1.5
"""How long a measurement takes, about."""
REPEATS = 5
_AHEAD_S = 0.3
"""From the agreement on a start to it."""
_WARM_UP = 500

Begin = Callable[[], float]


def begin_together(ranks: Ranks) -> float:
    """Wait for the time at which all ranks begin; that time, of the host's monotonic clock."""
    told = ranks.gather(None)
    if told and any(isinstance(each, Lost) for each in told):
        raise ConfigError(f"a rank of the bench has failed: {told}")
    start = ranks.answer(time.monotonic() + _AHEAD_S)
    if isinstance(start, Lost):
        raise ConfigError(f"rank 0 of the bench has failed: {start.why}")
    while time.monotonic() < start:
        time.sleep(0.001)
    return float(start)


def copies(ring: FrameRing, count: int, begin: Begin) -> tuple[float, float]:
    """Copy so many frames from the ring to the GPU, nothing else; when that began and ended."""
    api, image = driver(), ring.ring.layout.image_bytes
    buffer = cupy().empty(image, np.uint8)
    stream = api.stream()
    slots = [ring.ring.image(slot).ctypes.data for slot in range(N_SLOTS)]
    start = begin()
    for copy in range(count):
        api.call("copy", "cuMemcpyHtoDAsync", buffer.data.ptr, slots[copy % N_SLOTS], image, stream)
    api.call("copy", "cuStreamSynchronize", stream)
    return start, time.monotonic()


def frames(ring: FrameRing, judging: Judging, count: int, begin: Begin) -> tuple[float, float]:
    """Process so many frames as they are filled; when that began and ended. ConfigError where a result is wrong."""
    with GpuFramePipeline(ring.ring, ring.fixed, judging, way=Way.GRAPHS) as pipeline:
        start = begin()
        with Filler(ring, count) as filler:
            seen = 0
            while seen < count:
                for frame in filler.get(wait=not pipeline.pending):
                    pipeline.put(frame)
                for done in pipeline.take(1e-3):
                    number, result = done.frame.number, done.result
                    if result is None or result.counts.invalid != marked(number):
                        raise ConfigError(f"frame {number} came out wrong: {done.fault or result}")
                    filler.give_back()
                    seen += 1
            return start, time.monotonic()


def measure(ranks: Ranks) -> dict[str, Any]:
    """What this rank has measured: for each kind of run a list of (begin, end, frames)."""
    gpu = choose_gpu(ranks.local_rank)
    ring = FrameRing()
    veto = veto_between(gpu_pipeline_rate.peaks_without_bright_rows(ring))
    judging = Judging(veto=veto, sparse=SPARSE_THRESHOLD)
    image = ring.ring.layout.image_bytes
    count = round(SECONDS * gpu_pipeline_rate.copy_rate(ring) * 1e9 / image)
    frames(ring, judging, _WARM_UP, time.monotonic)
    runs: dict[str, list[tuple[float, float, int]]] = {"copies": [], "pipeline": []}
    for _ in range(REPEATS):
        runs["copies"].append((*copies(ring, count, lambda: begin_together(ranks)), count))
        runs["pipeline"].append((*frames(ring, judging, count, lambda: begin_together(ranks)), count))
    cores = sorted(os.sched_getaffinity(0))
    return {"gpu": gpu, "host": ranks.host, "cores": len(cores), "image_bytes": image, "runs": runs}


def main(path: Path) -> None:
    """Measure, with the other ranks; rank 0 writes the file."""
    with Ranks(importlib.import_module("mpi4py.MPI").COMM_WORLD) as ranks:
        told = ranks.gather(measure(ranks))
        if told is not None:
            if lost := [each.why for each in told if isinstance(each, Lost)]:
                raise ConfigError(f"a rank of the bench has failed: {lost}")
            path.write_text(json.dumps(told))
        ranks.answer()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
