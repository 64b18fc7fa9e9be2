"""What becomes of the frames of a run: how they are corrected, counted and judged."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from framelane.base.errors import OptionError
from framelane.calibration.gain_mode import GainMode
from framelane.models.jungfrau.jf_correct import MAX_VALUE
from framelane.models.peaks.peak_settings import PeakSettings
from framelane.models.pedestal.dark_frames import DarkRule
from framelane.receiver.pipeline.ladder import check_thresholds, powers_of_two
from framelane.receiver.pipeline.random_share import RandomShare
from framelane.receiver.pipeline.veto import Veto

_THRESHOLD = 20
_MOST_PEAKS = 1 << 31


@dataclass(frozen=True, slots=True, kw_only=True)
class Processing:
    """How frames are corrected, counted and judged; None: the default. OptionError (a ConfigError) for what cannot be.

    Without `calibration` raw words are kept as they are, and nothing is counted; images that their source has corrected
    are judged. Thresholds are in photons, or in keV where the session says keV.
    """

    calibration: Path | None = None
    """HDF5 file (docs/calibration.md)."""
    gain_mode: GainMode | None = None
    """Of the frames, for a calibration of both modes."""
    gpu: bool = False
    """Frames are processed by a GPU."""
    threshold: int | None = None
    """From so many photons on a pixel is a peak; 20, of a Bragg peak's pixels 5."""
    minimum_peaks: int | None = None
    """Frames with fewer peaks are rejected; 0: none is."""
    peaks: Literal["pixels", "bragg"] | None = None
    """What is counted: pixels, or Bragg peaks of such pixels (docs/peaks.md)."""
    snr: float | None = None
    """Of a Bragg peak's pixels, over the background around them; 6."""
    sparse: int | None = None
    """Pixels of at least so many photons leave as sparse rows; None: there are none."""
    ladder: Sequence[int] | None = None
    """Thresholds whose pixels are counted, so that a veto can be replayed with others; powers of two."""
    keep_rejected: float | None = None
    """This share of the rejected frames is kept all the same, 0 to 1; none."""
    keep_seed: int | None = None
    """Of the draw of those frames; 0."""
    dark_period: int | None = None
    """One of so many frames of the detector is dark: the pedestal follows it (docs/pedestal_tracking.md)."""
    dark_phase: int | None = None
    """The dark frame of a period, from 0; the last."""

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
        if self.keep_rejected is not None and not self.minimum_peaks:
            raise OptionError("{keep_rejected} is a share of what is rejected: give {minimum_peaks} as well")
        if self.keep_seed is not None and self.keep_rejected is None:
            raise OptionError("{keep_seed} draws from the rejected frames: give {keep_rejected} as well")
        if self.snr is not None and self.peaks != "bragg":
            raise OptionError("{snr} is of the peak finder: give {peaks} bragg as well")
        _ = self.dark_rule, self.share, self.bragg
        if self.sparse is not None and not 1 <= self.sparse <= MAX_VALUE:
            raise OptionError("{sparse} {0} is no threshold: give 1 to {1}", self.sparse, MAX_VALUE)
        if (self.minimum_peaks or 0) > _MOST_PEAKS:
            raise OptionError("{minimum_peaks} {0} is more than any image has pixels", self.minimum_peaks)

    @property
    def inputs(self) -> list[Path]:
        """The files that are read."""
        return [self.calibration] if self.calibration else []

    @property
    def dark_rule(self) -> DarkRule | None:
        """Which frames are dark, if any is: without a phase the last of each period. ConfigError where it cannot be."""
        if self.dark_period is None:
            return None
        return DarkRule(self.dark_period, self.dark_period - 1 if self.dark_phase is None else self.dark_phase)

    def check_no_judging(self) -> None:
        """OptionError where photons are to be judged: raw words have none."""
        names = "threshold", "minimum_peaks", "sparse", "peaks", "ladder"
        given = [f"{{{name}}}" for name in names if getattr(self, name) is not None]
        if given:
            raise OptionError(f"{', '.join(given)} counts photons, raw words have none: give {{calibration}} as well")

    @property
    def share(self) -> RandomShare | None:
        """The rejected frames that are kept. ConfigError where the share cannot be."""
        return None if self.keep_rejected is None else RandomShare(self.keep_rejected, self.keep_seed or 0)

    def rungs(self, fraction_bits: int) -> tuple[int, ...]:
        """The thresholds of the ladder, for values of so many fraction bits. ConfigError where they cannot be."""
        if self.ladder is None:
            return powers_of_two(fraction_bits)
        check_thresholds(self.ladder, fraction_bits)
        return tuple(self.ladder)

    @property
    def bragg(self) -> PeakSettings | None:
        """What a Bragg peak is, where they are counted. ConfigError where that cannot be."""
        if self.peaks != "bragg":
            return None
        given: dict[str, Any] = {"snr": self.snr, "minimum": self.threshold}
        return PeakSettings(**{name: value for name, value in given.items() if value is not None})

    @property
    def veto(self) -> Veto:
        """The veto of these peaks. ConfigError where there is none."""
        threshold = self.bragg.minimum if self.bragg else _THRESHOLD
        return Veto(threshold if self.threshold is None else self.threshold, self.minimum_peaks or 0)


def ladder_of(text: str) -> tuple[int, ...]:
    """The thresholds of a ladder as people write them, "5,10,20"; none of an empty text. OptionError for others."""
    try:
        return tuple(map(int, text.split(","))) if text else ()
    except ValueError:
        raise OptionError(
            "{ladder} {0} is no list of thresholds: give whole numbers with commas, as 5,10,20", text
        ) from None
