"""The streaming pipeline on the CPU: frames wait for `take`, which processes the oldest."""

import collections
from dataclasses import dataclass, replace
from typing import Self

from framelane.models.errors import FramelaneError
from framelane.receiver.frame_pipeline import Processed, refuse_dark
from framelane.receiver.pedestal.tracked_pipeline import TrackedPipeline
from framelane.receiver.pipeline import KeepingProcess
from framelane.receiver.receiver import ReceivedFrame


@dataclass(slots=True)
class _Pending:
    frame: ReceivedFrame
    keep: bool
    dark: bool


class CpuFramePipeline:
    """A `FramePipeline` that calls `process`, a `Pipeline` for instance: it uses all cores for one frame at a time.

    Without `images` no result has rows of its image. A frame that `process` refuses has the reason as its fault. Dark
    frames are for a `TrackedPipeline`.
    """

    fault: str | None = None
    """See `FramePipeline`: it never ends by itself."""

    def __init__(self, process: KeepingProcess, images: bool = True) -> None:
        self._process = process
        self._images = images
        self._frames: collections.deque[_Pending] = collections.deque()

    @property
    def pending(self) -> int:
        """See `FramePipeline`."""
        return len(self._frames)

    def put(self, frame: ReceivedFrame, keep: bool = False, dark: bool = False) -> None:
        """See `FramePipeline`."""
        if dark and not isinstance(self._process, TrackedPipeline):
            raise refuse_dark(frame)
        self._frames.append(_Pending(frame, keep, dark))

    def take(self, timeout_s: float) -> list[Processed]:
        """See `FramePipeline`. One frame at most: the next one's result takes the place of its own."""
        if not self._frames:
            return []
        pending = self._frames[0]
        frame = pending.frame
        try:
            if pending.dark and isinstance(self._process, TrackedPipeline):
                pending.dark = False  # an interrupted call learns from it once at most
                self._process.take_dark(frame.image, frame.timestamp_ns)
            result = self._process(frame.image, keep=pending.keep)
        except FramelaneError as error:
            self._frames.popleft()
            return [Processed(frame, None, str(error))]
        self._frames.popleft()
        frame.tell_holes(result.counts.holes)
        if not (self._images and result.verdict.accepted):
            result = replace(result, image=result.image[:0])
        return [Processed(frame, result)]

    def close(self) -> None:
        """See `FramePipeline`."""
        self._frames.clear()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()
