"""The streaming pipeline: frames go in as they are received, results come out in their order.

    with make_frame_pipeline(xp, ring, fixed, veto, sparse_threshold) as pipeline:
        ...
        for frame in receiver.poll(0.1):
            pipeline.put(frame, keep=share.keeps(frame.number), dark=rule.is_dark(number_of(frame)))
        for done in pipeline.take(0.0):
            sink.write(done.frame, done.result)  # where there is no fault
            receiver.release(done.frame)

With numpy frames are processed by `take`, one after the other; with CuPy while the next ones arrive.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import Protocol, Self

import numpy as np
from numpy.typing import NDArray

from framelane.models.errors import ConfigError
from framelane.models.jf_fixed import FixedCalibration
from framelane.models.peak_settings import Panel, PeakSettings
from framelane.receiver.pedestal.pedestal_tracker import PedestalTracker
from framelane.receiver.receiver import ReceivedFrame
from framelane.receiver.result import Result
from framelane.receiver.ring import Ring
from framelane.receiver.veto import Veto


@dataclass(frozen=True, slots=True, eq=False)
class Processed:
    """What became of a frame. Either `result` or `fault`, a sentence that says why there is none, is None.

    `result` equals that of `Pipeline` or `TrackedPipeline`, and is valid until the next call of `take`; but the image
    of a rejected frame has no rows. The frame has been told its number of holes.
    """

    frame: ReceivedFrame
    result: Result | None
    fault: str | None = None


class FramePipeline(Protocol):
    """Corrects, counts and judges frames. All memory is taken when it is made. Not for several threads at once."""

    @property
    def fault(self) -> str | None:
        """Why it has ended by itself, in a sentence; None while it works. What is put then comes back with it."""

    @property
    def pending(self) -> int:
        """Frames that were put and have not been taken. Before the end of a run `take` until there are none."""

    def put(self, frame: ReceivedFrame, keep: bool = False, dark: bool = False) -> None:
        """Process a frame, whose slot stays in use until it is taken. With `keep` it is not rejected.

        From a `dark` frame the pedestal is learned first: it and all frames after it are corrected with what comes out.
        ConfigError for a dark frame where there is no tracker.
        """

    def take(self, timeout_s: float) -> list[Processed]:
        """The frames that are done, in the order in which they were put.

        Waits at most `timeout_s` seconds for the first, where any is pending. Ends the validity of the results before.
        """

    def close(self) -> None:
        """Stop, and free all memory; what is pending is lost. Ends within seconds, always. May be called twice.

        The tracker then has all that was learned, for `note` and for another pipeline; after a fault what it had when
        its record got its last row.
        """

    def __enter__(self) -> Self: ...

    def __exit__(self, *error: object) -> None: ...


def refuse_dark(frame: ReceivedFrame) -> ConfigError:
    """The error of a dark frame for a pipeline without a tracker."""
    return ConfigError(f"frame {frame.number} cannot be learned from as a dark frame: give the pipeline a tracker")


def make_frame_pipeline(
    xp: ModuleType,
    ring: Ring,
    fixed: FixedCalibration,
    veto: Veto,
    sparse_threshold: int | None = None,
    *,
    rungs: Sequence[int] = (),
    peaks: PeakSettings | None = None,
    panels: Sequence[Panel] | None = None,
    usable: NDArray[np.bool_] | None = None,
    tracker: PedestalTracker | None = None,
    images: bool = True,
    refill: bool = False,
    way: str | None = None,
) -> FramePipeline:
    """A pipeline for the frames of `ring` on the CPU (`xp` is numpy) or on a GPU (CuPy), with the same results.

    The ring's memory is on the host, and is pinned for a GPU, or on that GPU (`gpu.memory`). Sparse rows hold the
    pixels of at least `sparse_threshold` photons (None: no sparse rows). The pixels that reach each threshold of
    `rungs` are counted. With `peaks` the veto is on the number of Bragg peaks, whose `panels` and `usable` pixels are
    those of `PeakFinder`. A `tracker` follows the pedestal by dark frames. Without `images` no result has rows of its
    image: sparse rows are all that leaves the GPU. With `refill` a GPU fills each slot with holes behind its frame, so
    that releasing it costs the host nothing; frames have no pixels any more when they are taken. `way` is how the GPU
    is told to begin, see `gpu.gpu_lanes.Way`; by default the fastest. ConfigError where there is no such library or
    GPU.
    """
    if xp.__name__ == "numpy":
        from framelane.receiver.cpu_frame_pipeline import CpuFramePipeline
        from framelane.receiver.peaks import PeakFinder
        from framelane.receiver.pedestal.tracked_pipeline import TrackedPipeline
        from framelane.receiver.pipeline import Pipeline

        shape = (fixed.pedestal.shape[1], fixed.pedestal.shape[2])
        finder = PeakFinder(shape, peaks, panels, usable, fixed.fraction_bits) if peaks else None
        if tracker is None:
            return CpuFramePipeline(Pipeline(fixed, veto, sparse_threshold, None, rungs, finder), images)
        return CpuFramePipeline(TrackedPipeline(fixed, veto, sparse_threshold, tracker, None, rungs, finder), images)
    if xp.__name__ == "cupy":
        from framelane.receiver.gpu.frame_pipeline import GpuFramePipeline
        from framelane.receiver.gpu.lane import PeakOptions

        return GpuFramePipeline(
            ring,
            fixed,
            veto,
            sparse_threshold,
            rungs=rungs,
            peaks=PeakOptions(peaks, panels, usable) if peaks else None,
            tracker=tracker,
            images=images,
            refill=refill,
            way=way,
        )
    raise ConfigError(f"there is no pipeline on {xp.__name__}: choose numpy or cupy")
