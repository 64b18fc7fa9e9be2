"""The streaming pipeline of an array library: that of numpy on the CPU, that of CuPy on a GPU."""

from types import ModuleType

from framelane.base.errors import ConfigError
from framelane.models.jungfrau.jf_fixed import FixedCalibration
from framelane.receiver.pedestal.pedestal_tracker import PedestalTracker
from framelane.receiver.pedestal.tracked_pipeline import TrackedPipeline
from framelane.receiver.pipeline.cpu_frame_pipeline import CpuFramePipeline
from framelane.receiver.pipeline.frame_pipeline import FramePipeline
from framelane.receiver.pipeline.judging import Judging
from framelane.receiver.pipeline.pipeline import Pipeline
from framelane.receiver.ring.ring import Ring


def make_frame_pipeline(
    xp: ModuleType,
    ring: Ring,
    fixed: FixedCalibration,
    judging: Judging,
    *,
    tracker: PedestalTracker | None = None,
    images: bool = True,
    refill: bool = False,
    way: str | None = None,
) -> FramePipeline:
    """A pipeline for the frames of `ring` on the CPU (`xp` is numpy) or on a GPU (CuPy), with the same results.

    With numpy frames are processed by `take`, one after the other; with CuPy while the next ones arrive. The ring's
    memory is on the host, and is pinned for a GPU, or on that GPU (`gpu.memory`). Frames are corrected with `fixed` and
    judged by `judging`. A `tracker` follows the pedestal by dark frames. Without `images` no result has rows of its
    image: sparse rows are all that leaves the GPU. With `refill` a GPU fills each slot with holes behind its frame, so
    that releasing it costs the host nothing; frames have no pixels any more when they are taken. `way` is how the GPU
    is told to begin, see `gpu.pipeline.gpu_lanes.Way`; by default the fastest. ConfigError where there is no such
    library or GPU, ConfigError or InputError where calibration, tracker or `judging` do not fit the images.
    """
    if xp.__name__ == "cupy":
        from framelane.receiver.gpu.pipeline.frame_pipeline import GpuFramePipeline

        return GpuFramePipeline(ring, fixed, judging, tracker=tracker, images=images, refill=refill, way=way)
    if xp.__name__ != "numpy":
        raise ConfigError(f"there is no pipeline on {xp.__name__}: choose numpy or cupy")
    if tracker is None:
        return CpuFramePipeline(Pipeline(fixed, judging), images=images)
    tracked = TrackedPipeline(fixed, judging, tracker)
    return CpuFramePipeline(tracked, take_dark=tracked.take_dark, images=images)
