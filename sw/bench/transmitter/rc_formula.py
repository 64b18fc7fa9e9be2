"""Go-back-N: how much of the line is goodput when packets are lost. All times in one unit, clock cycles say.

Where each lost packet costs as much as N packets, that is (1 - p) / (1 - p + p N) at the loss p (S. Lin, D. Costello,
M. Miller, "Automatic-repeat-request error-control schemes", IEEE Communications Magazine 22(12), 1984; D. Bertsekas,
R. Gallager, "Data Networks", 2.4.2). That counts a NAK for every loss. An RC receiver gives one only, until the packet
that it waits for has come (InfiniBand vol. 1, 9.7.5.2.8): where that packet is lost again, or the NAK, a time-out must
help, which lasts longer. `cycles` adds these.
"""

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import ceil, inf
from statistics import mean

_LIMIT = 64
"""Losses in a row, of one packet, that are looked at."""


@dataclass(frozen=True, slots=True)
class Path:
    """One saturated queue pair.

    `packet`: a packet on the line. `round_trip`: from the end of a message's last packet to the begin of the packet
    that its acknowledgement lets in. `messages`: packets of each, over and over again; the last of each is
    acknowledged. `window`: packets outstanding, whole messages. `timeout`, doubled `backoff` times at most. `ahead`:
    how long what is issued when a NAK comes takes to leave, beyond the memory's part of the round trip.
    """

    packet: float
    round_trip: float
    messages: Sequence[int]
    window: int
    timeout: float
    backoff: int
    ahead: float = inf

    @property
    def usable(self) -> float:
        """Packets outstanding on average where the window is full, its oldest message whole."""
        return mean(_fits(self, k, 0) for k in range(len(self.messages)))

    @property
    def after_loss(self) -> float:
        """The same where it is full behind a lost packet, that one included: any of a message."""
        places = [(k, skip) for k, n in enumerate(self.messages) for skip in range(n)]
        return mean(_fits(self, k, skip) for k, skip in places)

    @property
    def full_round(self) -> float:
        """From the begin of a message to that of the one that its acknowledgement lets in.

        Acknowledgements come in order: the longest messages set the pace.
        """
        return self.round_trip + max(self.messages) * self.packet


def _fits(path: Path, first: int, skip: int) -> int:
    total = path.messages[first] - skip
    for n in _following(path.messages, first):
        if total + n > path.window:
            break
        total += n
    return total


def _following(messages: Sequence[int], first: int) -> Iterator[int]:
    return itertools.islice(itertools.cycle(messages), first + 1, None)


def lossless(path: Path) -> float:
    """Time per packet when nothing is lost: the line's, or a window each round trip, whichever is longer."""
    return max(path.packet, path.full_round / path.usable)


def going_back(path: Path) -> float:
    """Time from a lost packet's start to its second one, by a NAK.

    The next packet causes the NAK. What was issued before it came leaves first: what is ahead, or less where no more
    fits the window. Where the last packet before a full window's pause is lost, the next one comes after it.
    """
    nak = 2 * path.packet + path.round_trip
    line = min(path.after_loss * path.packet, nak + path.ahead)
    pause = max(0.0, path.full_round - path.usable * path.packet)
    return max(nak, line) + pause / path.usable


def waits(path: Path, loss: float, before: int) -> float:
    """Mean time of all time-outs that follow a packet sent again, after `before` time-outs without progress."""
    total, chance = 0.0, 1.0
    for k in range(before, before + _LIMIT):
        chance *= loss
        total += chance * wait(path, k)
    return total


def wait(path: Path, before: int, under_way: float | None = None) -> float:
    """Time until a time-out counts, after so many that did without progress.

    Those during which packets leave are started once more: as many as `under_way` lasts, one at least. Behind a time
    of going back that is the window.
    """
    timeout = path.timeout * 2.0 ** min(before, path.backoff)
    leaves = path.after_loss * path.packet if under_way is None else under_way
    return timeout * (1 + max(1, ceil(leaves / timeout)))


def lost(path: Path, loss: float, ack_loss: float) -> float:
    """Mean time that one loss costs, of a packet that was sent for the first time since the last progress.

    By a NAK, if it arrives; without it by a time-out, which runs since the last acknowledgement: that of the message
    before. The rest of the window leaves meanwhile.
    """
    by_nak = going_back(path) + waits(path, loss, 0)
    within = mean((n - 1) / 2 for n in path.messages) * path.packet
    start = path.round_trip - within
    by_timeout = start + wait(path, 0, path.after_loss * path.packet - start) + waits(path, loss, 1)
    return (1 - ack_loss) * by_nak + ack_loss * by_timeout


def cycles(path: Path, loss: float, ack_loss: float) -> float:
    """Time per packet that arrives in order. `loss`: of a packet; `ack_loss`: of an acknowledgement; 0 to below 1."""
    return lossless(path) + loss * lost(path, loss, ack_loss)


def textbook(path: Path, loss: float) -> float:
    """The same by the formula of go-back-N, of which every NAK arrives: lossless + p / (1 - p) times a way back."""
    return lossless(path) + loss / (1 - loss) * going_back(path)
