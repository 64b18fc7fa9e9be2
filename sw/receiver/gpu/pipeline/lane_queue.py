"""Which frame goes to which lane of a GPU, and in which order the lanes end.

A lane processes one frame at a time; the lanes take turns. Where work is queued ahead, a lane has its work
before its frame is there: for the next slot of the ring, since frame n goes to slot n modulo their number. A frame that
never comes (its source has dropped it) leaves such a lane with a slot that nobody asks for: it is released all the
same, as void, and what it makes of the slot is thrown away. So are all that wait when a dark frame comes: what they
have been given knows nothing of what is learned from it.
"""

import collections
import select
import threading
import time
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from framelane.receiver.gpu.gpu_error import GpuError
from framelane.receiver.gpu.pipeline.learning import Dark
from framelane.receiver.ring.receiver import ReceivedFrame

SPIN_S = 1e-4
"""How long the lanes are asked and nothing else is done, in seconds; then other threads may run,"""
YIELD_S = 1e-3
"""for so long; then there is a pause each time,"""
PAUSE_S = 1e-4
"""of so many seconds."""
WATCH_S = 0.05
"""How often the GPU is asked whether it still works, in seconds."""


class Lanes(Protocol):
    """The lanes of one GPU. Where a call raises GpuError none of them can be used any more."""

    count: int

    def queue(self, lane: int, slot: int, keep: bool | None, dark: Dark | None = None) -> None:
        """Give a lane that is free the work for a slot, at once, or where `keep` is None when it is released.

        A dark frame is learned from: after the lanes that were given their work before, and before those given later.
        """

    def release(self, lane: int, keep: bool) -> None:
        """Let a lane begin: a store to memory, no more. With `keep` the frame is not rejected."""

    def done(self, lane: int) -> bool:
        """Whether the last work that the lane was given has ended."""

    def check(self) -> None:
        """Ask the GPU whether it still works."""


@dataclass(slots=True)
class Finished:
    """A frame and the lane that has its result, valid until the next call; or why there is none."""

    frame: ReceivedFrame
    lane: int | None
    fault: str | None = None
    dark: Dark | None = None


class _Put(NamedTuple):
    """What the caller has put."""

    frame: ReceivedFrame
    keep: bool
    dark: Dark | None


@dataclass(slots=True)
class _Work:
    lane: int
    slot: int
    frame: ReceivedFrame | None = None
    """None before it is there, and for void work."""
    dark: Dark | None = None


