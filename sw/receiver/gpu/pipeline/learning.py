"""Dark frames between others on the GPU: the pedestal is learned from them, and others are corrected with it."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from framelane.models.pedestal.jf_pedestal_state import RATE_BITS
from framelane.receiver.gpu._device import cupy, kernel
from framelane.receiver.gpu.driver import driver
from framelane.receiver.gpu.kernels import GpuKernels
from framelane.receiver.gpu.launches import Launch
from framelane.receiver.gpu.pinned_buffer import PinnedBuffer
from framelane.receiver.gpu.pipeline.tracker import CHIP_THREADS, LEVEL_SHIFT, THREADS, GpuPedestalTracker
from framelane.receiver.pedestal.pedestal_tracker import DUE_BITS, MOST_AHEAD, PedestalTracker

_WARP = 32
_THEN_BLOCKS, _WRITTEN = 0, 1
"""Words of `Due` of kernels/pedestal.cu."""
_DUE_WORDS = 4


class Dark(NamedTuple):
    """What a dark frame is to the tracker, in the order in which frames were put."""

    tick: int
    timestamp_ns: int
    """0 where its source does not tell."""
    frames: int
    """Dark frames up to this one."""
    recorded: bool
    """Whether the record gets a row after it."""


class Learning:
    """Learns for `tracker` from the dark frames of `lanes` lanes, as `TrackedPipeline` does, with its state on the GPU.

    After each dark frame `kernels` have the pedestal that was published last: all else that reads it waits meanwhile
    (see `GpuLanes`). It begins with `pedestal`, uint16 (rows, columns) in quarters of an ADU. `tracker` gets the state
    back for each row of its record, and at the end.
    """

    def __init__(self, tracker: PedestalTracker, kernels: GpuKernels, pedestal: NDArray[np.uint16], lanes: int) -> None:
        xp = cupy()
        progress = tracker.progress
        self._tracker, self._kernels = tracker, kernels
        self._gpu = GpuPedestalTracker(tracker.state, tracker.settings, high_gain=tracker.high_gain)
        self._plane = xp.asarray(np.ascontiguousarray(pedestal))
        self._due = xp.asarray(np.array([progress.blocks, progress.written, 0, 0], np.int64))
        level, chips = (self._gpu.arrays[name] for name in ("level", "chips"))
        self._pinned = [PinnedBuffer(8, level.nbytes, chips.nbytes) for _ in range(lanes)]
        """For each lane the tick of its dark frame, and the state for the record."""
        self._takes = [self._taking(of.addresses[0], 1) for of in self._pinned]
        self._put = self._begun = Dark(progress.tick, progress.timestamp_ns, progress.frames, False)
        self._recorded = progress.recorded
        self._to_host = driver().bound("copy the pedestals' state", "cuMemcpyDtoHAsync")
        self._launch_graph = driver().bound("launch a graph", "cuGraphLaunch")
        xp.cuda.get_current_stream().synchronize()
        self._cupy_stream = xp.cuda.Stream(non_blocking=True)
        self._stream = driver().api.CUstream(self._cupy_stream.ptr)
        self._warm_up()
        self._graphs = [self._captured(of.addresses[0]) for of in self._pinned]
        """For each lane what comes after `take_dark`."""

    def dark(self, timestamp_ns: int | None) -> Dark:
        """What the next dark frame is, with its time if it has one: to be asked when it is put."""
        tick = self._tracker.clock.tick(timestamp_ns)
        recorded = tick - self._recorded >= self._tracker.record_ticks
        self._recorded = tick if recorded else self._recorded
        self._put = Dark(tick, timestamp_ns or 0, self._put.frames + 1, recorded)
        return self._put

    def queue(self, lane: int, raw: int, dark: Dark, stream: Any) -> None:
        """Queue on a stream that it is learned from a lane's dark frame, at address `raw`."""
        pinned = self._pinned[lane]
        pinned.arrays[0].view(np.int64)[0] = dark.tick
        self._takes[lane].use(raw)
        self._takes[lane](stream)
        self._launch_graph(self._graphs[lane], stream)
        if dark.recorded:
            for to, name in zip(pinned.arrays[1:], ("level", "chips"), strict=True):
                array = self._gpu.arrays[name]
                self._to_host(to.ctypes.data, array.data.ptr, array.nbytes, stream)
        self._begun = dark

    def collect(self, lane: int, dark: Dark) -> None:
        """Take what a dark frame, whose lane is done, has brought: a row of the record, where one is due."""
        if not dark.recorded:
            return
        _, level, chips = self._pinned[lane].arrays
        state = self._tracker.state
        state.level[:] = level.view(np.int32).reshape(state.level.shape)
        state.chips[:] = chips.view(np.int64).reshape(state.chips.shape)
        self._progress(dark)
        self._tracker.note()

    def finish(self) -> None:
        """Give the tracker all that was learned: when nothing runs any more."""
        for name, array in self._gpu.arrays.items():
            getattr(self._tracker.state, name)[:] = _from_gpu(array)
        self._progress(self._begun)
        due = _from_gpu(self._due)
        progress = self._tracker.progress
        progress.blocks, progress.written = int(due[_THEN_BLOCKS]), int(due[_WRITTEN])

    def close(self) -> None:
        """Free what nobody else does: when nothing runs any more."""
        for graph in self._graphs:
            driver().call("free a graph", "cuGraphExecDestroy", graph)
        self._graphs.clear()
        self._pinned.clear()
        self._gpu.arrays.clear()

    def _progress(self, dark: Dark) -> None:
        progress = self._tracker.progress
        progress.tick, progress.timestamp_ns, progress.frames = dark.tick, dark.timestamp_ns, dark.frames

    def _taking(self, ticks: int, count: int) -> Launch:
        arguments = self._gpu.taking(np.uintp(0), np.int64(0), np.uintp(ticks), count)
        return Launch(kernel("pedestal", "take_dark", {}), len(self._gpu.arrays["chips"]), CHIP_THREADS, arguments)

    def _publishing(self, ticks: int, count: int) -> tuple[Launch, Launch]:
        """Decide whether pedestals are due after so many frames, and write them to the plane."""
        arrays, (rows, columns) = self._gpu.arrays, self._gpu.shape
        level, rate, chips, due, plane = (
            np.uintp(array.data.ptr)
            for array in (arrays["level"], arrays["rate"], arrays["chips"], self._due, self._plane)
        )
        half_due = np.int64(1 << RATE_BITS - DUE_BITS - 1)
        deciding = (chips, np.uint32(len(arrays["chips"])), np.uintp(ticks), np.uint32(count), half_due)
        decide = Launch(kernel("pedestal", "decide", {}), 1, _WARP, (*deciding, np.int64(MOST_AHEAD), due))
        writing = (level, rate, chips, due, np.int32(LEVEL_SHIFT), np.uint32(rows), np.uint32(columns), plane)
        blocks = -(-rows * columns // THREADS)
        return decide, Launch(kernel("pedestal", "publish_due", {}), blocks, THREADS, writing)

    def _publish(self, ticks: int, count: int) -> None:
        """Queue what comes after so many dark frames: the pedestal is written where it is due, and used."""
        for launch in self._publishing(ticks, count):
            launch(self._stream)
        with self._cupy_stream:
            self._kernels.set_pedestal(self._plane)

    def _warm_up(self) -> None:
        """Learn from no frames: what CUDA loads at a first launch must not be loaded later."""
        ticks = self._pinned[0].addresses[0]
        self._taking(ticks, 0)(self._stream)
        self._publish(ticks, 0)
        driver().call("learn from no frame", "cuStreamSynchronize", self._stream)

    def _captured(self, ticks: int) -> Any:
        """What comes after one dark frame, as a graph: its nodes are one call."""
        call, mode = driver().call, driver().api.CUstreamCaptureMode.CU_STREAM_CAPTURE_MODE_THREAD_LOCAL
        call("begin a graph", "cuStreamBeginCapture", self._stream, mode)
        self._publish(ticks, 1)
        graph = call("end a graph", "cuStreamEndCapture", self._stream)
        ready = call("make a graph", "cuGraphInstantiate", graph, 0)
        call("load a graph", "cuGraphUpload", ready, self._stream)
        call("free a graph", "cuGraphDestroy", graph)
        call("load a graph", "cuStreamSynchronize", self._stream)
        return ready


def _from_gpu(array: Any) -> NDArray[Any]:
    """A copy on the host. GpuError where that fails."""
    copy = np.empty(array.shape, array.dtype)
    driver().call("copy what was learned", "cuMemcpyDtoH", copy.ctypes.data, array.data.ptr, copy.nbytes)
    return copy
