"""The veto once more, on the record: which frames another threshold or minimum would have kept."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from framelane.models.errors import InputError
from framelane.receiver.random_share import RandomShare
from framelane.receiver.verdict_file import VerdictFile
from framelane.receiver.veto import Veto

_ALL = 1 << 62
"""More pixels than any image has."""


@dataclass(frozen=True, slots=True, eq=False)
class Verdicts:
    """What would have become of the frames of a record, in its order."""

    reasons: NDArray[np.uint8]
    """Values of `Reason`; no matter where not `known`."""
    known: NDArray[np.bool_]
    """False where the record does not tell: the threshold asked for was not recorded."""
    below: int | None
    above: int | None
    """The recorded thresholds next to the one asked for: both are that one, where it was recorded. None: no such."""

    @property
    def exact(self) -> bool:
        """Whether the threshold was recorded: then every verdict is known."""
        return self.below == self.above and self.below is not None


def judge_again(record: VerdictFile, veto: Veto, share: RandomShare | None) -> Verdicts:
    """Judge every frame of the record by another `veto`, and keep another `share` of the rejected ones.

    The decision is that of `Veto`, on the recorded counts. For a threshold between two recorded ones the number of
    pixels lies between theirs: the verdict is known where both agree. InputError for another threshold where Bragg
    peaks were counted: their number may rise and fall with it.
    """
    if veto.threshold not in record.counts and record.judged_by == "bragg_peaks":
        raise InputError(
            f"{record.path}: Bragg peaks were found with pixels of at least {record.threshold} {record.unit}, nothing "
            f"is known of {veto.threshold}: leave out --threshold"
        )
    below = max((t for t in record.counts if t <= veto.threshold), default=None)
    above = min((t for t in record.counts if t >= veto.threshold), default=None)
    frames = len(record.numbers)
    most = np.full(frames, _ALL) if below is None else record.counts[below]
    least = np.zeros(frames, np.int64) if above is None else record.counts[above]
    reasons = np.zeros(frames, np.uint8)
    known = (least >= veto.minimum) | (most < veto.minimum)
    rows = zip(record.numbers.tolist(), least.tolist(), record.holes.tolist(), strict=True)
    for frame, (number, peaks, holes) in enumerate(rows):
        reasons[frame] = veto.judge(peaks, holes, keep=share is not None and share.keeps(number)).reason
    return Verdicts(reasons, known, below, above)


def disagreements(record: VerdictFile) -> int:
    """Frames whose recorded verdict is not what the record itself gives: 0 for a sound file."""
    again = judge_again(record, Veto(record.threshold, record.minimum), record.share)
    return int(np.count_nonzero(again.reasons != record.reasons))
