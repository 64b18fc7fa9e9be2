"""The streaming pipeline: frames go in as they are received, results come out in their order.

    with make_frame_pipeline(xp, ring, fixed, veto, sparse_threshold) as pipeline:
        ...
        for frame in receiver.poll(0.1):
            pipeline.put(frame)
        for done in pipeline.take(0.0):
            sink.write(done.frame, done.result)  # where there is no fault
            receiver.release(done.frame)

With numpy frames are processed by `take`, one after the other; with CuPy while the next ones arrive.
"""

from dataclasses import dataclass
from types import ModuleType
from typing import Protocol, Self

from framelane.models.errors import ConfigError
from framelane.models.jf_fixed import FixedCalibration
from framelane.receiver.receiver import ReceivedFrame
from framelane.receiver.result import Result
from framelane.receiver.ring import Ring
from framelane.receiver.veto import Veto


@dataclass(frozen=True, slots=True, eq=False)
class Processed:
    """What became of a frame. Either `result` or `fault`, a sentence that says why there is none, is None.

    `result` equals that of `Pipeline`, and is valid until the next call of `take`; but the image of a rejected frame
    has no rows.
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

    def put(self, frame: ReceivedFrame, keep: bool = False) -> None:
        """Process a frame, whose slot stays in use until it is taken. With `keep` it is not rejected."""

    def take(self, timeout_s: float) -> list[Processed]:
        """The frames that are done, in the order in which they were put.

        Waits at most `timeout_s` seconds for the first, where any is pending. Ends the validity of the results before.
        """

    def close(self) -> None:
        """Stop, and free all memory; what is pending is lost. Ends within seconds, always. May be called twice."""

    def __enter__(self) -> Self: ...

    def __exit__(self, *error: object) -> None: ...


def make_frame_pipeline(
    xp: ModuleType,
    ring: Ring,
    fixed: FixedCalibration,
    veto: Veto,
    sparse_threshold: int | None = None,
    images: bool = True,
    refill: bool = False,
    way: str | None = None,
) -> FramePipeline:
    """A pipeline for the frames of `ring` on the CPU (`xp` is numpy) or on a GPU (CuPy), with the same results.

    The ring's memory is on the host, and is pinned for a GPU, or on that GPU (`gpu.memory`). Sparse rows hold the
    pixels of at least `sparse_threshold` photons (None: no sparse rows). Without `images` no result has rows of its
    image: sparse rows are all that leaves the GPU. With `refill` a GPU fills each slot with holes behind its frame, so
    that releasing it costs the host nothing; frames have no pixels any more when they are taken. `way` is how the GPU
    is told to begin, see `gpu.gpu_lanes.Way`; by default the fastest. ConfigError where there is no such library or
    GPU.
    """
    if xp.__name__ == "numpy":
        from framelane.receiver.cpu_frame_pipeline import CpuFramePipeline
        from framelane.receiver.pipeline import Pipeline

        return CpuFramePipeline(Pipeline(fixed, veto, sparse_threshold), images)
    if xp.__name__ == "cupy":
        from framelane.receiver.gpu.frame_pipeline import GpuFramePipeline

        return GpuFramePipeline(ring, fixed, veto, sparse_threshold, images=images, refill=refill, way=way)
    raise ConfigError(f"there is no pipeline on {xp.__name__}: choose numpy or cupy")
