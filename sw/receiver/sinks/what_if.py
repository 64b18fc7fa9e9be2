"""The veto once more, on the record: which frames another threshold or minimum would have kept."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from framelane.base.any_path import AnyPath
from framelane.base.errors import InputError, InputOptionError
from framelane.receiver.pipeline.random_share import RandomShare
from framelane.receiver.pipeline.veto import Reason, Veto
from framelane.receiver.sinks.verdict_file import VerdictFile

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


@dataclass(frozen=True, slots=True, eq=False)
class VetoReplay:
    """Recorded verdicts, and those of another veto: arrays are (frames,), in the order of the record."""

    record: VerdictFile
    veto: Veto
    """Now."""
    share: RandomShare
    """The share of the rejected frames that is kept now."""
    verdicts: Verdicts

    @property
    def known(self) -> NDArray[np.bool_]:
        """Where the record tells the new verdict."""
        known: NDArray[np.bool_] = self.verdicts.known
        return known

    @property
    def accepted(self) -> NDArray[np.bool_]:
        """Frames that are accepted now, as far as that is `known`."""
        accepted: NDArray[np.bool_] = self.known & (self.verdicts.reasons != Reason.TOO_FEW_PEAKS)
        return accepted

    @property
    def gained(self) -> NDArray[np.bool_]:
        """Frames that were rejected, and are accepted now. Their images are not in the file."""
        gained: NDArray[np.bool_] = self.accepted & (self.record.reasons == Reason.TOO_FEW_PEAKS)
        return gained

    @property
    def lost(self) -> NDArray[np.bool_]:
        """Frames that were accepted, and are rejected now."""
        lost: NDArray[np.bool_] = self.known & ~self.accepted & (self.record.reasons != Reason.TOO_FEW_PEAKS)
        return lost


def replay_veto(
    path: AnyPath,
    *,
    minimum_peaks: int | None = None,
    threshold: int | None = None,
    keep_rejected: float | None = None,
    keep_seed: int | None = None,
) -> VetoReplay:
    """Judge the frames of a file that `framelane recv` has written again, by its record; None: as the run did.

    A frame with fewer than `minimum_peaks` is rejected; a peak is a pixel of at least `threshold` photons or keV, or a
    Bragg peak of such pixels where the run looked for those. The share `keep_rejected` (0 to 1) of the rejected frames
    is kept, drawn with `keep_seed`. InputError for another file, and for a record that contradicts itself; ConfigError
    for what cannot be.
    """
    with VerdictFile(path) as record:
        veto = Veto(
            record.threshold if threshold is None else threshold,
            record.minimum if minimum_peaks is None else minimum_peaks,
        )
        was = record.share or RandomShare(0.0)
        share = RandomShare(
            was.share if keep_rejected is None else keep_rejected, was.seed if keep_seed is None else keep_seed
        )
        if wrong := disagreements(record):
            raise InputError(
                f"{record.path} contradicts itself: {wrong} of {len(record.numbers)} verdicts are not what its counts "
                "give: it was changed after the run"
            )
        return VetoReplay(record, veto, share, judge_again(record, veto, share))


def judge_again(record: VerdictFile, veto: Veto, share: RandomShare | None) -> Verdicts:
    """Judge every frame of the record by another `veto`, and keep another `share` of the rejected ones.

    The decision is that of `Veto`, on the recorded counts. For a threshold between two recorded ones the number of
    pixels lies between theirs: the verdict is known where both agree. InputError for another threshold where Bragg
    peaks were counted: their number may rise and fall with it.
    """
    if veto.threshold not in record.counts and record.judged_by == "bragg_peaks":
        raise InputOptionError(
            "{0}: Bragg peaks were found with pixels of at least {1} {2}, nothing is known of {3}: leave out "
            "{threshold}",
            *(record.path, record.threshold, record.unit, veto.threshold),
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
    columns = record.numbers, record.peaks, record.holes, record.thresholds, record.minimums, record.reasons
    wrong = 0
    for number, peaks, holes, threshold, minimum, reason in zip(*(each.tolist() for each in columns), strict=True):
        keep = record.share is not None and record.share.keeps(number)
        wrong += Veto(threshold, minimum).judge(peaks, holes, keep).reason != reason
    return wrong
