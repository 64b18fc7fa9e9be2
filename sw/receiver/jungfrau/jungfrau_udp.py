"""Frames of a JUNGFRAU from the packets of its modules, whatever became of these on their way."""

from collections.abc import Generator, Iterator

import numpy as np
from numpy.typing import NDArray

from framelane.models.errors import ConfigError
from framelane.models.jf_packet import (
    HEADER,
    MODULE_COLUMNS,
    PACKET_WORDS,
    PACKETS,
    JfHeader,
    check_interfaces,
)
from framelane.models.slots import HOLE_WORD
from framelane.receiver.jungfrau._packet_kernel import place
from framelane.receiver.jungfrau.detector_frame import DetectorFrame, FrameCounts
from framelane.receiver.jungfrau.packet_batch import PacketBatch
from framelane.receiver.jungfrau.packet_fate import Fate

MOST_MODULES = 64
REACH = 100_000
"""Frames. A frame number further than this from the last one begins a new acquisition, and is no loss."""


class FrameAssembler:
    """Puts the packets of `modules` modules together; at most `open_frames` frames are under way at a time.

    Frames come out in the order of their numbers, each once: when it is whole, or when a newer one needs its place. A
    number further than `REACH` from the last one begins a new acquisition; so does one that is not newer than what was
    handed out, after `flush`, or when a frame's worth of such packets has come in a row.
    """

    def __init__(self, modules: int, interfaces: int = 1, open_frames: int = 4) -> None:
        check_interfaces(interfaces)
        if not (1 <= modules <= MOST_MODULES and open_frames >= 1):
            raise ConfigError(f"{modules} modules, {open_frames} open frames cannot be: 1 to {MOST_MODULES}, 1 or more")
        shape = (open_frames, modules, PACKETS)
        self._interfaces = interfaces
        self._numbers = np.zeros(open_frames, np.uint64)
        self._is_open = np.zeros(open_frames, np.bool_)
        self._missing = np.zeros(open_frames, np.int64)
        self._placed = np.zeros(shape, np.bool_)
        self._infos = np.zeros((open_frames, modules * interfaces), HEADER)
        self._words = np.empty((*shape, PACKET_WORDS), np.uint16)
        self._guarded = np.zeros(open_frames, np.int64)
        self._fates = np.zeros(len(Fate), np.int64)
        self._counts = FrameCounts()
        self._previous: int | None = None
        self._closed: int | None = None
        self._late, self._placed_before = 0, 0
        self._place(PacketBatch(), 0)  # compiles, before packets queue up

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
                at += yield from self._admit(int(batch.headers[at]["frame_number"]))

    def flush(self) -> Iterator[DetectorFrame]:
        """Hand out what is under way. What comes next may have any number."""
        while (slot := self._oldest()) is not None:
            yield self._hand_out(slot)
        self._closed = None

    def _place(self, batch: PacketBatch, first: int) -> tuple[int, int]:
        n = batch.n
        packets = batch.packets[:n], batch.headers[:n], batch.sizes[:n], batch.streams[:n]
        slots = self._numbers, self._is_open, self._missing, self._placed, self._infos, self._words, self._guarded
        stopped: tuple[int, int] = place(*packets, first, self._interfaces, *slots, self._fates)
        return stopped

    def _admit(self, number: int) -> Generator[DetectorFrame, None, bool]:
        """Make room for a frame; whether its packet is to be skipped instead, since it is late."""
        oldest = self._oldest()
        full = bool(self._is_open.all())
        known = [n for n in (self._closed, *self._numbers[self._is_open].tolist()) if n is not None]
        if known and abs(number - max(known)) > REACH:
            yield from self.flush()
        elif (self._closed is not None and number <= self._closed) or (full and number < self._numbers[oldest]):
            if self._is_straggler():
                self._fates[Fate.LATE] += 1
                return True
            yield from self.flush()
        elif full and oldest is not None:
            yield self._hand_out(oldest)
        self._open(number)
        return False

    def _is_straggler(self) -> bool:
        """Whether a late packet is one of a few; else they are all of a new acquisition."""
        placed = int(self._fates[Fate.PLACED])
        self._late = 1 if placed > self._placed_before else self._late + 1
        self._placed_before = placed
        return self._late <= int(self._placed[0].size)

    def _open(self, number: int) -> None:
        slot = int(self._is_open.argmin())
        self._numbers[slot], self._is_open[slot] = number, True
        self._missing[slot], self._guarded[slot] = self._placed[slot].size, 0
        self._placed[slot], self._infos[slot] = False, np.zeros((), HEADER)

    def _oldest(self) -> int | None:
        """The slot of the open frame with the smallest number."""
        slots = np.flatnonzero(self._is_open)
        return int(slots[self._numbers[slots].argmin()]) if slots.size else None

    def _hand_out(self, slot: int) -> DetectorFrame:
        """Close a frame: what did not come becomes holes."""
        placed, words = self._placed[slot], self._words[slot]
        words[~placed] = HOLE_WORD
        infos = self._infos[slot].reshape(len(placed), self._interfaces)
        frame = DetectorFrame(
            int(self._numbers[slot]),
            words.reshape(-1, MODULE_COLUMNS),
            placed.sum(1, dtype=np.uint16),
            tuple(map(_first, infos)),
            int(self._guarded[slot]),
        )
        self._is_open[slot] = False
        self._closed = frame.number
        self._count(frame)
        return frame

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


def _first(infos: NDArray[np.void]) -> JfHeader | None:
    """The header of the first interface that sent anything."""
    return next((JfHeader(*info.item()) for info in infos if info["version"]), None)
