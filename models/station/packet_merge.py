"""Whose packet goes next where control packets are put between those of a data stream."""

from dataclasses import dataclass
from enum import Enum


class Origin(Enum):
    """Where a packet comes from."""

    DATA = "data"
    CONTROL = "control"


@dataclass(slots=True)
class PacketMerge:
    """`packet_merge.sv`: control goes first, but not twice in a row while data wait; a hold lets nothing begin."""

    last: Origin = Origin.DATA

    def choose(self, data: bool, control: bool, hold_data: bool = False, hold_control: bool = False) -> Origin | None:
        """Whose packet begins, given which streams offer one (of control: a whole one); None if none may."""
        data, control = data and not hold_data, control and not hold_control
        if not data and not control:
            return None
        turn = control and not (data and self.last is Origin.CONTROL)
        self.last = Origin.CONTROL if turn else Origin.DATA
        return self.last
