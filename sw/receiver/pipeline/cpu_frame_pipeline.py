"""The streaming pipeline on the CPU: frames wait for `take`, which processes the oldest."""

import collections
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from numpy.typing import NDArray

from framelane.base.errors import ConfigError, FramelaneError
from framelane.receiver.pipeline.frame_pipeline import Processed, refuse_dark
from framelane.receiver.pipeline.pipeline import KeepingProcess
from framelane.receiver.pipeline.veto import Veto
from framelane.receiver.ring.receiver import ReceivedFrame

TakeDark = Callable[[NDArray[np.uint16], int | None], None]
"""Learns from a dark frame, uint16 (rows, columns), with its time in nanoseconds if it has one."""


@dataclass(slots=True)
class _Pending:
    frame: ReceivedFrame
    keep: bool
    dark: bool


class CpuFramePipeline:
    """A `FramePipeline` that calls `process`, a `Pipeline` for instance: it uses all cores for one frame at a time.

    `take_dark` is given each dark frame before `process` is; None: dark frames are refused. Without `images` no result
    has rows of its image. A frame that either refuses has the reason as its fault.
    """

    fault: str | None = None
    """See `FramePipeline`: it never ends by itself."""

    def __init__(self, process: KeepingProcess, *, take_dark: TakeDark | None = None, images: bool = True) -> None:
        self._process = process
        self._take_dark = take_dark
        self._images = images
        self._change_veto: Callable[[Veto], None] | None = getattr(process, "change_veto", None)
        self._frames: collections.deque[_Pending] = collections.deque()

    @property
    def pending(self) -> int:
        """See `FramePipeline`."""
        return len(self._frames)

    def put(self, frame: ReceivedFrame, keep: bool = False, dark: bool = False) -> None:
        """See `FramePipeline`."""
        if dark and self._take_dark is None:
            raise refuse_dark(frame)
        self._frames.append(_Pending(frame, keep, dark))

    def take(self, timeout_s: float) -> list[Processed]:
        """See `FramePipeline`. One frame at most: the next one's result takes the place of its own."""
        if not self._frames:
            return []
        pending = self._frames[0]
        frame = pending.frame
        try:
            if pending.dark and self._take_dark is not None:
                pending.dark = False  # an interrupted call learns from it once at most
                self._take_dark(frame.image, frame.timestamp_ns)
            result = self._process(frame.image, keep=pending.keep)
        except FramelaneError as error:
            self._frames.popleft()
            return [Processed(frame, None, str(error))]
        self._frames.popleft()
        frame.tell_holes(result.counts.holes)
        if not (self._images and result.verdict.accepted):
            result = replace(result, image=result.image[:0])
        return [Processed(frame, result)]

    def change_veto(self, veto: Veto) -> None:
        """See `FramePipeline`."""
        if self._change_veto is None:
            raise ConfigError("these frames are not judged: no veto can be changed")
        self._change_veto(veto)

    def close(self) -> None:
        """See `FramePipeline`."""
        self._frames.clear()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()
