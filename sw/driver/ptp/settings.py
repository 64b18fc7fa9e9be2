"""What an ordinary clock is told."""

import math
from dataclasses import dataclass

from framelane.base.errors import ConfigError


@dataclass(frozen=True, slots=True, kw_only=True)
class PtpSettings:
    """How to follow a master. ConfigError for values that cannot be.

    `domain`: of the masters that are heard. `lock_ns`: locked is a clock whose offset is known and kept within so many
    ns. `window_s`: so far back messages count; longer, the better against jitter, shorter, the better with an
    oscillator that wanders. `asymmetry_ns`: by how much the way from the master is longer than the mean of both ways
    (delayAsymmetry). `max_rate_ppm`: a master that is farther from the clock's nominal rate is not followed.
    `holdover_ppb`: by so much its rate may be off after a while without master. `log_delay`: the logarithm to base 2 of
    the mean seconds between two delay requests, instead of what the master wants.
    """

    domain: int = 0
    lock_ns: float = 100.0
    window_s: float = 256.0
    asymmetry_ns: float = 0.0
    max_rate_ppm: float = 200.0
    holdover_ppb: float = 100.0
    announce_timeout: int = 3
    log_delay: int | None = None

    def __post_init__(self) -> None:
        if not 0 <= self.domain <= 255:
            raise ConfigError(f"PTP domain {self.domain} cannot be: give 0 to 255")
        for name in ("lock_ns", "window_s", "max_rate_ppm", "holdover_ppb"):
            value = getattr(self, name)
            if not (math.isfinite(value) and value > 0):
                raise ConfigError(f"{name} = {value} cannot be: give a number above 0")
        if self.announce_timeout < 2:
            raise ConfigError(f"announce_timeout = {self.announce_timeout} cannot be: give 2 or more intervals")
        if self.log_delay is not None and not -7 <= self.log_delay <= 7:
            raise ConfigError(f"log_delay = {self.log_delay} cannot be: give -7 (128 a second) to 7")
