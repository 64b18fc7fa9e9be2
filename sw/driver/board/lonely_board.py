"""Simulated transmitters whose link is up, and at whose other end nobody answers ARP."""

from typing import Any

from framelane.base.errors import ConfigError
from framelane.driver.registers.register_file import RegisterFile
from framelane.driver.simulated.verilated_rc import LinkedBoard, SimulatedRcBoard
from framelane.driver.simulated.verilated_top import SimulatedTop

NOBODY = (
    "nobody is at the other end of a simulated transmitter's link, so nobody answers ARP: ask a board, or try the "
    "other way with `framelane tap arping -c 3 10.77.0.2`"
)


class _Lonely(LinkedBoard):
    """Refuses to ask by ARP: its clock runs in accesses only, it would take minutes until it has waited in vain."""

    def __init__(self, *arguments: Any, **simulation: Any) -> None:
        super().__init__(*arguments, **simulation)
        self.link_up(True)
        command = RegisterFile(self).find("station_command")
        (resolve,) = (field for field in command.register.fields if field.name == "resolve")
        self._asking = command.offset, 1 << resolve.lsb

    def write(self, offset: int, value: int) -> None:
        """As on a board, but ConfigError for a question by ARP."""
        at, bit = self._asking
        if offset == at and value & bit:
            raise ConfigError(f"{NOBODY}; to try a file, remove resolve and gateway from it")
        super().write(offset, value)


class LonelyTop(_Lonely, SimulatedTop):
    """All of the gateware, with a clock where it is `timed`."""

    def __init__(self, width: int = 512, *, timed: bool = True, **simulation: Any) -> None:
        super().__init__(width, timed=timed, **simulation)


class LonelyRcBoard(_Lonely, SimulatedRcBoard):
    """The transmitter with RC alone, without frame store and correction."""
