"""One lane of a GPU: a stream, the kernels for one frame, and memory for its results."""

from typing import Any

import numpy as np

from framelane.receiver.gpu._device import cupy, kernel
from framelane.receiver.gpu.buffers import CountBuffers, SparseBuffers
from framelane.receiver.gpu.driver import driver
from framelane.receiver.gpu.kernels import NO_VERDICT, VerdictPlaces
from framelane.receiver.gpu.ladder import GpuLadder
from framelane.receiver.gpu.launches import Launch, PreparedKernels
from framelane.receiver.gpu.overlapped import can_overlap
from framelane.receiver.gpu.peak_finder import GpuPeakFinder
from framelane.receiver.gpu.pipeline.lane_memory import DONE, JUDGED, RELEASED, WANTED, LaneMemory
from framelane.receiver.pipeline.judging import Judging
from framelane.receiver.pipeline.result import Result

_FAR = 1 << 30
"""Numbers are compared modulo 2**32: so far ahead, all that wait are released."""
NO_TIMING = 0x2
"""CU_EVENT_DISABLE_TIMING."""
_BLOCKS, _THREADS = 8, 256
"""Size of the kernel that hands back: a larger one would take PCIe from the copies that bring the next frames."""
_STATE_WORDS = 8
"""`State` of kernels/reports.cuh, and some that are not used."""
_NULL = np.uintp(0)
_OWNER = 100
"""CU_GPU_DIRECT_RDMA_WRITES_ORDERING_OWNER."""


class Lane:
    """Processes the frame at `raw`, an address for kernels; where that is None, in memory of its own.

    Without `images` no image is handed back. Its frames are numbered from 1 on. With `refill` something is done between
    the kernels and the last of them: no frame is done before.
    """

    def __init__(
        self, kernels: PreparedKernels, judging: Judging, raw: int | None, *, images: bool, refill: bool = False
    ) -> None:
        rows, columns = kernels.shape
        pixels, xp = rows * columns, cupy()
        self._veto = judging.veto
        self.stream = driver().stream()
        self.copied = driver().call("make an event", "cuEventCreate", NO_TIMING)
        """Recorded where the frame has been copied."""
        self.number = 0
        """The newest frame that it was given work for."""
        words = xp.empty((1, rows, columns), np.uint16) if raw is None else _words(raw, kernels.shape)
        counts, state = CountBuffers(1), xp.zeros(_STATE_WORDS, np.uint32)
        every = bool(judging.bragg or judging.rungs)
        image = xp.empty((1, rows, columns), np.int16) if images or every else None
        sparse = SparseBuffers(1, kernels.shape, pixels) if judging.sparse is not None else None
        finder, finding = _finding(judging, image)
        limit = finder.limit if finder else None
        self._host = LaneMemory(
            kernels.shape, images=images, sparse=sparse is not None, rungs=len(judging.rungs), peaks=limit
        )
        self._told, self._report = self._host.told, self._host.report
        ladder = GpuLadder(judging.rungs, image, self._host.ladder_at) if judging.rungs else None
        self._device = (words, counts, state, image, sparse, finder, ladder)
        self.raw = int(words.data.ptr)
        minimum = np.uint32(min(self._veto.minimum, 0xFFFFFFFF))
        places = (np.uintp(state.data.ptr), np.uintp(self._host.report_at), np.uintp(self._host.wanted_at))
        ends = np.uint32(not every and not refill)
        verdict = VerdictPlaces(minimum, *places, ends)
        first = len(kernels.launches)
        with kernels.judging(NO_VERDICT if finder else verdict):
            if every:
                kernels.correct_int16(words, image, counts)
            else:
                kernels.count(words, counts)
        with kernels.judging(verdict):
            if images and not every:
                kernels.correct_int16(words, image)
            if sparse is not None:
                kernels.sparse(words, sparse)
        self._reading = kernels.launches[first:]
        judged, handed = [self._reading[0]], (_NULL, _NULL, np.uint32(0))
        if finder:
            found, table = np.uintp(finder.count.data.ptr), np.uintp(finder.table.data.ptr)
            handed = table, found, np.uint32(finder.limit)
            arguments = (np.uintp(counts.counts.data.ptr), found, minimum, *places)
            judged += [*finding, Launch(kernel("judge", "judge", {}), 1, 1, arguments)]
        self.to_verdict = len(judged)
        """Kernels up to the verdict."""
        given = image if images else None
        self._launches = [
            *judged,
            *(ladder.launches if ladder else ()),
            *self._reading[1:],
            self._handing_back(state, given, sparse, handed, ends),
        ]
        self._wait = driver().bound("wait for a frame", "cuStreamWaitValue32")
        self._wait_flags = _wait_flags()
        released = (np.uintp(self._host.released_at), np.uint32(0))
        self._wait_kernel = Launch(kernel("wait", "wait_for_release", {}), 1, 1, released) if _in_order() else None
        if self._wait_kernel:
            self._wait_kernel(self.stream)  # frame 0 is released: CUDA loads it now, and not while others wait
        xp.cuda.get_current_stream().synchronize()  # its memory has been cleared

    def wait(self, stream: Any) -> None:
        """Queue on a stream: what comes after begins when the newest frame is released."""
        if self._wait_kernel:
            self._wait_kernel.change(1, np.uint32(self.number))
            self._wait_kernel(stream)
        else:
            self._wait(stream, self._host.released_at, self.number, self._wait_flags)

    def use(self, raw: int | None) -> None:
        """Read frames at another address from now on, if one is given."""
        if raw is not None:
            for launch in self._reading:
                launch.use(raw)

    def judge(self, *, early: bool = False) -> None:
        """Queue what it takes to a verdict on one frame."""
        for launch in self._launches[: self.to_verdict]:
            launch(self.stream, early=early)

    def process(self, *, early: bool = False) -> None:
        """Queue what comes after the verdict, except the last kernel."""
        for launch in self._launches[self.to_verdict : -1]:
            launch(self.stream, early=early)

    def hand_back(self, *, early: bool = False) -> None:
        """Queue the last: the results of the frame go to the host."""
        self._launches[-1](self.stream, early=early)

    def want(self, keep: bool) -> None:
        """Whether the newest frame is not to be rejected: to be told before it begins."""
        self._told[WANTED] = self.number if keep else 0

    def release(self) -> None:
        """Let the newest frame begin."""
        self._told[RELEASED] = self.number

    def release_all(self) -> None:
        """Let all begin that waits, or ever will."""
        self._told[RELEASED] = (self.number + _FAR) & 0xFFFFFFFF

    @property
    def judged(self) -> bool:
        """Whether the verdict on the newest frame is there."""
        return bool(self._report[JUDGED] == self.number)

    @property
    def done(self) -> bool:
        """Whether all results of the newest frame are there."""
        return bool(self._report[DONE] == self.number)

    def result(self) -> Result:
        """The results of the newest frame when they are there: views."""
        return self._host.result(self._veto, bool(self._told[WANTED] == self.number))

    def close(self) -> None:
        """Free what nobody else does: when nothing runs any more."""
        driver().call("end a stream", "cuStreamDestroy", self.stream)
        driver().call("end an event", "cuEventDestroy", self.copied)
        self._device = ()  # type: ignore[assignment]

    def _handing_back(
        self,
        state: Any,
        image: Any,
        sparse: SparseBuffers | None,
        peaks: tuple[np.uintp, np.uintp, np.uint32],
        ended: np.uint32,
    ) -> Launch:
        host = self._host
        table, found, limit = peaks
        source = _NULL if image is None else np.uintp(image.data.ptr)
        arguments: list[Any] = [source, np.uintp(host.image_at), np.uint64(host.image.nbytes)]
        if sparse is None:
            arguments += [_NULL, _NULL, np.uint32(0), _NULL, _NULL, _NULL, _NULL]
        else:
            arrays = (sparse.pointers, sparse.columns, sparse.values)
            first, second, third = (np.uintp(array.data.ptr) for array in arrays)
            to_first, to_second, to_third = map(np.uintp, (host.pointers_at, host.columns_at, host.values_at))
            arguments += [first, to_first, np.uint32(sparse.shape[0]), second, to_second, third, to_third]
        arguments += [table, np.uintp(host.peaks_at), found, limit]
        arguments += [np.uintp(state.data.ptr), np.uintp(host.report_at), ended]
        return Launch(kernel("hand_back", "hand_back", {}), _BLOCKS, _THREADS, arguments, early=can_overlap())


