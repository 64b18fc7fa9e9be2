"""Frames of a JUNGFRAU from the packets of its modules, whatever became of these on their way."""

from collections.abc import Generator, Iterator

import numpy as np
from numpy.typing import NDArray

from framelane.base.errors import ConfigError
from framelane.models.jungfrau.jf_packet import (
    HEADER,
    MODULE_COLUMNS,
    MODULE_ROWS,
    JfHeader,
    check_interfaces,
)
from framelane.models.placement.slots import HOLE_WORD
from framelane.packets.detector_file import JUNGFRAU, shipped
from framelane.receiver.detector.detector_transport import REACH
from framelane.receiver.detector.packet_batch import PacketBatch
from framelane.receiver.detector.packet_fate import Fate
from framelane.receiver.jungfrau._packet_kernel import place
from framelane.receiver.jungfrau.detector_frame import DetectorFrame, FrameCounts
from framelane.receiver.jungfrau.packet_units import MANY, UNIT_ROWS, UNIT_WORDS
from framelane.receiver.jungfrau.stream_owners import StreamOwners

MOST_MODULES = 64


class _Refused:
    """The packets in a row that were refused for their frame numbers."""

    def __init__(self) -> None:
        self._number, self._placed, self._n = 0, 0, 0

    def is_run(self, number: int, placed: int, most: int) -> bool:
        """Count one, when `placed` packets were placed; whether there are more than `most` with numbers like it."""
        follows = placed == self._placed and abs(number - self._number) <= REACH
        self._number, self._placed, self._n = number, placed, self._n + 1 if follows else 1
        return self._n > most


