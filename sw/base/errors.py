"""What can go wrong, as one tree.

    FramelaneError
    ├── InputError        a file, a shape, a dtype or a value that a user gave
    │   └── InputOptionError  the same, with an option in the message
    ├── ConfigError       a configuration that cannot work
    │   └── OptionError       an option that cannot be, or several that contradict each other
    ├── PacketError       a packet that a receiver must refuse; `reason` is the counter's name
    ├── TransportError    a socket, an interface or a capture that cannot be used
    ├── BoardError        a board that does not answer, is of an unknown kind, or does not do what it is told
    ├── SimulationError   a design, Verilated or in HLS C++, could not be built, or did not end
    └── GpuError          a GPU, or its driver, that does not do what it is told (framelane.receiver.gpu.gpu_error)

The command line prints the message of any of them and exits with status 2. What an error with options calls
`link_port`, as the argument is called, it prints as `--link-port`.
"""

from collections.abc import Callable
from string import Formatter
from typing import Any


class FramelaneError(Exception):
    """Root of the tree. The message says what was wrong, where, and what to do."""


class InputError(FramelaneError):
    """Bad input: a missing or truncated file, a wrong shape or dtype, a value out of range."""


class ConfigError(FramelaneError):
    """A configuration that cannot work: an impossible MTU, a slot too small for its image."""


class NamesOptions(FramelaneError):
    """An error whose message names options.

    `template` names options in braces, `{link_port}`, and values by their place, `{0}`. The message has the names of
    the keywords; `spelled` has them as somebody else writes them, `--link-port`.
    """

    def __init__(self, template: str, *values: object) -> None:
        super().__init__(template, *values)
        self._template, self._values = template, values

    def spelled(self, spell: Callable[[str], str]) -> str:
        """The message with `spell(name)` for each option."""
        return _Spelling(spell).vformat(self._template, self._values, {})

    def __str__(self) -> str:
        return self.spelled(str)


class InputOptionError(NamesOptions, InputError):
    """Bad input, where the message says which option would help."""


class OptionError(NamesOptions, ConfigError):
    """An option that cannot be, or two that contradict each other."""


class _Spelling(Formatter):
    def __init__(self, spell: Callable[[str], str]) -> None:
        self._spell = spell

    def get_value(self, key: int | str, args: Any, kwargs: Any) -> Any:
        return self._spell(key) if isinstance(key, str) else args[key]


class PacketError(FramelaneError):
    """A packet that must be refused. `reason` is one word, the name of the counter that grows."""

    def __init__(self, reason: str, detail: str) -> None:
        super().__init__(f"{reason}: {detail}")
        self.reason = reason


class TransportError(FramelaneError):
    """A socket, an interface or a capture file that cannot be used."""


class BoardError(FramelaneError):
    """A board that does not answer, is not a transmitter that we know, or does not do what it is told."""


class SimulationError(FramelaneError):
    """A design, Verilated or in HLS C++, could not be built, or did not end."""
