"""The lanes of a GPU, and the three ways to make one begin with a frame."""

import atexit
import contextlib
import time
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import numpy as np

from framelane.models.placement.slots import HOLE_WORD
from framelane.receiver.gpu._device import cupy
from framelane.receiver.gpu.driver import driver
from framelane.receiver.gpu.gpu_error import GpuError
from framelane.receiver.gpu.launches import PreparedKernels
from framelane.receiver.gpu.pipeline.lane import NO_TIMING, Lane
from framelane.receiver.gpu.pipeline.learning import Dark, Learning
from framelane.receiver.pipeline.judging import Judging
from framelane.receiver.pipeline.result import Result

CLOSE_S = 3.0
"""How long the GPU may take to end what it has begun, in seconds."""
_WARM_UP_S = 60.0

_abandoned: list[object] = []
"""Lanes that did not end: a GPU may still write to their memory."""


class Way(StrEnum):
    """How a lane is told to begin with a frame."""

    LAUNCHES = "launches"
    """The kernels are launched when the frame is there."""
    GRAPHS = "graphs"
    """So they are, all that come after the verdict as one CUDA graph."""
    WAITS = "waits"
    """So are they queued before, behind one that waits for a store of the host."""


Mark = Callable[[Any, str, int], None]
"""Called with a stream, a word and a lane where a frame's copy and where its kernels begin and end."""


@dataclass(frozen=True, slots=True)
class Slots:
    """The slots of a ring, from `address` on; with `refill` they are filled with holes behind each frame."""

    address: int
    slot_bytes: int
    count: int
    on_host: bool
    refill: bool

    def at(self, slot: int) -> int:
        """Where a slot begins."""
        return self.address + slot * self.slot_bytes


