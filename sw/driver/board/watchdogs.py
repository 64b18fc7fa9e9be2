"""How long the Ethernet core and memory may stand still, as the register `watchdog` holds it."""

from dataclasses import asdict, dataclass
from math import ceil

from framelane.base.errors import ConfigError

WATCHDOG_CYCLES, WATCHDOG_MAX = 1 << 16, 0xFFFF
"""Unit of the register `watchdog`, and how many it holds."""


@dataclass(frozen=True, slots=True)
class Watchdogs:
    """Seconds until packets are dropped before the Ethernet core, and accesses to memory fail; 0: never."""

    mac_s: float = 0.0
    memory_s: float = 0.0

    def units(self, clock_hz: int) -> dict[str, int]:
        """The fields of the register, rounded up. ConfigError for times that it does not hold."""
        unit_s = WATCHDOG_CYCLES / clock_hz
        found = {name.removesuffix("_s"): ceil(seconds / unit_s) for name, seconds in asdict(self).items()}
        for name, value in found.items():
            if not 0 <= value <= WATCHDOG_MAX:
                raise ConfigError(f"the time of the {name} watchdog must be 0 to {WATCHDOG_MAX * unit_s:.3g} s")
        return found
