"""What a service knows of the frames of a run: counts, the newest frames, how they were judged."""

import collections
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from typing import Any

from framelane.receiver import Frame, Reason, RunStatistics, Stream, Tally
from framelane.serve.history import History

KEPT = 4096
"""Frames of which the record is kept in memory."""
FATES = tuple(each.name for each in fields(Tally) if each.name != "sent")
"""What becomes of a frame that was sent: the terms of the loss identity."""
_BINS = 32
_RATE_S = 2.0
"""So long back the rate looks."""


@dataclass(frozen=True, slots=True)
class Counted:
    """What was counted at one moment."""

    statistics: RunStatistics
    notes: tuple[str, ...] = ()
    """What is to be known, a sentence each."""
    slots_used: int = 0
    slots: int = 0
    pending: int = 0
    """Frames in the pipeline, or on the GPU."""
    gpu_bytes: tuple[int, int] | None = None
    """Bytes in use, and the GPU's total."""
    drift_adu: dict[str, float] = field(default_factory=dict)
    """How the pedestal moved, of each module that is tracked."""


NOTHING = Counted(RunStatistics.none())


class RunRecord:
    """Is told of each frame by the thread of a run, and asked by others."""

    def __init__(self) -> None:
        self.counted = NOTHING
        """Replaced as a whole: whoever reads it has the counts of one moment, of which the loss identity holds."""
        self.history = History()
        self._frames: collections.deque[dict[str, Any]] = collections.deque(maxlen=KEPT)
        self._times: collections.deque[float] = collections.deque(maxlen=KEPT)
        self._peaks = [0] * (_BINS + 1)
        self._lock = threading.Lock()

    def note(self, frame: Frame) -> None:
        """A frame has come; before it is given back."""
        counts, verdict = frame.counts, frame.verdict
        row = {
            "number": frame.number,
            "detector_frame": frame.detector_frame,
            "timestamp_ns": frame.timestamp_ns,
            "time_flags": frame.received.time_flags,
            "bunch_id": frame.bunch_id,
            "complete": frame.complete,
            "holes": counts.holes,
            "saturated": counts.saturated,
            "invalid": counts.invalid,
            "masked": counts.masked,
            "peaks": verdict.peaks,
            "threshold": verdict.threshold,
            "minimum_peaks": verdict.minimum,
            "accepted": verdict.accepted,
            "reason": verdict.reason.name,
        }
        with self._lock:
            self._frames.append(row)
            self._times.append(time.monotonic())
            self._peaks[min(_BINS, verdict.peaks.bit_length())] += 1

    def newest(self, count: int) -> list[dict[str, Any]]:
        """The records of the newest frames, the oldest of them first."""
        with self._lock:
            return list(self._frames)[-count:]

    def rate(self) -> float:
        """Frames/s over the last two seconds."""
        now = time.monotonic()
        with self._lock:
            times = [each for each in self._times if now - each < _RATE_S]
        if len(times) == KEPT:  # more than are kept have come
            return KEPT / max(1e-3, now - times[0])
        return len(times) / _RATE_S

    def verdicts(self) -> dict[str, Any]:
        """Why frames were kept or not, and how many peaks they had: of bin k from `edges[k]` to before the next."""
        reasons = self.counted.statistics.reasons
        with self._lock:
            peaks = list(self._peaks)
        last = max((k for k, n in enumerate(peaks) if n), default=0)
        edges = [0, *(1 << k for k in range(last))]
        return {"reasons": {each.name: reasons[each] for each in Reason}, "edges": edges, "frames": peaks[: last + 1]}


def identity(tally: Tally) -> dict[str, Any]:
    """The loss identity as JSON has it."""
    return {"sent": tally.sent, **{fate: getattr(tally, fate) for fate in FATES}, "holds": tally.holds}


def troubles(statistics: RunStatistics, silent: Sequence[str] = ()) -> list[str]:
    """What is wrong with what comes, a sentence each, in the words of `framelane recv`."""
    counters = statistics.counters
    lines = [f"{n} packets refused for {why}, first {counters.examples[why]}" for why, n in counters.refused.items()]
    if counters.queue_drops:
        lines.append(f"{counters.queue_drops} packets dropped by the kernel, whose queue was full")
    if counters.lost:
        lines.append(f"{counters.lost} packets lost on the way, by their numbers")
    if statistics.strays:
        lines.append(f"{statistics.strays} stray immediates, the first {statistics.first_stray}")
    if statistics.first_misfit:
        lines.append(f"frames of another size than the session's are not kept: {statistics.first_misfit}")
    return [*lines, *silent]


def stream_troubles(stream: Stream) -> list[str]:
    """What is wrong with a stream, a sentence each: none of it is of the receiver."""
    counts = stream.counts
    lines = [stream.fault] if stream.fault else []
    if counts.dropped and not stream.fault:
        lines.append(f"{counts.dropped} frames of the stream {stream.address} were taken by nobody in time")
    return lines
