"""How long after a frame is there its verdict is on the host, for each way to make the GPU begin."""

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from framelane.bench.gpu.gpu_pipeline_frames import DARK_AT, N_SLOTS, FrameRing
from framelane.receiver.gpu._device import cupy
from framelane.receiver.gpu.driver import driver
from framelane.receiver.gpu.launches import Launch, PreparedKernels
from framelane.receiver.gpu.pinned_buffer import PinnedBuffer
from framelane.receiver.gpu.pipeline.frame_pipeline import GpuFramePipeline
from framelane.receiver.gpu.pipeline.gpu_lanes import Way
from framelane.receiver.gpu.pipeline.learning import Learning
from framelane.receiver.pedestal.pedestal_tracker import PedestalTracker
from framelane.receiver.pipeline.judging import Judging

FRAMES = 1000
_WARM_UP = 50
_KERNELS_A_GRAPH = 64

_BARE = """
extern "C" __global__ void bare(unsigned *number, volatile unsigned *report) {
    *report = ++*number;
}
"""


@dataclass(frozen=True, slots=True)
class Latency:
    """Microseconds, of many frames."""

    median: float
    p99: float

    @classmethod
    def of(cls, times_ns: list[int]) -> "Latency":
        """The latency by measured nanoseconds."""
        times = sorted(times_ns)
        return cls(statistics.median(times) / 1e3, times[len(times) * 99 // 100] / 1e3)


def bare(released: bool) -> Latency:
    """One thread that stores one word: launched, or released where it waits behind a stream memory operation."""
    api, xp = driver(), cupy()
    words = PinnedBuffer(4, 4)
    flag, report = (array.view(np.uint32) for array in words.arrays)
    number = xp.zeros(1, np.uint32)
    stream = api.stream()
    arguments = (np.uintp(number.data.ptr), np.uintp(words.addresses[1]))
    launch = Launch(xp.RawKernel(_BARE, "bare"), 1, 1, arguments)
    wait = api.bound("wait", "cuStreamWaitValue32", stream, words.addresses[0])
    xp.cuda.get_current_stream().synchronize()
    times = []
    for n in range(1, FRAMES + _WARM_UP + 1):
        if released:
            wait(n, 0)
            launch(stream)
            time.sleep(1e-4)
        begin = time.perf_counter_ns()
        if released:
            flag[0] = n
        else:
            launch(stream)
        while report[0] != n:
            pass
        times.append(time.perf_counter_ns() - begin)
    api.call("end", "cuStreamSynchronize", stream)
    return Latency.of(times[_WARM_UP:])


def verdicts(ring: FrameRing, judging: Judging, way: Way, copies: bool) -> tuple[Latency, Latency]:
    """From `put` to the verdict, and to all results, one frame at a time."""
    judged, whole = [], []
    with GpuFramePipeline(ring.ring, ring.fixed, judging, way=way, copies=copies) as pipeline:
        lanes = pipeline.lanes.lanes
        for number in range(FRAMES + _WARM_UP):
            frame, lane = ring.frame(number), lanes[number % len(lanes)]
            time.sleep(1e-4)
            begin = time.perf_counter_ns()
            pipeline.put(frame)
            while not lane.judged:
                pass
            judged.append(time.perf_counter_ns() - begin)
            pipeline.take(10.0)
            whole.append(time.perf_counter_ns() - begin)
    return Latency.of(judged[_WARM_UP:]), Latency.of(whole[_WARM_UP:])


def kernels_us(ring: FrameRing, judging: Judging, to_verdict: bool = True) -> float:
    """The GPU's own microseconds for a frame that is there, in a graph of many, to its verdict or to its results."""
    with GpuFramePipeline(ring.ring, ring.fixed, judging, way=Way.LAUNCHES, lanes=1, copies=False) as pipeline:
        lane = pipeline.lanes.lanes[0]
        memory: Any = ring.ring.memory
        at = [memory.data.ptr + slot * ring.ring.layout.slot_bytes for slot in range(N_SLOTS)]

        def queue() -> None:
            for number in range(_KERNELS_A_GRAPH):
                lane.use(at[number % N_SLOTS])
                lane.judge()
                if not to_verdict:
                    lane.process(early=True)
                    lane.hand_back(early=True)

        return _graph_us(lane.stream, queue) / _KERNELS_A_GRAPH


def learning_us(ring: FrameRing, tracker: PedestalTracker) -> float:
    """The GPU's own microseconds to learn from a dark frame, `DARK_AT` of a ring on the GPU, and to use what it has."""
    api = driver()
    learning = Learning(tracker, PreparedKernels(ring.fixed, Judging()), ring.fixed.pedestal[0], 1)
    stream = api.stream()
    begin, end = (api.call("make an event", "cuEventCreate", 0) for _ in range(2))
    image: Any = ring.ring.image(DARK_AT)
    times: list[float] = []
    for _ in range(_WARM_UP):
        dark = learning.dark(None)
        api.call("time", "cuEventRecord", begin, stream)
        learning.queue(0, image.data.ptr, dark, stream)
        api.call("time", "cuEventRecord", end, stream)
        api.call("wait", "cuStreamSynchronize", stream)
        times.append(float(api.call("time", "cuEventElapsedTime", begin, end)) * 1e3)
    learning.close()
    return statistics.median(times)


def _graph_us(stream: Any, queue: Callable[[], None]) -> float:
    """The median microseconds of what `queue` queues, as a graph."""
    api = driver()
    mode = api.api.CUstreamCaptureMode.CU_STREAM_CAPTURE_MODE_THREAD_LOCAL
    api.call("begin a graph", "cuStreamBeginCapture", stream, mode)
    queue()
    graph = api.call("make a graph", "cuGraphInstantiate", api.call("end", "cuStreamEndCapture", stream), 0)
    begin, end = (api.call("make an event", "cuEventCreate", 0) for _ in range(2))
    times: list[float] = []
    for _ in range(20):
        api.call("time", "cuEventRecord", begin, stream)
        api.call("launch", "cuGraphLaunch", graph, stream)
        api.call("time", "cuEventRecord", end, stream)
        api.call("wait", "cuStreamSynchronize", stream)
        times.append(float(api.call("time", "cuEventElapsedTime", begin, end)) * 1e3)
    return statistics.median(times)
