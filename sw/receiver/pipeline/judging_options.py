"""The user's options for judging images, for `recv` and `correct` alike."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from framelane.base.errors import OptionError
from framelane.models.jungfrau.jf_correct import MAX_VALUE
from framelane.models.jungfrau.jf_packet import MODULE_COLUMNS, MODULE_ROWS
from framelane.models.peaks.peak_settings import Panel, PeakSettings
from framelane.receiver.pipeline.judging import Judging
from framelane.receiver.pipeline.ladder import check_thresholds, powers_of_two
from framelane.receiver.pipeline.random_share import RandomShare
from framelane.receiver.pipeline.veto import Veto

_THRESHOLD = 20
_MOST_PEAKS = 1 << 31


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgingOptions:
    """How images are counted and judged; None means the default. Raises OptionError, a ConfigError.

    Thresholds are in photons, or in keV if the images are.
    """

    threshold: int | None = None
    """Photons that make a pixel a peak; default 20, for the pixels of a Bragg peak 5."""
    minimum_peaks: int | None = None
    """Frames with fewer peaks are rejected; default 0, none."""
    peaks: Literal["pixels", "bragg"] | None = None
    """What is counted: pixels (default), or Bragg peaks made of such pixels (docs/reference/peaks.md)."""
    snr: float | None = None
    """Signal-to-noise ratio of a Bragg peak's pixels above the local background, at least; default 6."""
    sparse: int | None = None
    """Pixels of at least so many photons are put into sparse rows; None: there are no rows."""
    ladder: Sequence[int] | None = None
    """Thresholds for which pixels are counted, to replay a veto with other ones; default powers of two."""
    keep_rejected: float | None = None
    """Share of the rejected frames that is kept anyway, 0 to 1; default none."""
    keep_seed: int | None = None
    """Seed of the draw of those frames; default 0."""

    def __post_init__(self) -> None:
        if self.keep_rejected is not None and not self.minimum_peaks:
            raise OptionError("{keep_rejected} is a share of what is rejected: give {minimum_peaks} as well")
        if self.keep_seed is not None and self.keep_rejected is None:
            raise OptionError("{keep_seed} draws from the rejected frames: give {keep_rejected} as well")
        if self.snr is not None and self.peaks != "bragg":
            raise OptionError("{snr} is of the peak finder: give {peaks} bragg as well")
        _ = self.share, self.bragg
        if self.sparse is not None and not 1 <= self.sparse <= MAX_VALUE:
            raise OptionError("{sparse} {0} is not a threshold: give 1 to {1}", self.sparse, MAX_VALUE)
        if (self.minimum_peaks or 0) > _MOST_PEAKS:
            raise OptionError("{minimum_peaks} {0} is more than any image has pixels", self.minimum_peaks)

    @property
    def share(self) -> RandomShare | None:
        """The rejected frames that are kept. ConfigError for a share outside 0 to 1."""
        return None if self.keep_rejected is None else RandomShare(self.keep_rejected, self.keep_seed or 0)

    def rungs(self, fraction_bits: int) -> tuple[int, ...]:
        """The thresholds of the ladder, for values with so many fraction bits. ConfigError if they are impossible."""
        if self.ladder is None:
            return powers_of_two(fraction_bits)
        check_thresholds(self.ladder, fraction_bits)
        return tuple(self.ladder)

    @property
    def bragg(self) -> PeakSettings | None:
        """The definition of a Bragg peak, if these are counted. ConfigError for impossible settings."""
        if self.peaks != "bragg":
            return None
        given: dict[str, Any] = {"snr": self.snr, "minimum": self.threshold}
        return PeakSettings(**{name: value for name, value in given.items() if value is not None})

    @property
    def veto(self) -> Veto:
        """The veto on these peaks. ConfigError for an impossible threshold."""
        threshold = self.bragg.minimum if self.bragg else _THRESHOLD
        return Veto(threshold if self.threshold is None else self.threshold, self.minimum_peaks or 0)

    def judging(self, shape: tuple[int, int], fraction_bits: int = 0, panels: Sequence[Panel] | None = None) -> Judging:
        """The settings for images of `shape` (rows, columns), in units of `2**-fraction_bits` photons or keV.

        No Bragg peak crosses the border of one of the `panels`; None means whole modules, if the image is made of them.
        Raises ConfigError for impossible settings.
        """
        return Judging(
            veto=self.veto,
            sparse=self.sparse,
            rungs=self.rungs(fraction_bits),
            bragg=self.bragg,
            panels=_modules(shape) if panels is None else panels,
        )


def _modules(shape: tuple[int, int]) -> Sequence[Panel] | None:
    """Whole modules, one above the other and side by side; None for an image of one piece."""
    modules = not (shape[0] % MODULE_ROWS or shape[1] % MODULE_COLUMNS)
    return Panel.grid(shape, MODULE_ROWS, MODULE_COLUMNS) if modules else None