class FrameAssembler:
    """Puts the packets of `modules` modules together; at most `open_frames` frames are under way at a time.

    Frames come out in the order of their numbers, each once: when it is whole, or when a newer one needs its place. A
    number that is not newer than what was handed out, or further than `REACH` from it, begins a new acquisition after
    `flush`, or when a frame's worth of such packets has come in a row; else the packet is refused. What `flush` handed
    out is not opened again by the packets it lacked. A stream belongs to the module whose share of a frame was the
    first to come whole there.
    """

    def __init__(self, modules: int, interfaces: int = 1, open_frames: int = 4) -> None:
        check_interfaces(interfaces)
        if not (1 <= modules <= MOST_MODULES and open_frames >= 1):
            raise ConfigError(f"{modules} modules, {open_frames} open frames cannot be: 1 to {MOST_MODULES}, 1 or more")
        units = MODULE_ROWS // UNIT_ROWS
        self._interfaces = interfaces
        self._numbers = np.zeros(open_frames, np.uint64)
        self._is_open = np.zeros(open_frames, np.bool_)
        self._missing = np.zeros(open_frames, np.int64)
        self._placed = np.zeros((open_frames, modules, units), np.bool_)
        self._came = np.zeros((open_frames, modules * interfaces), np.int64)
        self._infos = np.zeros((open_frames, modules * interfaces), HEADER)
        self._words = np.empty((open_frames, modules, units * UNIT_WORDS), np.uint16)
        self._guarded = np.zeros(open_frames, np.int64)
        self._fates = np.zeros(len(Fate), np.int64)
        self._counts = FrameCounts()
        self._previous: int | None = None
        self._closed: int | None = None
        self._flushed: set[int] = set()
        self._refused = _Refused()
        self._streams = StreamOwners(modules * interfaces)
        self._place(PacketBatch(shipped(JUNGFRAU)), 0)  # compiles, before packets queue up

    @property
    def counts(self) -> FrameCounts:
        """What became of everything so far."""
        self._counts.fates = {fate: int(self._fates[fate]) for fate in Fate}
        return self._counts

    def add(self, batch: PacketBatch) -> Iterator[DetectorFrame]:
        """Place the packets of a batch; the frames that become whole, or have to make room."""
        at = 0
        while at < batch.n:
            at, whole = self._place(batch, at)
            if whole >= 0:
                while (slot := self._oldest()) is not None and not self._missing[slot]:
                    yield self._hand_out(slot)
            elif at < batch.n:
                units = 2 if batch.sizes[at] == MANY else 1
                at += yield from self._admit(int(headers_of(batch)[at]["frame_number"]), self._placed[0].size // units)

    def flush(self) -> Iterator[DetectorFrame]:
        """Hand out what is under way. What comes next may have any number."""
        if self._is_open.any():
            self._flushed = set(self._numbers[self._is_open].tolist())
        while (slot := self._oldest()) is not None:
            yield self._hand_out(slot)
        self._closed = None

    def _place(self, batch: PacketBatch, first: int) -> tuple[int, int]:
        n = batch.n
        packets = batch.words[:n], headers_of(batch)[:n], batch.sizes[:n], batch.streams[:n]
        frames = self._numbers, self._is_open, self._missing, self._placed, self._came
        slots = *frames, self._infos, self._words, self._guarded
        stopped: tuple[int, int] = place(*packets, first, self._interfaces, self._streams.owners, *slots, self._fates)
        return stopped

    def _admit(self, number: int, most: int) -> Generator[DetectorFrame, None, bool]:
        """Open a frame, of at `most` so many packets, or make room for it; whether its packet is refused instead.

        What makes room may teach whose packets these are: this one is looked at again before its frame is opened.
        """
        oldest = self._oldest()
        full = bool(self._is_open.all())
        known = [n for n in (self._closed, *self._numbers[self._is_open].tolist()) if n is not None]
        is_far = bool(known) and abs(number - max(known)) > REACH
        is_closed = number in self._flushed or (self._closed is not None and number <= self._closed)
        if is_far or is_closed or (full and number < self._numbers[oldest]):
            fate = Fate.NUMBER if is_far else Fate.LATE
            if not self._refused.is_run(number, int(self._fates[Fate.PLACED]), most):
                self._fates[fate] += 1
                return True
            yield from self.flush()
            self._flushed.clear()
        elif full and oldest is not None:
            yield self._hand_out(oldest)
        else:
            self._open(number)
        return False

    def _open(self, number: int) -> None:
        slot = int(self._is_open.argmin())
        self._numbers[slot], self._is_open[slot] = number, True
        self._missing[slot], self._guarded[slot] = self._placed[slot].size, 0
        self._placed[slot], self._came[slot], self._infos[slot] = False, 0, np.zeros((), HEADER)

    def _oldest(self) -> int | None:
        """The slot of the open frame with the smallest number."""
        slots = np.flatnonzero(self._is_open)
        return int(slots[self._numbers[slots].argmin()]) if slots.size else None

    def _hand_out(self, slot: int) -> DetectorFrame:
        """Close a frame: what did not come becomes holes."""
        placed, words = self._placed[slot], self._words[slot]
        words.reshape(*placed.shape, UNIT_WORDS)[~placed] = HOLE_WORD
        infos = self._infos[slot].reshape(len(placed), self._interfaces)
        frame = DetectorFrame(
            int(self._numbers[slot]),
            words.reshape(-1, MODULE_COLUMNS),
            self._came[slot].reshape(len(placed), -1).sum(1, dtype=np.uint16),
            tuple(map(_first, infos)),
            int(self._guarded[slot]),
            placed.sum(1, dtype=np.uint16),
        )
        self._is_open[slot] = False
        self._closed = frame.number
        if frame.complete:
            self._flushed.clear()
        if self._streams.learn(placed, self._infos[slot]):
            self._refuse_foreign_packets()
        self._count(frame)
        return frame

    def _refuse_foreign_packets(self) -> None:
        """Take what is not of a stream's owner out of the frames that are under way."""
        for slot in np.flatnonzero(self._is_open):
            foreign = self._streams.foreign(self._infos[slot])
            placed = self._placed[slot].reshape(foreign.size, -1)
            n = int(self._came[slot][foreign].sum())
            self._missing[slot] += int(placed[foreign].sum())
            placed[foreign], self._came[slot][foreign] = False, 0
            self._infos[slot][foreign] = np.zeros((), HEADER)
            self._fates[Fate.PLACED] -= n
            self._fates[Fate.MODULE] += n
            self._is_open[slot] = bool(placed.any())

    def _count(self, frame: DetectorFrame) -> None:
        counts = self._counts
        counts.complete += frame.complete
        counts.incomplete += not frame.complete
        counts.holes += frame.holes
        counts.guarded += frame.guarded
        if self._previous is not None:
            gap = frame.number - self._previous - 1
            if 0 <= gap < REACH:
                counts.missing += gap
            else:
                counts.restarts += 1
        self._previous = frame.number


def headers_of(batch: PacketBatch) -> NDArray[np.void]:
    """The headers of a batch, `HEADER`, also where packets are shorter."""
    headers: NDArray[np.void] = batch.octets[:, : HEADER.itemsize].view(HEADER)[:, 0]
    return headers


def _first(infos: NDArray[np.void]) -> JfHeader | None:
    """The header of the first interface that sent anything."""
    return next((JfHeader(*info.item()) for info in infos if info["version"]), None)
