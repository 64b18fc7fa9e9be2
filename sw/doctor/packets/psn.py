"""PSNs that are missing, that came twice, and that came late: the network's account, packet by packet."""

import bisect

from framelane.doctor.cause import Cause, Finding, Kind, found
from framelane.doctor.packets.qp_state import distance

_WILD = 64
"""A jump of more may be one packet with a wrong PSN: the next packet tells."""

_REMEMBERED = 4096
"""Refused packets whose PSN may turn out to be one of those that are missing."""

LOST = Cause(
    "lost",
    Kind.NETWORK,
    "packets are missing: their PSNs were skipped and never came",
    "look at drops: rx_missed_errors and rx_dropped of the receiver, queue drops of `framelane recv`, the switch's "
    "counters; pace the source or switch on PFC",
)
DUPLICATE = Cause(
    "duplicate",
    Kind.NETWORK,
    "a PSN came again",
    "look for a loop or a mirror in the network, or two captures in one; a retransmission is right on RC only",
)
REORDERED = Cause(
    "reordered",
    Kind.NETWORK,
    "a packet came after one with a higher PSN",
    "one path for each QP: a fixed UDP source port, no link aggregation by packet",
)
JUMP = Cause(
    "psn-jump",
    Kind.NETWORK,
    "one packet has a PSN far from those before and after it: UC takes it, RC does not",
    "look at what counts the PSN in the source; several senders on one QP do this too",
)
RESTARTED = Cause(
    "psn-before-session",
    Kind.WARNING,
    "the first packet has a PSN from before the session's first: RC takes it for a repetition, the soft NIC may call "
    "what follows late",
    "give the source the psn of the present session, or restart it",
)
MID_STREAM = Cause(
    "begun-late",
    Kind.NOTE,
    "the capture begins later than the session: the first PSN is not the session's",
    "start the capture before the source, if the beginning matters",
)


Numbered = tuple[int, Finding]
"""A finding and the number of its packet."""


class PsnTrack:
    """Follows the PSNs of one source that begins with `psn`; `frame_packets`: about how many a frame has."""

    def __init__(self, psn: int, frame_packets: int) -> None:
        self._psn = psn
        self._base = 0
        """The PSN that is next, counted on without wrapping, from the session's first as 0."""
        self._frame_packets = frame_packets
        self._starts: list[int] = []
        self._stops: list[int] = []
        """Missing: ranges of unwrapped PSNs, in order."""
        self._wild: tuple[int, int] | None = None
        """PSN and number of a packet that has jumped ahead."""
        self._first = True
        self._refused: dict[int, None] = {}
        """PSNs of refused packets that were not missing when they came."""
        self.duplicates = self.reordered = 0

    @property
    def lost(self) -> int:
        """PSNs that were skipped and have not come."""
        return sum(self._stops) - sum(self._starts)

    def take(self, psn: int, number: int) -> list[Numbered]:
        """Count packet `number` with `psn`."""
        ahead = self._ahead(psn)
        if self._first:
            return self._begin(psn, number, ahead)
        if self._wild is None:
            if ahead <= _WILD:
                return self._count(psn, number, ahead)
            self._wild = psn, number
            return []
        (wild, of), self._wild = self._wild, None
        if 0 <= ahead <= _WILD and not 0 < distance(psn, wild) <= _WILD:
            jump = found(JUMP, f"PSN {wild:#x}, the next would be {self._next():#x}")
            self._base += ahead > 0  # it came instead of the right one
            return [(of, jump), *self._count(psn, number, self._ahead(psn))]
        return [*self._count(wild, of, self._ahead(wild)), *self._count(psn, number, self._ahead(psn))]

    def finish(self) -> list[Numbered]:
        """What is known when nothing more comes."""
        if self._wild is None:
            return []
        (wild, of), self._wild = self._wild, None
        return self._count(wild, of, self._ahead(wild))

    def fill(self, psn: int) -> None:
        """A packet that was refused may have had this PSN: then it is not lost."""
        if not self._close(self._base + self._ahead(psn)):
            self._refused[psn] = None
            if len(self._refused) > _REMEMBERED:
                del self._refused[next(iter(self._refused))]

    def _next(self) -> int:
        return self._psn + self._base & 0xFFFFFF

    def _ahead(self, psn: int) -> int:
        return distance(psn, self._next())

    def _begin(self, psn: int, number: int, ahead: int) -> list[Numbered]:
        self._first = False
        self._base = ahead + 1
        if ahead < 0:
            return [(number, found(RESTARTED, f"PSN {psn:#x}, the session's first is {self._psn:#x}"))]
        if ahead >= self._frame_packets and ahead > len(self._refused):
            late = f"PSN {psn:#x}: {ahead} packets after the session's first, {self._psn:#x}"
            return [(number, found(MID_STREAM, late))]
        self._base = 0
        return self._count(psn, number, ahead)

    def _count(self, psn: int, number: int, ahead: int) -> list[Numbered]:
        at = self._base + ahead
        if ahead >= 0:
            first, before = self._next(), self.lost
            self._skip_to(at)
            self._base += 1
            gone = self.lost - before
            return [(number, found(LOST, _gap(first, ahead, gone)))] if gone else []
        if self._close(at):
            self.reordered += 1
            return [(number, found(REORDERED, f"PSN {psn:#x} comes {-ahead} packets late"))]
        self.duplicates += 1
        return [(number, found(DUPLICATE, f"PSN {psn:#x} again, {-ahead - 1} packets after it had passed"))]

    def _skip_to(self, at: int) -> None:
        if at > self._base:
            first, base = self._next(), self._base
            self._starts.append(base)
            self._stops.append(at)
            for psn in [psn for psn in self._refused if 0 <= distance(psn, first) < at - base]:
                del self._refused[psn]
                self._close(base + distance(psn, first))
        self._base = at

    def _close(self, at: int) -> bool:
        """Take one PSN out of the missing ones."""
        k = bisect.bisect_right(self._starts, at) - 1
        if k < 0 or at >= self._stops[k]:
            return False
        start, stop = self._starts.pop(k), self._stops.pop(k)
        for low, high in ((at + 1, stop), (start, at)):
            if low < high:
                self._starts.insert(k, low)
                self._stops.insert(k, high)
        return True


def _gap(psn: int, count: int, gone: int) -> str:
    if count == 1:
        return f"PSN {psn:#x} is missing"
    some = "" if gone == count else f" of {count}"
    return f"{gone}{some} PSNs are missing, {psn:#x} to {psn + count - 1 & 0xFFFFFF:#x}"


CAUSES = (LOST, DUPLICATE, REORDERED, JUMP, RESTARTED, MID_STREAM)
