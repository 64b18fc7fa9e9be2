"""What becomes of the frames of a run: how they are corrected, counted and judged."""

from dataclasses import dataclass
from pathlib import Path

from framelane.base.errors import OptionError
from framelane.calibration.gain_mode import GainMode
from framelane.models.pedestal.dark_frames import DarkRule
from framelane.receiver.pipeline.judging_options import JudgingOptions


@dataclass(frozen=True, slots=True, kw_only=True)
class Processing(JudgingOptions):
    """How frames are corrected, counted and judged; None means the default. Raises OptionError, a ConfigError.

    Without `calibration`, raw words are kept as they are and nothing is counted. Images that their source has corrected
    are judged all the same. Thresholds are in photons, or in keV if the session says keV.
    """

    calibration: Path | None = None
    """HDF5 file (docs/howto/calibration.md)."""
    gain_mode: GainMode | None = None
    """The gain mode of the frames, for a calibration of both modes."""
    gpu: bool = False
    """Process frames on a GPU."""
    dark_period: int | None = None
    """One in so many frames of the detector is dark, and tracks the pedestal (docs/howto/pedestal_tracking.md)."""
    dark_phase: int | None = None
    """Which frame of the period is dark, from 0; None: the last."""

    def __post_init__(self) -> None:
        if self.calibration is not None:
            object.__setattr__(self, "calibration", Path(self.calibration))
        needing = {"dark_period": "tracks the pedestals of a calibration", "gain_mode": "chooses of a calibration"}
        needing["gpu"] = "corrects raw words, by a calibration"
        if self.dark_period is None and self.dark_phase is not None:
            raise OptionError("{dark_phase} counts within a period: give {dark_period} as well")
        for name, does in needing.items():
            if getattr(self, name) not in (None, False) and self.calibration is None:
                raise OptionError(f"{{{name}}} {does}: give {{calibration}} as well")
        JudgingOptions.__post_init__(self)
        _ = self.dark_rule

    @property
    def inputs(self) -> list[Path]:
        """The files that are read."""
        return [self.calibration] if self.calibration else []

    @property
    def dark_rule(self) -> DarkRule | None:
        """Which frames are dark, if any: by default the last of each period. ConfigError for wrong values."""
        if self.dark_period is None:
            return None
        return DarkRule(self.dark_period, self.dark_period - 1 if self.dark_phase is None else self.dark_phase)

    def check_no_judging(self) -> None:
        """Raise OptionError if photons are to be judged, because raw words have none."""
        names = "threshold", "minimum_peaks", "sparse", "peaks", "ladder"
        given = [f"{{{name}}}" for name in names if getattr(self, name) is not None]
        if given:
            raise OptionError(f"{', '.join(given)} counts photons, raw words have none: give {{calibration}} as well")