def _finding(judging: Judging, image: Any) -> tuple[GpuPeakFinder | None, list[Launch]]:
    """The finder of the Bragg peaks of an image, where they are asked for, and its kernels."""
    launches: list[Launch] = []
    if judging.bragg is None:
        return None, launches
    finder = GpuPeakFinder(
        image.shape[1:],
        judging.bragg,
        judging.panels,
        judging.usable,
        launch=lambda *of_kernel: launches.append(Launch(*of_kernel)),
    )
    finder.queue(image)
    return finder, launches


def _words(address: int, shape: tuple[int, int]) -> Any:
    """The frame at an address, (1, rows, columns)."""
    xp = cupy()
    size = 2 * shape[0] * shape[1]
    memory = xp.cuda.UnownedMemory(address, size, None, xp.cuda.Device().id)
    return xp.ndarray((1, *shape), np.uint16, xp.cuda.MemoryPointer(memory, 0))


def _in_order() -> bool:
    """Whether the GPU itself sees what a NIC has written in its order, so that a kernel can wait for a frame.

    A kernel that waits sees the release sooner than the stream does, which has to flush where the GPU does not.
    """
    return driver().attribute("GPU_DIRECT_RDMA_WRITES_ORDERING") >= _OWNER


def _wait_flags() -> int:
    """Wait until the word has reached the value; then flush what a NIC has written before, where the GPU can."""
    flags = driver().api.CUstreamWaitValue_flags
    flush = driver().attribute("CAN_FLUSH_REMOTE_WRITES")
    return int(flags.CU_STREAM_WAIT_VALUE_GEQ) | (int(flags.CU_STREAM_WAIT_VALUE_FLUSH) if flush else 0)
