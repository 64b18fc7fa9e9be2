"""The transmitter's counters: what `counters.sv` holds after a number of events."""

from framelane.base.errors import ConfigError


class Counters:
    """`size` counters, the first `pulses` of single events, the others of amounts; they count modulo 2^64."""

    def __init__(self, size: int, pulses: int) -> None:
        if not pulses < size <= 2048:
            raise ConfigError(f"{size} counters, {pulses} of single events, are impossible: give {pulses + 1}..2048")
        self.pulses = pulses
        self.values = [0] * size

    def pulse(self, index: int) -> None:
        """One event of a counter below `pulses`."""
        self.values[index] = (self.values[index] + 1) % (1 << 64)

    def count(self, index: int, amount: int) -> None:
        """An amount for a counter from `pulses` on. One that is not there counts nothing."""
        if self.pulses <= index < len(self.values):
            self.values[index] = (self.values[index] + amount) % (1 << 64)

    def clear(self) -> None:
        """All counters are 0."""
        self.values = [0] * len(self.values)
