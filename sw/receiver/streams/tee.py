"""Which frames go to a stream, and wait for it: what a receiver does for one is a copy of an image, at most."""

import collections
import threading
import time
from dataclasses import dataclass, fields
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from framelane.receiver.gpu.gpu_error import GpuError
from framelane.receiver.live.frame import Frame
from framelane.receiver.streams.stream2_messages import about_frame
from framelane.receiver.streams.stream_options import StreamOptions


@dataclass(slots=True)
class StreamCounts:
    """Frames: each that was offered is one of the others, or still waits."""

    offered: int = 0
    sent: int = 0
    not_wanted: int = 0
    """Frames that the stream's options leave out."""
    dropped: int = 0
    """Wanted, but nobody was there to take them, or not fast enough; or the stream has failed."""
    overwritten: int = 0
    """Their slot was overwritten before they had been sent, where credit is given for ever."""
    bytes: int = 0
    """Bytes of the messages that were sent."""

    @property
    def waiting(self) -> int:
        """How many are on their way."""
        return self.offered - self.sent - self.not_wanted - self.dropped - self.overwritten

    def __add__(self, other: "StreamCounts") -> "StreamCounts":
        return StreamCounts(*(getattr(self, each.name) + getattr(other, each.name) for each in fields(self)))


@dataclass(slots=True, eq=False)
class Waiting:
    """A frame that waits: a copy of its image, None where it was rejected, and what is told of it."""

    about: dict[str, Any]
    image: NDArray[Any] | None
    frame: Frame
    """The frame, to ask whether it was overwritten: its slot may hold another image by now."""


class Tee:
    """Between the thread that receives, which calls `offer`, and the one that sends, which calls all else."""

    def __init__(self, options: StreamOptions) -> None:
        self.counts = StreamCounts()
        self._options = options
        self._newest, self._pause_s = options.send == "newest", 1 / options.rate if options.rate else 0.0
        self._chosen, self._taken_at = 0, -1e9
        self._open, self._over = False, False
        self._queue: collections.deque[Waiting] = collections.deque()
        self._spare: list[NDArray[Any]] = []
        self._changed = threading.Condition()

    def offer(self, frame: Frame) -> None:
        """Take a copy of a frame, if it is wanted and there is room for it; never waits."""
        counts = self.counts
        with self._changed:
            counts.offered += 1
            if not self._wanted(frame):
                counts.not_wanted += 1
                return
            if self._over or len(self._queue) >= self._options.queue or not (self._open or self._keeps):
                counts.dropped += 1
                return
            shape, dtype = frame.image.shape, frame.image.dtype
            spare = self._spare.pop() if self._spare and frame.accepted else None
        try:
            about = about_frame(frame)
        except GpuError:  # of a ring on a GPU that has failed, which the run says
            with self._changed:
                counts.dropped += 1
            return
        image = None
        if frame.accepted:  # without the lock: only this thread adds to the queue
            fits = spare is not None and spare.shape == shape and spare.dtype == dtype
            image = spare if fits else np.empty(shape, dtype)
            assert image is not None
            np.copyto(image, frame.image)
        waiting = Waiting(about, image, frame)
        with self._changed:
            self._queue.append(waiting)
            self._open = self._open and not self._newest
            self._changed.notify()

    @property
    def _keeps(self) -> bool:
        """Frames wait for a consumer that is yet to come: of those that each get a part, as in a queue."""
        return self._options.socket == "push" and not self._newest

    def _wanted(self, frame: Frame) -> bool:
        options = self._options
        if options.send != "all" and not frame.accepted:
            return False
        self._chosen += 1
        if (self._chosen - 1) % options.every:
            return False
        if self._newest and not self._open:
            return False
        now = time.monotonic()
        if now - self._taken_at < self._pause_s:
            return False
        self._taken_at = now
        return True

    def set_open(self, there: bool) -> None:
        """Whether somebody is there to take the next frame."""
        with self._changed:
            self._open = there and not (self._newest and self._queue)

    def take(self, wait_s: float) -> Waiting | None:
        """The frame that waits longest; None where none comes in so many seconds, or at once where it is over."""
        with self._changed:
            if not self._queue and not self._over:
                self._changed.wait(wait_s)
            return self._queue.popleft() if self._queue else None

    def note(self, waiting: Waiting, fate: Literal["sent", "dropped", "overwritten"], length: int = 0) -> None:
        """What became of a frame that was taken; its copy may be used again."""
        with self._changed:
            setattr(self.counts, fate, getattr(self.counts, fate) + 1)
            self.counts.bytes += length
            if waiting.image is not None and len(self._spare) < 2:
                self._spare.append(waiting.image)

    def end(self) -> None:
        """No more come."""
        with self._changed:
            self._over = True
            self._changed.notify()

    @property
    def over(self) -> bool:
        """Whether `end` was called."""
        return self._over

    def drop(self) -> None:
        """Nobody takes those that still wait, and any that come."""
        with self._changed:
            self._over = True
            self.counts.dropped += len(self._queue)
            self._queue.clear()