class GpuLanes:
    """`count` lanes for the slots of a ring; without `images` they hand back no image. See `lane_queue.Lanes`.

    With `copies` the copy engine brings each frame to the GPU, else its kernels read the slot where it is. All lanes
    read the same constants: what `learning` does for a dark frame comes after all that was queued before, and before
    all that is queued later.
    """

    def __init__(
        self,
        kernels: PreparedKernels,
        judging: Judging,
        slots: Slots,
        *,
        images: bool,
        way: Way,
        count: int,
        copies: bool,
        mark: Mark | None = None,
        learning: Learning | None = None,
    ) -> None:
        self.count, self.way = count, way
        self._learning = learning
        self._slots = slots
        self._frame_bytes = 2 * kernels.shape[0] * kernels.shape[1]
        self._copies, self._mark = copies, mark
        self._copy = driver().bound("copy a frame", "cuMemcpyHtoDAsync")
        self._record = driver().bound("copy a frame", "cuEventRecord")
        self._wait_for = driver().bound("copy a frame", "cuStreamWaitEvent")
        self._copy_stream = driver().stream()
        self._barrier = driver().call("make an event", "cuEventCreate", NO_TIMING)
        self._kernels_of = kernels  # alive as long as the lanes: launches have addresses of its constants
        self._launch_graph = driver().bound("launch a graph", "cuGraphLaunch")
        unlike = min(1, slots.count - 1)  # where slots do not all begin alike, the first does not tell
        self._refill = self._refiller() if slots.refill else None
        self.lanes: list[Lane] = []
        self._graphs: list[list[Any]] = []
        atexit.register(self.release_all)
        try:
            for _ in range(count):
                raw = None if copies else slots.at(unlike)
                self.lanes.append(Lane(kernels, judging, raw, images=images, refill=slots.refill))
            self._warm_up()
            if way is not Way.LAUNCHES:
                self._graphs = [self._capture(lane) for lane in self.lanes]
        except BaseException:
            self.close()
            raise

    def queue(self, lane: int, slot: int, keep: bool | None, dark: Dark | None = None) -> None:
        """See `Lanes`."""
        each = self.lanes[lane]
        each.number = (each.number + 1) & 0xFFFFFFFF
        if keep is None:
            each.wait(self._copy_stream if self._copies else each.stream)
        else:
            each.want(keep)
        self._issue(lane, slot, dark)

    def release(self, lane: int, keep: bool) -> None:
        """See `Lanes`."""
        each = self.lanes[lane]
        each.want(keep)
        each.release()

    def done(self, lane: int) -> bool:
        """See `Lanes`."""
        return self.lanes[lane].done

    def result(self, lane: int) -> Result:
        """What the lane has made of its frame, when that is done: views, valid until it is given another."""
        return self.lanes[lane].result()

    def check(self) -> None:
        """See `Lanes`."""
        for lane in self.lanes:
            driver().idle(lane.stream)

    def release_all(self) -> None:
        """Let all lanes begin that wait, or ever will: a GPU with a waiting stream hangs at its end."""
        for lane in self.lanes:
            lane.release_all()

    def close(self) -> str | None:
        """End, and free all memory; why not, in a sentence, where the GPU goes on."""
        atexit.unregister(self.release_all)
        self.release_all()
        lanes, self.lanes = self.lanes, []
        all_graphs, self._graphs = self._graphs, []
        learning, self._learning = self._learning, None
        end = time.monotonic() + CLOSE_S
        try:
            while not all(driver().idle(lane.stream) for lane in lanes):
                if time.monotonic() > end:
                    _abandoned.append((lanes, learning, self._kernels_of))
                    return f"the GPU has not ended its work within {CLOSE_S:g} s: its memory is not freed"
                time.sleep(1e-3)
        except GpuError as error:
            _abandoned.append((lanes, learning, self._kernels_of))
            return str(error)
        with contextlib.suppress(GpuError):
            if learning:
                learning.finish()
                learning.close()
            for graph in (graph for graphs in all_graphs for graph in graphs):
                driver().call("free a graph", "cuGraphExecDestroy", graph)
            for lane in lanes:
                lane.close()
            if lanes:
                driver().call("end a stream", "cuStreamDestroy", self._copy_stream)
                driver().call("end an event", "cuEventDestroy", self._barrier)
        return None

    def _issue(self, lane: int, slot: int, dark: Dark | None = None) -> None:
        """Queue the copy and the kernels for a slot. All copies are on one stream: there is no gap between them."""
        each, mark, place = self.lanes[lane], self._mark, self._slots.at(slot)
        if self._copies:
            if mark:
                mark(self._copy_stream, "copy", lane)
            self._copy(each.raw, place, self._frame_bytes, self._copy_stream)
            if mark:
                mark(self._copy_stream, "copied", lane)
            self._record(each.copied, self._copy_stream)
            self._wait_for(each.stream, each.copied, 0)
        if dark and self._learning:
            self._learn(self._learning, lane, each.raw if self._copies else place, dark)
        if mark:
            mark(each.stream, "kernels", lane)
        if self._graphs:
            graphs = self._graphs[lane]
            if each.to_verdict == 1:  # sooner than by a graph
                each.use(None if self._copies else place)
                each.judge(early=self.way is Way.WAITS)
            self._launch_graph(graphs[slot % len(graphs)], each.stream)
        else:
            each.use(None if self._copies else place)
            each.judge()
            self._kernels(each)
        if self._refill:
            self._refill(place, each.stream)
            each.hand_back()
        if mark:
            mark(each.stream, "end", lane)

    def _learn(self, learning: Learning, lane: int, raw: int, dark: Dark) -> None:
        """Queue that it is learned from a lane's frame, while nothing else is done."""
        stream = self.lanes[lane].stream
        others = [other.stream for other in self.lanes if other is not self.lanes[lane]]
        for other in others:
            self._record(self._barrier, other)
            self._wait_for(stream, self._barrier, 0)
        learning.queue(lane, raw, dark, stream)
        self._record(self._barrier, stream)
        for other in others:
            self._wait_for(other, self._barrier, 0)

    def _kernels(self, lane: Lane, *, early: bool = False) -> None:
        """Queue the kernels after the verdict; without the last, where the slot is filled before."""
        lane.process(early=early)
        if not self._refill:
            lane.hand_back(early=early)

    def _refiller(self) -> Callable[..., None]:
        """What queues the filling of a slot, when it is called with its address and a stream."""
        words = self._slots.slot_bytes // 2
        if not self._slots.on_host:
            fill = driver().bound("fill a slot", "cuMemsetD16Async")
            return lambda address, stream: fill(address, HOLE_WORD, words, stream)
        self._holes = cupy().full(words, HOLE_WORD, np.uint16)
        copy, holes = driver().bound("fill a slot", "cuMemcpyDtoHAsync"), self._holes.data.ptr
        return lambda address, stream: copy(address, holes, 2 * words, stream)

    def _warm_up(self) -> None:
        """Process slot 0 once, whatever is there: what CUDA loads at a first launch must not be loaded later."""
        for number, lane in enumerate(self.lanes):
            lane.number = 1
            self._issue(number, 0)
        end = time.monotonic() + _WARM_UP_S
        while not all(lane.done for lane in self.lanes):
            self.check()
            if time.monotonic() > end:
                raise GpuError(f"the GPU has not ended a first frame within {_WARM_UP_S:g} s")
            time.sleep(1e-3)

    def _capture(self, lane: Lane) -> list[Any]:
        """The kernels as a graph, but a single one up to the verdict; for every slot where they read it in place."""
        api, graphs = driver().api, []
        for slot in range(1 if self._copies else self._slots.count):
            mode = api.CUstreamCaptureMode.CU_STREAM_CAPTURE_MODE_THREAD_LOCAL
            driver().call("begin a graph", "cuStreamBeginCapture", lane.stream, mode)
            lane.use(None if self._copies else self._slots.at(slot))
            if lane.to_verdict > 1:
                lane.judge(early=True)
            self._kernels(lane, early=True)
            graph = driver().call("end a graph", "cuStreamEndCapture", lane.stream)
            graphs.append(driver().call("make a graph", "cuGraphInstantiate", graph, 0))
            driver().call("load a graph", "cuGraphUpload", graphs[-1], lane.stream)
            driver().call("free a graph", "cuGraphDestroy", graph)
        return graphs
