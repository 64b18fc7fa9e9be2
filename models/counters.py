"""The transmitter's counters: what `counters.sv` holds after a number of events."""

from framelane.models.errors import ConfigError

PULSES = 18
"""Counters of the whole transmitter, each of single events."""
FLOW, DESTINATION = 32, 64
"""Index of the first counter of flow 0 and of destination 0; each flow and destination has four."""


class Counters:
    """All counters of a transmitter with `destinations` destinations; they count modulo 2^64."""

    def __init__(self, destinations: int) -> None:
        if not 1 <= destinations <= 256:
            raise ConfigError(f"counters of {destinations} destinations are impossible: give 1..256")
        self.values = [0] * (DESTINATION + 4 * destinations)

    def pulse(self, index: int) -> None:
        """One event of a counter below PULSES."""
        self.values[index] = (self.values[index] + 1) % (1 << 64)

    def count(self, index: int, amount: int) -> None:
        """An amount for a counter from PULSES on. One that is not there counts nothing."""
        if PULSES <= index < len(self.values):
            self.values[index] = (self.values[index] + amount) % (1 << 64)

    def clear(self) -> None:
        """All counters are 0."""
        self.values = [0] * len(self.values)
