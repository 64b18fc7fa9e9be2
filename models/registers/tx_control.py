"""How the transmitter is armed and reset: `tx_control.sv`, cycle by cycle."""

from dataclasses import dataclass, replace
from typing import NamedTuple

IDLE_CYCLES = 8
"""A reset begins when the core has been idle for so long."""
RESET_CYCLES = 4


class Outputs(NamedTuple):
    """What the block says in a cycle."""

    armed: bool
    resetting: bool
    core_rst: bool
    clear: bool


@dataclass(frozen=True, slots=True)
class TxControl:
    """The state before a cycle, None where there is no such thing: cycles the core has been idle since the reset was
    asked for, cycles of reset to come, and whether the counters are being cleared. As after a reset of the block."""

    idle: int | None = None
    to_come: int | None = RESET_CYCLES
    clearing: bool = False

    @property
    def busy(self) -> bool:
        """Whether a reset is under way."""
        return self.idle is not None or self.to_come is not None or self.clearing

    def outputs(self, arm: bool, reset: bool) -> Outputs:
        """What is said in a cycle with these commands."""
        resetting = self.busy or reset
        return Outputs(arm and not resetting, resetting, self.to_come is not None, self.to_come == 1)

    def after(self, reset: bool, idle: bool, clear_busy: bool) -> "TxControl":
        """The state behind a cycle."""
        if self.idle is not None:
            seen = self.idle + 1 if idle else 0
            return TxControl(None, RESET_CYCLES) if seen == IDLE_CYCLES else TxControl(seen, None)
        if self.to_come is not None:
            return TxControl(None, None, True) if self.to_come == 1 else TxControl(None, self.to_come - 1)
        if self.clearing:
            return replace(self, clearing=clear_busy)
        return replace(self, idle=0) if reset else self
