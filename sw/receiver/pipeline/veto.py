"""The veto: which frames are worth keeping, judged by their number of peaks, and why."""

from dataclasses import dataclass
from enum import IntEnum

from framelane.base.errors import ConfigError


class Reason(IntEnum):
    """Why a frame was accepted or rejected."""

    ENOUGH_PEAKS = 0
    TOO_FEW_PEAKS = 1
    """The only one that rejects."""
    HAS_HOLES = 2
    """Too few peaks, but pixels are missing: it cannot be judged, so it is kept."""
    KEPT_AT_RANDOM = 3
    """Too few peaks, but it is of the random share of such frames that is kept."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """One frame's: `peaks` pixels of at least `threshold` photons or keV were found, `minimum` were asked for.

    With a peak finder `peaks` are Bragg peaks, whose pixels have at least `threshold`.
    """

    peaks: int
    threshold: int
    minimum: int
    reason: Reason

    @property
    def accepted(self) -> bool:
        """Whether the frame is kept."""
        return self.reason is not Reason.TOO_FEW_PEAKS


@dataclass(frozen=True, slots=True)
class Veto:
    """Rejects a frame with fewer than `minimum` peaks; a `minimum` of 0 keeps all.

    A peak is a pixel of at least `threshold`, or a Bragg peak of such pixels where there is a peak finder.

    `threshold` is in the unit of the images: photons or keV.
    """

    threshold: int
    minimum: int = 0

    def __post_init__(self) -> None:
        if not 1 <= self.threshold <= 32700 or self.minimum < 0:
            raise ConfigError(
                f"a veto of {self.minimum} peaks of {self.threshold} photons or keV is impossible: "
                "give a threshold of 1..32700 and 0 peaks or more"
            )

    def judge(self, peaks: int, holes: int, keep: bool = False) -> Verdict:
        """The verdict on a frame with `peaks` such pixels and `holes` missing ones; with `keep` it is not rejected."""
        too_few = Reason.KEPT_AT_RANDOM if keep else Reason.TOO_FEW_PEAKS
        failed = Reason.HAS_HOLES if holes else too_few
        reason = Reason.ENOUGH_PEAKS if peaks >= self.minimum else failed
        return Verdict(peaks, self.threshold, self.minimum, reason)
