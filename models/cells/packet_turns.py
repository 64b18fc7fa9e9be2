"""Whose packet goes next where several streams share one, a packet at a time (round robin)."""

from collections.abc import Set
from dataclasses import dataclass


@dataclass(slots=True)
class PacketTurns:
    """`packet_turns.sv`: of the streams that wait, the next one behind the last that had its turn."""

    streams: int
    last: int | None = None

    def choose(self, waiting: Set[int]) -> int | None:
        """The stream whose packet begins, of those that offer one; None if none does."""
        first = 0 if self.last is None else self.last + 1
        order = (k % self.streams for k in range(first, first + self.streams))
        chosen = next((stream for stream in order if stream in waiting), None)
        if chosen is not None:
            self.last = chosen
        return chosen
