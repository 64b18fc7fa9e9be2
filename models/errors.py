"""What can go wrong, as one tree.

    FramelaneError
    ├── InputError        a file, a shape, a dtype or a value that a user gave
    ├── ConfigError       a configuration that cannot work
    ├── PacketError       a packet that a receiver must refuse; `reason` is the counter's name
    ├── TransportError    a socket, an interface or a capture that cannot be used
    ├── BoardError        a board that does not answer, is no transmitter that we know, or does not do what it is told
    ├── SimulationError   a design, Verilated or in HLS C++, could not be built, or did not end
    └── GpuError          a GPU, or its driver, that does not do what it is told (framelane.receiver.gpu.gpu_error)

The command line prints the message of any of them and exits with status 2.
"""


class FramelaneError(Exception):
    """Root of the tree. The message says what was wrong, where, and what to do."""


class InputError(FramelaneError):
    """Bad input: a missing or truncated file, a wrong shape or dtype, a value out of range."""


class ConfigError(FramelaneError):
    """A configuration that cannot work: an impossible MTU, a slot too small for its image."""


class PacketError(FramelaneError):
    """A packet that must be refused. `reason` is one word, the name of the counter that grows."""

    def __init__(self, reason: str, detail: str) -> None:
        super().__init__(f"{reason}: {detail}")
        self.reason = reason


class TransportError(FramelaneError):
    """A socket, an interface or a capture file that cannot be used."""


class BoardError(FramelaneError):
    """A board that does not answer, is no transmitter that we know, or does not do what it is told."""


class SimulationError(FramelaneError):
    """A design, Verilated or in HLS C++, could not be built, or did not end."""
