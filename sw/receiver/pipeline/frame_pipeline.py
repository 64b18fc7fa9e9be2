"""The streaming pipeline: frames go in as they are received, results come out in their order.

    with make_frame_pipeline(xp, ring, fixed, Judging(veto=Veto(20, 50), sparse=10)) as pipeline:
        ...
        for frame in receiver.poll(0.1):
            pipeline.put(frame, keep=share.keeps(frame.number), dark=rule.is_dark(number_of(frame)))
        for done in pipeline.take(0.0):
            sink.write(done.frame, done.result)  # where there is no fault
            receiver.release(done.frame)

This is the contract alone: those who keep it are on the CPU and on a GPU, and `make_frame_pipeline` chooses.
"""

from dataclasses import dataclass
from typing import Protocol, Self

from framelane.base.errors import ConfigError
from framelane.receiver.pipeline.result import Result
from framelane.receiver.pipeline.veto import Veto
from framelane.receiver.ring.receiver import ReceivedFrame


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

    def change_veto(self, veto: Veto) -> None:
        """Judge by another veto from the next frame on that is processed; may be called by any thread.

        ConfigError where this pipeline cannot, or no pixel reaches its threshold.
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
