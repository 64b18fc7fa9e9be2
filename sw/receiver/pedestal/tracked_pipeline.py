"""The CPU pipeline with a pedestal that follows the dark frames."""

import numpy as np
from numpy.typing import NDArray

from framelane.models.jungfrau.jf_fixed import FixedCalibration
from framelane.receiver.pedestal.live_pedestal import LivePedestal
from framelane.receiver.pedestal.pedestal_tracker import PedestalTracker
from framelane.receiver.pipeline.judging import Judging
from framelane.receiver.pipeline.pipeline import Pipeline
from framelane.receiver.pipeline.result import Result


class TrackedPipeline(Pipeline):
    """A `Pipeline` that corrects each image with the newest pedestal of `tracker`; it begins with that of `fixed`.

    One thread may take dark frames while another corrects.
    """

    def __init__(
        self, fixed: FixedCalibration, judging: Judging, tracker: PedestalTracker, *, threads: int | None = None
    ) -> None:
        super().__init__(fixed, judging, threads=threads)
        self.tracker = tracker
        self._live = LivePedestal(fixed.pedestal[0])

    def __call__(self, raw: NDArray[np.uint16], /, keep: bool = False) -> Result:
        """See `Pipeline`."""
        with self._live.use() as plane:
            self._constants = self._constants._replace(pedestal=plane.reshape(-1))
            return super().__call__(raw, keep)

    def take_dark(self, raw: NDArray[np.uint16], timestamp_ns: int | None) -> None:
        """Learn from a dark frame, uint16 (rows, columns), else InputError, with its time if it has one."""
        if self.tracker.take(raw[None], [timestamp_ns]):
            self._live.publish(self.tracker.write_quarters)
