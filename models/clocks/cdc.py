"""What may come out of a crossing between two clocks, whatever their phases and resets (`hw/rtl/clocks`)."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import IntEnum

from framelane.base.errors import InputError


def gray(count: int) -> int:
    """The Gray code of a count: neighbours differ in one bit (F. Gray, US patent 2632058)."""
    return count ^ count >> 1


def count_of(code: int) -> int:
    """Invert `gray`."""
    count = code
    while code := code >> 1:
        count ^= code
    return count


@dataclass(frozen=True, slots=True)
class Received:
    """What came out between two ends of packets. A `cut` packet's last beat only says so."""

    beats: tuple[int, ...]
    cut: bool = False


def match(sent: Sequence[tuple[int, ...]], received: Sequence[Received]) -> list[int]:
    """For each received packet the index in `sent` of the one that it is, or is the beginning of.

    They come in order, none twice, each whole or cut: InputError where that is not so. Packets of `sent` must differ in
    their first beats.
    """
    at = {packet[0]: index for index, packet in enumerate(sent)}
    found: list[int] = []
    for number, packet in enumerate(received):
        own = packet.beats[:-1] if packet.cut else packet.beats
        index = at.get(own[0]) if own else None
        if index is None:
            raise InputError(f"packet {number} begins as none that was sent")
        if own != (sent[index][: len(own)] if packet.cut else sent[index]):
            raise InputError(f"packet {number} is not packet {index} of those sent, of {len(sent[index])} beats")
        if found and index <= found[-1]:
            raise InputError(f"packet {number} is packet {index} of those sent, after packet {found[-1]}")
        found.append(index)
    return found


class RestartState(IntEnum):
    """One side of `cdc_restart`; from one to the next one bit changes."""

    RUN = 0b00
    STOP = 0b10
    CLEAR = 0b11
    DONE = 0b01


_FOLLOWS = {
    RestartState.STOP: (RestartState.STOP, RestartState.CLEAR),
    RestartState.CLEAR: (RestartState.CLEAR, RestartState.DONE),
    RestartState.DONE: (RestartState.DONE, RestartState.RUN),
}
_NEXT = {
    **{RestartState.STOP: RestartState.CLEAR, RestartState.CLEAR: RestartState.DONE},
    RestartState.DONE: RestartState.RUN,
}


@dataclass(slots=True)
class Restart:
    """One side, cycle by cycle: it goes on when it has seen for `settled` cycles that the other has followed."""

    state: RestartState = RestartState.RUN
    settled: int = 7
    _wanted: bool = False
    _seen: int = field(default=0)

    @property
    def clears(self) -> bool:
        """What both sides share is cleared here."""
        return self.state is RestartState.CLEAR

    def step(self, rst: bool, quiet: bool, peer: RestartState) -> None:
        """One cycle. `peer` is the other side's state as this one sees it."""
        wanted, state = rst or self._wanted, self.state
        if state is RestartState.RUN:
            own = wanted and peer in (RestartState.RUN, RestartState.STOP)
            if own or (peer is RestartState.STOP and quiet):
                self.state = RestartState.STOP
        elif peer not in _FOLLOWS[state] or (rst and self.clears):
            self._seen = 0
        elif self._seen < self.settled:
            self._seen += 1
        else:
            self.state, self._seen = _NEXT[state], 0
        self._wanted = wanted and self.state is not RestartState.STOP and state is not RestartState.CLEAR
