"""How a run went over the last ten minutes: a sample a second, for plots."""

import collections
import threading
import time
from dataclasses import asdict, dataclass, field
from typing import Any

SAMPLES = 600
_EVERY_S = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """A moment of a run. Counts are from its beginning: what was between two samples is their difference."""

    time: float
    """Seconds since 1970."""
    frames: int
    """Frames that arrived, complete or not."""
    lost: int
    """Frames that were sent but are not complete."""
    slots: int
    slots_used: int
    """The most since the last sample."""
    pending: int = 0
    """Frames in the pipeline, or on the GPU."""
    verdicts: dict[str, int] = field(default_factory=dict)
    """Frames by the reason of their verdict."""
    drift_adu: dict[str, float] = field(default_factory=dict)
    """How far the pedestal of each module that is tracked has drifted since the start."""


class History:
    """Takes samples in the thread of a run; any thread may ask for them."""

    def __init__(self) -> None:
        self._samples: collections.deque[Sample] = collections.deque(maxlen=SAMPLES)
        self._used, self._taken = 0, -1e9
        self._lock = threading.Lock()

    def due(self, slots_used: int, *, last: bool = False) -> bool:
        """Whether a sample is to be taken now; told often, it knows how full the ring was in between."""
        self._used = max(self._used, slots_used)
        return last or time.monotonic() - self._taken >= _EVERY_S

    def take(self, sample: Sample) -> None:
        """Keep one."""
        with self._lock:
            self._samples.append(sample)
        self._used, self._taken = 0, time.monotonic()

    @property
    def most_used(self) -> int:
        """Slots in use, the most since the last sample."""
        return self._used

    def after(self, moment: float) -> list[dict[str, Any]]:
        """Samples later than `moment`, seconds since 1970, the oldest first."""
        with self._lock:
            return [asdict(sample) for sample in self._samples if sample.time > moment]
