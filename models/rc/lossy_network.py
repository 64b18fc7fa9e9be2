"""A network that loses, doubles, corrupts and overtakes, by seeded chance."""

import heapq
import random
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Generic, TypeVar

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class LinkImpairments:
    """What a link does to packets: chances by packet, 0 to 1, and times in ns.

    All packets take `delay`, one that is late by chance up to `lateness` more, so that others overtake it.
    """

    loss: float = 0.0
    duplicate: float = 0.0
    corrupt: float = 0.0
    late: float = 0.0
    delay: int = 2_000
    lateness: int = 20_000


class LossyNetwork(Generic[T]):
    """One direction. `corrupt` makes a corrupted packet of a good one; without it such a packet is lost.

    `impairments` may change at any time: those of the moment when a packet is sent count.
    """

    def __init__(
        self, impairments: LinkImpairments, seed: int, corrupt: Callable[[T, random.Random], T] | None = None
    ) -> None:
        self.impairments = impairments
        self.counts: Counter[str] = Counter()
        """What happened: sent, lost, corrupted, duplicated, late."""
        self._random = random.Random(seed)
        self._corrupt = corrupt
        self._queue: list[tuple[int, int, T]] = []
        self._number = 0

    def _happens(self, chance: float, what: str) -> bool:
        happens = chance > 0 and self._random.random() < chance
        self.counts[what] += happens
        return happens

    def send(self, now: int, item: T) -> None:
        """A packet enters at the time `now`."""
        link = self.impairments
        self.counts["sent"] += 1
        if self._happens(link.loss, "lost"):
            return
        if self._happens(link.corrupt, "corrupted"):
            if self._corrupt is None:
                return
            item = self._corrupt(item, self._random)
        for _ in range(1 + self._happens(link.duplicate, "duplicated")):
            late = self._random.randrange(1, link.lateness) if self._happens(link.late, "late") else 0
            self._number += 1
            heapq.heappush(self._queue, (now + link.delay + late, self._number, item))

    def due(self, now: int) -> Iterator[T]:
        """All packets that have arrived by `now`, in their order."""
        while self._queue and self._queue[0][0] <= now:
            yield heapq.heappop(self._queue)[2]

    def next_arrival(self) -> int | None:
        """When the next packet arrives; None where none is under way."""
        return self._queue[0][0] if self._queue else None
