"""The veto: which frames are worth keeping, judged by their number of peaks, and why."""

from dataclasses import dataclass
from enum import IntEnum

from framelane.models.errors import ConfigError


class Reason(IntEnum):
    """Why a frame was accepted or rejected."""

    ENOUGH_PEAKS = 0
    TOO_FEW_PEAKS = 1
    """The only one that rejects."""
    HAS_HOLES = 2
    """Too few peaks, but pixels are missing: it cannot be judged, so it is kept."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """One frame's: `peaks` pixels of at least `threshold` photons or keV were found, `minimum` were asked for."""

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
    """Rejects a frame with fewer than `minimum` pixels of at least `threshold`; a `minimum` of 0 keeps all.

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

    def judge(self, peaks: int, holes: int) -> Verdict:
        """The verdict on a frame with `peaks` such pixels and `holes` missing ones."""
        failed = Reason.HAS_HOLES if holes else Reason.TOO_FEW_PEAKS
        reason = Reason.ENOUGH_PEAKS if peaks >= self.minimum else failed
        return Verdict(peaks, self.threshold, self.minimum, reason)
