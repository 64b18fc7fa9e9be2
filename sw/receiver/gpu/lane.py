"""One lane of a GPU: a stream, the kernels for one frame, and memory for its results."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from framelane.receiver.gpu._device import cupy, kernel
from framelane.receiver.gpu.buffers import CountBuffers, SparseBuffers
from framelane.receiver.gpu.driver import driver
from framelane.receiver.gpu.launches import Launch, PreparedKernels
from framelane.receiver.gpu.pinned_buffer import PinnedBuffer
from framelane.receiver.result import Counts, Result, SparseRows
from framelane.receiver.veto import Veto

_RELEASED, _WANTED = 0, 1
"""Words that the host writes: the number of the newest frame that may begin, and of one that is kept."""
_JUDGED, _DONE = 5, 6
"""Words of `Report` of kernels/reports.cuh, behind the counts."""
_FAR = 1 << 30
"""Numbers are compared modulo 2**32: so far ahead, all that wait are released."""
_NO_TIMING = 0x2
"""CU_EVENT_DISABLE_TIMING."""
_BLOCKS, _THREADS = 8, 256
"""Of the kernel that hands back: more of them would take PCIe from the copies that bring the next frames."""


@dataclass(frozen=True, slots=True)
class LaneSettings:
    """What becomes of a frame: sparse rows, and whole images."""

    veto: Veto
    sparse: bool
    images: bool


class Lane:
    """Processes the frame at `raw`, an address for kernels; where that is None, in memory of its own.

    Its frames are numbered from 1 on.
    """

    def __init__(self, kernels: PreparedKernels, settings: LaneSettings, raw: int | None) -> None:
        rows, columns = kernels.shape
        pixels, xp = rows * columns, cupy()
        self._settings = settings
        self.stream = driver().stream()
        self.copied = driver().call("make an event", "cuEventCreate", _NO_TIMING)
        """Recorded where the frame has been copied."""
        self.number = 0
        """Of the newest frame that it was given work for."""
        sparse_sizes = (8 * (rows + 1), 4 * pixels, 2 * pixels) if settings.sparse else (0, 0, 0)
        self._pinned = PinnedBuffer(8, 32, 2 * pixels * settings.images, *sparse_sizes)
        told, report, image, *rows_of = self._pinned.arrays
        self._told, self._report = told.view(np.uint32), report.view(np.uint32)
        self._image = image.view(np.int16).reshape(-1, columns)
        self._rows = SparseRows(rows_of[0].view(np.int64), rows_of[1].view(np.int32), rows_of[2].view(np.int16))

        words = xp.empty((1, rows, columns), np.uint16) if raw is None else _words(raw, kernels.shape)
        counts, state = CountBuffers(1), xp.zeros(4, np.uint32)
        result = xp.empty((1, rows, columns), np.int16) if settings.images else None
        sparse = SparseBuffers(1, kernels.shape, pixels) if settings.sparse else None
        self._device = (words, counts, state, result, sparse)
        self.raw = int(words.data.ptr)
        self._reading = _reading(kernels, words, counts, result, sparse)
        self._launches = [
            self._reading[0],
            self._judging(counts, state),
            *self._reading[1:],
            self._handing_back(state, result, sparse),
        ]
        self._wait = driver().bound("wait for a frame", "cuStreamWaitValue32")
        self._wait_flags = _wait_flags()
        xp.cuda.get_current_stream().synchronize()  # its memory has been cleared

    def wait(self, stream: Any) -> None:
        """Queue on a stream: what comes after begins when the newest frame is released."""
        self._wait(stream, self._pinned.addresses[0], self.number, self._wait_flags)

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
        for launch in self._launches[:2]:
            launch(self.stream)

    def want(self, keep: bool) -> None:
        """Whether the newest frame is not to be rejected: to be told before it begins."""
        self._told[_WANTED] = self.number if keep else 0

    def release(self) -> None:
        """Let the newest frame begin."""
        self._told[_RELEASED] = self.number

    def release_all(self) -> None:
        """Let all begin that waits, or ever will."""
        self._told[_RELEASED] = (self.number + _FAR) & 0xFFFFFFFF

    @property
    def judged(self) -> bool:
        """Whether the verdict on the newest frame is there."""
        return bool(self._report[_JUDGED] == self.number)

    @property
    def done(self) -> bool:
        """Whether all results of the newest frame are there."""
        return bool(self._report[_DONE] == self.number)

    def result(self) -> Result:
        """The results of the newest frame when they are there: views."""
        counts = Counts(*self._report[:_JUDGED].tolist())
        keep = bool(self._told[_WANTED] == self.number)
        verdict = self._settings.veto.judge(counts.peaks, counts.holes, keep)
        rows, sparse = self._rows, None
        if self._settings.sparse and verdict.accepted:
            found = rows.pointers[-1]
            sparse = SparseRows(rows.pointers, rows.columns[:found], rows.values[:found])
        return Result(self._image if verdict.accepted else self._image[:0], counts, verdict, sparse)

    def close(self) -> None:
        """Free all memory: when nothing runs any more, and nobody looks at a result."""
        self._pinned.close()
        driver().call("end a stream", "cuStreamDestroy", self.stream)
        driver().call("end an event", "cuEventDestroy", self.copied)
        self._device = ()  # type: ignore[assignment]

    def _judging(self, counts: CountBuffers, state: Any) -> Launch:
        told, report = self._pinned.addresses[:2]
        minimum = np.uint32(min(self._settings.veto.minimum, 0xFFFFFFFF))
        places = (np.uintp(state.data.ptr), np.uintp(report), np.uintp(told + 4 * _WANTED))
        arguments = (np.uintp(counts.counts.data.ptr), minimum, *places)
        return Launch(kernel("judge", "judge", {}), 1, 1, arguments)

    def _handing_back(self, state: Any, result: Any, sparse: SparseBuffers | None) -> Launch:
        _, report, image, pointers, columns, values = map(np.uintp, self._pinned.addresses)
        null = np.uintp(0)
        arguments: list[Any] = [
            null if result is None else np.uintp(result.data.ptr),
            image,
            np.uint64(self._image.nbytes),
        ]
        if sparse is None:
            arguments += [null, null, np.uint32(0), null, null, null, null]
        else:
            arrays = (sparse.pointers, sparse.columns, sparse.values)
            first, second, third = (np.uintp(array.data.ptr) for array in arrays)
            arguments += [first, pointers, np.uint32(sparse.shape[0]), second, columns, third, values]
        arguments += [np.uintp(state.data.ptr), report]
        return Launch(kernel("hand_back", "hand_back", {}), _BLOCKS, _THREADS, arguments)


def _reading(kernels: PreparedKernels, words: Any, counts: CountBuffers, result: Any, sparse: Any) -> list[Launch]:
    """The kernels that read the frame: counts with its image or without, and sparse rows."""
    before = len(kernels.launches)
    if result is None:
        kernels.count(words, counts)
    else:
        kernels.correct_int16(words, result, counts)
    if sparse is not None:
        kernels.sparse(words, sparse)
    return kernels.launches[before:]


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
