"""One lane of a GPU: a stream, the kernels for one frame, and memory for its results."""

from typing import Any

import numpy as np

from framelane.receiver.gpu._device import cupy, kernel
from framelane.receiver.gpu.buffers import CountBuffers, SparseBuffers
from framelane.receiver.gpu.driver import driver
from framelane.receiver.gpu.ladder import GpuLadder
from framelane.receiver.gpu.launches import Launch, PreparedKernels
from framelane.receiver.gpu.peak_finder import GpuPeakFinder
from framelane.receiver.gpu.pipeline.lane_memory import DONE, JUDGED, RELEASED, WANTED, LaneMemory
from framelane.receiver.pipeline.judging import Judging
from framelane.receiver.pipeline.result import Result

_FAR = 1 << 30
"""Numbers are compared modulo 2**32: so far ahead, all that wait are released."""
NO_TIMING = 0x2
"""CU_EVENT_DISABLE_TIMING."""
_BLOCKS, _THREADS = 8, 256
"""Of the kernel that hands back: more of them would take PCIe from the copies that bring the next frames."""
_BRIGHT = 4
"""The place of the bright pixels among the counts."""
_NULL = np.uintp(0)


class Lane:
    """Processes the frame at `raw`, an address for kernels; where that is None, in memory of its own.

    Without `images` no image is handed back. Its frames are numbered from 1 on.
    """

    def __init__(self, kernels: PreparedKernels, judging: Judging, raw: int | None, *, images: bool) -> None:
        rows, columns = kernels.shape
        pixels, xp = rows * columns, cupy()
        self._veto = judging.veto
        self.stream = driver().stream()
        self.copied = driver().call("make an event", "cuEventCreate", NO_TIMING)
        """Recorded where the frame has been copied."""
        self.number = 0
        """Of the newest frame that it was given work for."""
        words = xp.empty((1, rows, columns), np.uint16) if raw is None else _words(raw, kernels.shape)
        counts, state = CountBuffers(1), xp.zeros(4, np.uint32)
        shown = images or judging.bragg or judging.rungs
        image = xp.empty((1, rows, columns), np.int16) if shown else None
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
        self._reading = _reading(kernels, words, counts, image, sparse)
        found = np.uintp(counts.counts.data.ptr + counts.counts.itemsize * _BRIGHT)
        table = _NULL
        if finder:
            found, table = np.uintp(finder.count.data.ptr), np.uintp(finder.table.data.ptr)
        judged = [self._reading[0], *finding, self._judging(counts, found, state)]
        self._to_verdict = len(judged)
        given = image if images else None
        self._launches = [
            *judged,
            *(ladder.launches if ladder else ()),
            *self._reading[1:],
            self._handing_back(state, given, sparse, (table, found, np.uint32(limit or 0))),
        ]
        self._wait = driver().bound("wait for a frame", "cuStreamWaitValue32")
        self._wait_flags = _wait_flags()
        xp.cuda.get_current_stream().synchronize()  # its memory has been cleared

    def wait(self, stream: Any) -> None:
        """Queue on a stream: what comes after begins when the newest frame is released."""
        self._wait(stream, self._host.released_at, self.number, self._wait_flags)

    def process(self, raw: int | None = None) -> None:
        """Queue the kernels for one frame, all but the last; `raw` is another place for it."""
        if raw is not None:
            for launch in self._reading:
                launch.use(raw)
        for launch in self._launches[:-1]:
            launch(self.stream)

    def hand_back(self) -> None:
        """Queue the last: the results of the frame go to the host."""
        self._launches[-1](self.stream)

    def judge_only(self, raw: int) -> None:
        """Queue what it takes to a verdict on a frame at `raw`, and no more."""
        self._reading[0].use(raw)
        for launch in self._launches[: self._to_verdict]:
            launch(self.stream)

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

    def _judging(self, counts: CountBuffers, found: np.uintp, state: Any) -> Launch:
        minimum = np.uint32(min(self._veto.minimum, 0xFFFFFFFF))
        places = (np.uintp(state.data.ptr), np.uintp(self._host.report_at), np.uintp(self._host.wanted_at))
        arguments = (np.uintp(counts.counts.data.ptr), found, minimum, *places)
        return Launch(kernel("judge", "judge", {}), 1, 1, arguments)

    def _handing_back(
        self, state: Any, image: Any, sparse: SparseBuffers | None, peaks: tuple[np.uintp, np.uintp, np.uint32]
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
        arguments += [np.uintp(state.data.ptr), np.uintp(host.report_at)]
        return Launch(kernel("hand_back", "hand_back", {}), _BLOCKS, _THREADS, arguments)


def _reading(kernels: PreparedKernels, words: Any, counts: CountBuffers, image: Any, sparse: Any) -> list[Launch]:
    """The kernels that read the frame: counts with its image or without, and sparse rows."""
    before = len(kernels.launches)
    if image is None:
        kernels.count(words, counts)
    else:
        kernels.correct_int16(words, image, counts)
    if sparse is not None:
        kernels.sparse(words, sparse)
    return kernels.launches[before:]


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


def _wait_flags() -> int:
    """Wait until the word has reached the value; then flush what a NIC has written before, where the GPU can."""
    flags = driver().api.CUstreamWaitValue_flags
    flush = driver().attribute("CAN_FLUSH_REMOTE_WRITES")
    return int(flags.CU_STREAM_WAIT_VALUE_GEQ) | (int(flags.CU_STREAM_WAIT_VALUE_FLUSH) if flush else 0)
