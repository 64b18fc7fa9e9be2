"""The streaming pipeline on a GPU: transfer, kernels and results of several frames at once, in lanes that take turns.

The kernels decide which frames are accepted, and hand back the results of these alone, into pinned memory of the host.
"""

from typing import Self

import numpy as np

from framelane.base.errors import ConfigError, InputError
from framelane.models.jungfrau.jf_fixed import FixedCalibration
from framelane.receiver.gpu.launches import PreparedKernels
from framelane.receiver.gpu.memory import note_filled, ring_address
from framelane.receiver.gpu.pipeline.gpu_lanes import GpuLanes, Mark, Slots, Way
from framelane.receiver.gpu.pipeline.lane_queue import Finished, LaneQueue
from framelane.receiver.gpu.pipeline.learning import Learning
from framelane.receiver.gpu.pipeline.watchdog import Watchdog
from framelane.receiver.pedestal.pedestal_tracker import PedestalTracker
from framelane.receiver.pipeline.frame_pipeline import Processed, refuse_dark
from framelane.receiver.pipeline.judging import Judging
from framelane.receiver.pipeline.veto import Veto
from framelane.receiver.ring.receiver import ReceivedFrame
from framelane.receiver.ring.ring import Ring

LANES = 4
PATIENCE_S = 5.0
"""After which a GPU is taken to hang, in seconds."""
COPIED, IN_PLACE = Way.GRAPHS, Way.WAITS
"""The best ways of `framelane bench gpu` for a ring on the host and for one on the GPU."""


class GpuFramePipeline:
    """A `FramePipeline` on CuPy's current GPU; see `make_frame_pipeline` for what it is given.

    The ring is copied frame by frame where it is on the host (`copies`), read in place where it is on the GPU. `lanes`
    frames are on the GPU at once, with the results that `take` has given last. With `refill` the GPU fills the slot
    with holes behind the frame: memory of `gpu.memory` knows that when the ring releases it, and has nothing to do.
    That is not for `Way.WAITS`, whose lanes work on slots without a frame too.

    While lanes wait (`Way.WAITS`), whatever waits for the whole GPU, such as to free its memory or to load a kernel,
    waits as well: a watchdog ends that when nobody has called the pipeline for a second.
    """

    def __init__(
        self,
        ring: Ring,
        fixed: FixedCalibration,
        judging: Judging,
        *,
        tracker: PedestalTracker | None = None,
        images: bool = True,
        way: Way | str | None = None,
        lanes: int = LANES,
        patience_s: float = PATIENCE_S,
        copies: bool | None = None,
        refill: bool = False,
        mark: Mark | None = None,
    ) -> None:
        shape = ring.image(ring.window.next).shape
        if fixed.pedestal.shape[1:] != shape:
            raise InputError(f"the calibration is for images {fixed.pedestal.shape[1:]}, those of the ring are {shape}")
        if tracker is not None and tracker.state.level.shape != shape:
            raise InputError(f"the tracker is for images {tracker.state.level.shape}, those of the ring are {shape}")
        if fixed.fraction_bits:
            raise ConfigError(
                f"the pipeline counts whole photons: quantize with 0 fraction bits, not {fixed.fraction_bits}"
            )
        if lanes < 1 or (way is not None and way not in list(Way)):
            raise ConfigError(f"{lanes} lanes by {way} cannot be: give 1 or more, by {', '.join(Way)}")
        kernels = PreparedKernels(fixed, judging)
        address, self._pin = ring_address(ring.memory)
        on_host = isinstance(ring.memory, np.ndarray)
        copies = on_host if copies is None else copies
        self.way = Way(way) if way else COPIED if copies or refill else IN_PLACE
        if refill and self.way is Way.WAITS:
            raise ConfigError("slots cannot be refilled by work that waits ahead: choose launches or graphs")
        layout = ring.layout
        self._slots = Slots(address, layout.slot_bytes, layout.n_slots, on_host, refill)
        self._stopped = False
        ring.blank(ring.window.next)  # CUDA loads what that needs, which it could not while lanes wait
        self._learning = Learning(tracker, kernels, fixed.pedestal[0], lanes) if tracker else None
        self.lanes = GpuLanes(
            kernels,
            judging,
            self._slots,
            images=images,
            way=self.way,
            count=lanes,
            copies=copies,
            mark=mark,
            learning=self._learning,
        )
        first = layout.slot(ring.window.next)
        ahead = self.way is Way.WAITS
        self._queue = LaneQueue(self.lanes, layout.n_slots, first, ahead, patience_s)
        self._watchdog = Watchdog(self._queue.void_ahead) if ahead else None

    @property
    def fault(self) -> str | None:
        """See `FramePipeline`."""
        return self._queue.fault

    def change_veto(self, veto: Veto) -> None:
        """See `FramePipeline`: the launches of a GPU have their thresholds in them."""
        raise ConfigError("a GPU's threshold and minimum number of peaks stay while a run lasts: begin another run")

    @property
    def pending(self) -> int:
        """See `FramePipeline`."""
        return self._queue.pending

    def put(self, frame: ReceivedFrame, keep: bool = False, dark: bool = False) -> None:
        """See `FramePipeline`."""
        if dark and self._learning is None:
            raise refuse_dark(frame)
        self._queue.put(frame, keep, self._learning.dark(frame.timestamp_ns) if dark and self._learning else None)
        if self._watchdog:
            self._watchdog.alive()

    def take(self, timeout_s: float) -> list[Processed]:
        """See `FramePipeline`."""
        done = self._queue.take(timeout_s)
        if self._watchdog:
            self._watchdog.alive()
        if self._queue.fault and not self._stopped:
            self._stopped = True
            self.lanes.release_all()
        return [self._processed(each) for each in done]

    def close(self) -> None:
        """See `FramePipeline`. Results are not valid any more."""
        if self._watchdog:
            self._watchdog.close()
        self._queue.close("the pipeline was closed")
        if self.lanes.close() is None and self._pin is not None:
            self._pin.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def _processed(self, done: Finished) -> Processed:
        """What the caller is told of a frame."""
        if done.lane is None:
            return Processed(done.frame, None, done.fault)
        if self._slots.refill:
            note_filled(self._slots.at(done.frame.slot), self._slots.slot_bytes)
        if done.dark and self._learning:
            self._learning.collect(done.lane, done.dark)
        result = self.lanes.result(done.lane)
        done.frame.tell_holes(result.counts.holes)
        return Processed(done.frame, result)