class LaneQueue:
    """Frames in, lanes with their results out. With `ahead` work is queued before its frame is there.

    A lane that has not ended `patience_s` after it could begin is taken to hang: the queue has a `fault` then, as after
    a GpuError, and all frames whose results are not there come back with it.
    """

    def __init__(self, lanes: Lanes, n_slots: int, first_slot: int, ahead: bool, patience_s: float) -> None:
        self.fault: str | None = None
        self._lanes = lanes
        self._n_slots = n_slots
        self._next_slot = first_slot
        self._next_lane = 0
        self._queues_ahead = ahead
        self._patience_s = patience_s
        self._waiting: collections.deque[_Put] = collections.deque()
        """Frames for which there is no lane yet."""
        self._ahead: collections.deque[_Work] = collections.deque()
        self._running: collections.deque[_Work] = collections.deque()
        self._held = 0
        """Lanes whose results are in use."""
        self._since = self._watched = time.monotonic()
        """When the oldest running lane could begin, and when the GPU was asked."""
        self._lock = threading.RLock()
        """Keeps `void_ahead`, which another thread may call, from all others."""
        self._fill()

    @property
    def pending(self) -> int:
        """Frames that were put and have not been taken."""
        return len(self._waiting) + sum(work.frame is not None for work in self._running)

    def put(self, frame: ReceivedFrame, keep: bool, dark: Dark | None = None) -> None:
        """Begin with a frame as soon as a lane is free."""
        with self._lock:
            if self._is_next(frame, dark) and not self._waiting and self.fault is None:
                self._release(frame, keep)  # before all else: somebody waits for its verdict
                return
            self._waiting.append(_Put(frame, keep, dark))
            self._fill()

    def take(self, timeout_s: float) -> list[Finished]:
        """The frames that are done, oldest first; waits at most `timeout_s` seconds for the first."""
        self._held = 0
        begin = now = time.monotonic()
        while True:
            with self._lock:
                found = self._collect()
                if not found or not (self._ahead or (self._running and not self._queues_ahead)):
                    self._fill()  # else results come first: there is work for the GPU
            if found or self.fault is not None or not self.pending:
                break
            if now - self._watched > WATCH_S:
                self._watch(now)
            if now - begin >= timeout_s:
                break
            if now - begin > YIELD_S:
                time.sleep(PAUSE_S)
            elif now - begin > SPIN_S:
                select.select((), (), (), 0)  # other threads may run; a sleep of 0 s is one of 50 us
            now = time.monotonic()
        return found if self.fault is None else found + self._give_up()

    def void_ahead(self) -> None:
        """Let all lanes that wait begin, for no frame: whoever waits for the whole GPU can go on."""
        with self._lock:
            while self._ahead:
                self._release(None, False)

    def end(self, fault: str) -> None:
        """Give the lanes no more work; the first reason stays."""
        self.fault = self.fault or fault
        self._ahead.clear()

    def close(self, fault: str) -> None:
        """Use the lanes no more: what is pending is lost, what is put later has this fault."""
        self.end(fault)
        self._running.clear()
        self._waiting.clear()

    def _free_lane(self) -> bool:
        return self._held + len(self._running) + len(self._ahead) < self._lanes.count

    def _is_next(self, frame: ReceivedFrame, dark: Dark | None) -> bool:
        """Whether the oldest lane that waits has been given the work for this frame."""
        return bool(self._ahead) and self._ahead[0].slot == frame.slot and dark is None

    def _fill(self) -> None:
        """Give every free lane work, as long as there is any."""
        if self.fault is not None:
            return
        try:
            while self._waiting:
                frame, keep, dark = self._waiting[0]
                if self._ahead:
                    self._release(frame, keep) if self._is_next(frame, dark) else self._release(None, False)
                elif self._free_lane():
                    self._queue(frame.slot, self._waiting[0])
                else:
                    return
                if self._running[-1].frame is frame:
                    self._waiting.popleft()
            while self._queues_ahead and self._free_lane():
                self._queue(self._next_slot, None)
        except GpuError as error:
            self.end(str(error))

    def _queue(self, slot: int, put: _Put | None) -> None:
        """Give the next lane the work for a frame, or ahead for a slot."""
        work = _Work(self._next_lane, slot)
        if put is None:
            self._lanes.queue(work.lane, slot, None)
            self._ahead.append(work)
        else:
            self._lanes.queue(work.lane, slot, put.keep, put.dark)
            work.frame, work.dark = put.frame, put.dark
            self._begun(work)
        self._next_lane = (work.lane + 1) % self._lanes.count
        self._next_slot = (slot + 1) % self._n_slots

    def _release(self, frame: ReceivedFrame | None, keep: bool) -> None:
        """Let the oldest lane that has its work ahead begin, for this frame, or void."""
        work = self._ahead[0]
        self._lanes.release(work.lane, keep)
        self._ahead.popleft()
        work.frame = frame
        self._begun(work)

    def _begun(self, work: _Work) -> None:
        if not self._running:
            self._since = time.monotonic()
        self._running.append(work)

    def _collect(self) -> list[Finished]:
        found: list[Finished] = []
        while self._running and self._lanes.done(self._running[0].lane):
            work = self._running.popleft()
            self._since = time.monotonic()
            if work.frame is not None:
                found.append(Finished(work.frame, work.lane, None, work.dark))
            self._held += bool(found)  # void lanes before the first result are free at once
        return found

    def _watch(self, now: float) -> None:
        """Notice a GPU that has failed, or has not ended in time."""
        self._watched = now
        try:
            self._lanes.check()
        except GpuError as error:
            self.end(str(error))
            return
        if self._running and now - self._since > self._patience_s:
            frame = self._running[0].frame
            what = f"frame {frame.number}" if frame else f"slot {self._running[0].slot}"
            self.end(f"the GPU has not ended {what} within {self._patience_s:g} s: see `nvidia-smi` and `dmesg`")

    def _give_up(self) -> list[Finished]:
        """All that is pending: results that are there, and the fault for the others."""
        found = []
        for work in self._running:
            if work.frame is not None:
                lane = work.lane if self._lanes.done(work.lane) else None
                found.append(Finished(work.frame, lane, None if lane is not None else self.fault, work.dark))
        found += [Finished(put.frame, None, self.fault) for put in self._waiting]
        self._running.clear()
        self._waiting.clear()
        return found
