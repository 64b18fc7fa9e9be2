"""The options of `framelane recv`, checked."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from framelane.cli.gain_mode import GainMode
from framelane.cli.live_transport import LiveOptions
from framelane.cli.output import check_no_input
from framelane.models.dark_frames import DarkRule
from framelane.models.errors import ConfigError
from framelane.models.jf_correct import MAX_VALUE
from framelane.models.peak_settings import PeakSettings
from framelane.receiver.ladder import check_thresholds, powers_of_two
from framelane.receiver.random_share import RandomShare
from framelane.receiver.veto import Veto

_THRESHOLD = 20
_MOST_PEAKS = 1 << 31


@dataclass(frozen=True, slots=True)
class RecvOptions:
    """What the user chose; None: the default.

    The packets are those of the capture `pcap` with `session`, or come `live`. Without `calibration` raw words are
    kept, and nothing is counted; images that are corrected already are judged. `minimum_peaks` pixels of at least
    `threshold` make a frame worth keeping; pixels of at least `sparse` are written as sparse rows: both in photons, or
    in keV where the session says so. ConfigError for what cannot be, InputError where an input is the output.
    """

    pcap: Path | None
    session: Path | None
    output: Path
    calibration: Path | None
    threshold: int | None
    minimum_peaks: int | None
    sparse: int | None
    dark_period: int | None = None
    dark_phase: int | None = None
    gain_mode: GainMode | None = None
    """Of the frames, for a calibration of both modes."""
    live: LiveOptions = field(default_factory=lambda: LiveOptions(transport=None, session=None))
    ladder: str | None = None
    """Thresholds with commas between; empty: none."""
    keep_rejected: float | None = None
    keep_seed: int | None = None
    peaks: Literal["pixels", "bragg"] | None = None
    """What the veto counts."""
    snr: float | None = None
    gpu: bool = False
    """Frames are processed by a GPU."""

    def __post_init__(self) -> None:
        if (self.pcap is None) == (self.live.transport is None):
            raise ConfigError("packets come from a capture or from the wire: give --pcap, or else --transport")
        if self.pcap is not None and self.session is None:
            raise ConfigError("a capture does not say what it holds: give --session, the receiver's session.json")
        if self.dark_period is None and self.dark_phase is not None:
            raise ConfigError("--dark-phase counts within a period: give --dark-period as well")
        if self.dark_period is not None and self.calibration is None:
            raise ConfigError("--dark-period tracks the pedestals of a calibration: give --calibration as well")
        if self.gain_mode is not None and self.calibration is None:
            raise ConfigError("--gain-mode chooses of a calibration: give --calibration as well")
        if self.gpu and self.calibration is None:
            raise ConfigError("--gpu corrects raw words, by a calibration: give --calibration as well")
        if self.live.ring == "gpu" and not self.gpu:
            raise ConfigError("--ring gpu is for frames that a GPU processes: give --gpu as well")
        if self.keep_rejected is not None and not self.minimum_peaks:
            raise ConfigError("--keep-rejected is a share of what is rejected: give --minimum-peaks as well")
        if self.keep_seed is not None and self.keep_rejected is None:
            raise ConfigError("--keep-seed draws from the rejected frames: give --keep-rejected as well")
        if self.snr is not None and self.peaks != "bragg":
            raise ConfigError("--snr is of the peak finder: give --peaks bragg as well")
        _ = self.dark_rule, self.share, self.bragg
        if self.sparse is not None and not 1 <= self.sparse <= MAX_VALUE:
            raise ConfigError(f"--sparse {self.sparse} is no threshold: give 1 to {MAX_VALUE}")
        if (self.minimum_peaks or 0) > _MOST_PEAKS:
            raise ConfigError(f"--minimum-peaks {self.minimum_peaks} is more than any image has pixels")
        for output in (self.output, self.drift_file):
            check_no_input(output, [path for path in (*self.inputs, self.live.publish) if path])
        if self.live.publish is not None:
            check_no_input(self.live.publish, self.inputs)

    @property
    def inputs(self) -> list[Path]:
        """The files that are read."""
        return [path for path in (self.pcap, self.session, self.live.plan, self.calibration) if path]

    @property
    def dark_rule(self) -> DarkRule | None:
        """Which frames are dark, if any is: without a phase the last of each period. ConfigError where it cannot be."""
        if self.dark_period is None:
            return None
        return DarkRule(self.dark_period, self.dark_period - 1 if self.dark_phase is None else self.dark_phase)

    @property
    def drift_file(self) -> Path:
        """Where the record of the tracked pedestals goes."""
        return Path(f"{self.output}.drift.json")

    @property
    def judging(self) -> list[str]:
        """The options given that judge photons."""
        chosen = {"threshold": self.threshold, "minimum-peaks": self.minimum_peaks, "sparse": self.sparse}
        chosen["peaks"] = len(self.peaks) if self.peaks else None
        chosen["ladder"] = None if self.ladder is None else len(self.ladder)
        return [f"--{name}" for name, value in chosen.items() if value is not None]

    @property
    def share(self) -> RandomShare | None:
        """The rejected frames that are kept. ConfigError where the share cannot be."""
        return None if self.keep_rejected is None else RandomShare(self.keep_rejected, self.keep_seed or 0)

    def rungs(self, fraction_bits: int) -> tuple[int, ...]:
        """The thresholds of the ladder, for values of so many fraction bits. ConfigError where they cannot be."""
        if self.ladder is None:
            return powers_of_two(fraction_bits)
        try:
            rungs = tuple(map(int, self.ladder.split(","))) if self.ladder else ()
        except ValueError:
            raise ConfigError(
                f"--ladder {self.ladder} is no list of thresholds: give whole numbers with commas, as 5,10,20"
            ) from None
        check_thresholds(rungs, fraction_bits)
        return rungs

    @property
    def bragg(self) -> PeakSettings | None:
        """What a Bragg peak is, where they are counted. ConfigError where that cannot be."""
        if self.peaks != "bragg":
            return None
        given: dict[str, Any] = {"snr": self.snr, "minimum": self.threshold}
        return PeakSettings(**{name: value for name, value in given.items() if value is not None})

    @property
    def veto(self) -> Veto:
        """The veto of these peaks. Raises ConfigError where there is none."""
        threshold = self.bragg.minimum if self.bragg else _THRESHOLD
        return Veto(threshold if self.threshold is None else self.threshold, self.minimum_peaks or 0)
