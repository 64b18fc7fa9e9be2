"""How many frames a second the GPU pipeline takes from a ring, beside what its PCIe carries."""

import statistics
import time
from dataclasses import dataclass
from typing import Any

import numpy as np

from framelane.base.errors import ConfigError
from framelane.bench.gpu.gpu_pipeline_frames import (
    BRIGHT_ROWS,
    N_SLOTS,
    THRESHOLD,
    Filler,
    FrameRing,
    bright,
    is_dark,
    marked,
)
from framelane.receiver.gpu._device import cupy
from framelane.receiver.gpu.driver import driver
from framelane.receiver.gpu.pipeline.frame_pipeline import LANES, GpuFramePipeline
from framelane.receiver.gpu.pipeline.gpu_lanes import Way
from framelane.receiver.pedestal.pedestal_tracker import PedestalTracker
from framelane.receiver.pipeline.frame_pipeline import Processed
from framelane.receiver.pipeline.judging import Judging
from framelane.receiver.pipeline.veto import Veto

FRAMES = 2000
COPIES = 256
REPEATS = 7


@dataclass(frozen=True, slots=True)
class Run:
    """What a run of frames took; `allocated` bytes of the GPU and of the host's pinned pool while it ran."""

    gb_per_s: float
    allocated: int


def copy_rate(ring: FrameRing, to_gpu: bool = True, both: bool = False) -> float:
    """GB/s of the copy engine between slots of the ring and the GPU, one frame after the other: the median.

    With `both` as many frames go the other way at the same time; the rate is that of one way.
    """
    api, image = driver(), ring.ring.layout.image_bytes
    buffers = cupy().empty((2, image), np.uint8)
    streams = [api.stream() for _ in range(2)]
    begin, end = (api.call("make an event", "cuEventCreate", 0) for _ in range(2))
    slots = [ring.ring.image(slot).ctypes.data for slot in range(N_SLOTS)]
    rates: list[float] = []
    for _ in range(REPEATS):
        api.call("time", "cuEventRecord", begin, streams[0])
        for copy in range(COPIES):
            slot, other = slots[copy % N_SLOTS], slots[(copy + N_SLOTS // 2) % N_SLOTS]
            for stream, up, at in ((streams[0], to_gpu, slot), (streams[1], not to_gpu, other))[: 1 + both]:
                if up:
                    api.call("copy", "cuMemcpyHtoDAsync", buffers[0].data.ptr, at, image, stream)
                else:
                    api.call("copy", "cuMemcpyDtoHAsync", at, buffers[1].data.ptr, image, stream)
        api.call("time", "cuEventRecord", end, streams[0])
        for stream in streams:
            api.call("copy", "cuStreamSynchronize", stream)
        rates.append(COPIES * image / float(api.call("time", "cuEventElapsedTime", begin, end)) / 1e6)
    return statistics.median(rates)


def run(
    ring: FrameRing,
    judging: Judging,
    way: Way,
    *,
    images: bool,
    copies: bool = True,
    refill: bool = False,
    lanes: int = LANES,
    frames: int = FRAMES,
    keep: bool = False,
    tracker: PedestalTracker | None = None,
) -> Run:
    """Fill the ring by another thread at full speed, and process all. ConfigError where a result is wrong.

    With `keep` bright frames are kept whatever the veto says; with a `tracker` one in `ONE_IN` is dark.
    """
    wanted = judging.veto.minimum

    def check(done: Processed) -> None:
        number, result = done.frame.number, done.result
        if result is None or result.counts.invalid != marked(number):
            raise ConfigError(f"frame {number} came out wrong: {done.fault or result}")
        if refill:
            return  # what was not marked is holes from the second round on
        accepted = not wanted or bright(number)
        rows = len(result.image) if result.verdict.accepted == accepted else -1
        if rows != (ring.ring.image(0).shape[0] if accepted and images else 0):
            raise ConfigError(f"frame {number} came out with {result.verdict} and {rows} rows")

    options: dict[str, Any] = {"images": images, "way": way, "copies": copies, "refill": refill, "lanes": lanes}
    with (
        GpuFramePipeline(ring.ring, ring.fixed, judging, tracker=tracker, **options) as pipeline,
        Filler(ring, frames) as filler,
    ):
        before, seen, start = _allocated(), 0, time.perf_counter()
        while seen < frames:
            for frame in filler.get(wait=not pipeline.pending):
                pipeline.put(frame, keep and bright(frame.number), tracker is not None and is_dark(frame.number))
            for done in pipeline.take(1e-3):
                check(done)
                filler.give_back()
                seen += 1
        seconds = time.perf_counter() - start
        allocated = _allocated() - before
    if tracker is not None and tracker.progress.frames != sum(map(is_dark, range(frames))):
        raise ConfigError(f"the tracker has learned from {tracker.progress.frames} frames, others were dark")
    return Run(frames / seconds * ring.ring.layout.image_bytes / 1e9, allocated)


def peaks_without_bright_rows(ring: FrameRing) -> list[int]:
    """How many peaks each slot's frame has."""
    found: list[int] = []
    judging = Judging(veto=Veto(THRESHOLD))
    with GpuFramePipeline(ring.ring, ring.fixed, judging, images=False, way=Way.LAUNCHES) as pipeline:
        for slot in range(N_SLOTS):
            ring.mark(slot)
            ring.ring.image(slot)[BRIGHT_ROWS] = 0
            pipeline.put(ring.frame(slot))
        while pipeline.pending:
            for done in pipeline.take(10):
                if done.result is None:
                    raise ConfigError(str(done.fault))
                found.append(done.result.counts.peaks)
    return found


def _allocated() -> int:
    """Bytes of the GPU in use, and those of CuPy's pools."""
    free, _ = cupy().cuda.runtime.memGetInfo()
    pool = cupy().get_default_memory_pool()
    return int(pool.used_bytes() + pool.total_bytes() - free)


def overlap(ring: FrameRing, judging: Judging, frames: int = 40) -> float:
    """The share of the kernels' time during which another frame was copied, by events on the GPU."""
    api = driver()
    events: list[Any] = []
    spare = [api.call("make an event", "cuEventCreate", 0) for _ in range(4 * (frames + 8))]
    record = api.bound("time", "cuEventRecord")

    def mark(stream: Any, word: str, lane: int) -> None:
        events.append(spare.pop())
        record(events[-1], stream)

    with GpuFramePipeline(ring.ring, ring.fixed, judging, way=Way.LAUNCHES, mark=mark) as pipeline:
        warm_up = len(events)
        for number in range(frames):
            pipeline.put(ring.frame(number))
        while pipeline.pending:
            pipeline.take(1.0)
        zero, *marked = events[warm_up - 1 :]
        at = [float(api.call("time", "cuEventElapsedTime", zero, event)) for event in marked]
    copies, kernels = list(zip(at[0::4], at[1::4], strict=True)), list(zip(at[2::4], at[3::4], strict=True))
    both = sum(max(0.0, min(end, stop) - max(begin, start)) for begin, end in kernels for start, stop in copies)
    return both / sum(end - begin for begin, end in kernels)
