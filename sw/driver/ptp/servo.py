"""The controller: from offsets to the rate of the clock, proportional and integral."""

from dataclasses import dataclass

_PROPORTIONAL = 0.3
"""ppb for each ns: 1/s."""
_INTEGRAL = 0.02
_MOST_PPB = 50_000.0
"""So fast the clock is slewed at most, beside its rate."""


@dataclass(slots=True)
class Servo:
    """`rate_ppb`: what the clock is adjusted by in the long run, the integral part."""

    rate_ppb: float = 0.0

    def control(self, offset_ns: float, seconds: float) -> float:
        """The adjustment in ppb for the next time, `seconds` after the last one, while the clock is ahead by that."""
        wanted = _PROPORTIONAL * offset_ns
        slewing = max(-_MOST_PPB, min(_MOST_PPB, wanted))
        if slewing == wanted:  # else the integral would grow while the proportional part does all that it can
            self.rate_ppb -= _INTEGRAL * offset_ns * seconds
        return self.rate_ppb - slewing
