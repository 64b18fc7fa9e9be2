"""One kind of fault on a line, as a step that packets go through one by one."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from numpy.random import Generator

NEVER = 1 << 62
"""More packets or frames than any run has."""


@dataclass(frozen=True, slots=True)
class Passing:
    """A packet on the line: its index in the stream as it was sent (-1: a foreign packet) and its frame."""

    index: int
    frame: int
    packet: bytes


@dataclass(frozen=True, slots=True)
class Deed:
    """What was done to the packet `index` of frame `frame`: the kind of fault, and in words what exactly."""

    index: int
    frame: int
    kind: str
    what: str


@dataclass(frozen=True, slots=True)
class When:
    """To which packets: a random `share` of them, or those with these `indices`."""

    share: float = 0.0
    indices: tuple[int, ...] = ()


class Step:
    """One kind of fault on a line: packets go in in their order, what comes of each comes out."""

    kind: ClassVar[str]

    def __init__(self, when: When, rng: Generator) -> None:
        self.deeds: list[Deed] = []
        self._rng = rng
        self._when = when
        self._wait = self._draw()
        """Packets that are spared before the next that is hit."""

    def spares(self, start: int, count: int) -> bool:
        """Whether nothing happens to the next `count` packets, which have the indices from `start` on."""
        return self._wait >= count and not any(start <= index < start + count for index in self._when.indices)

    def skip(self, count: int) -> None:
        """They went by."""
        self._wait -= count

    def take(self, passing: Passing) -> Sequence[Passing]:
        """One packet; what goes on now."""
        if self._wait:
            self._wait -= 1
            hit = passing.index in self._when.indices
        else:
            self._wait, hit = self._draw(), True
        return self._hit(passing) if hit else (passing,)

    def flush(self) -> list[Passing]:
        """What is held back, at the end of the stream."""
        return []

    def _hit(self, passing: Passing) -> Sequence[Passing]:
        raise NotImplementedError

    def _draw(self) -> int:
        return int(self._rng.geometric(self._when.share)) - 1 if self._when.share else NEVER

    def _did(self, passing: Passing, what: str) -> None:
        self.deeds.append(Deed(passing.index, passing.frame, self.kind, what))

    def _replaced(self, passing: Passing, packet: bytes, what: str) -> Sequence[Passing]:
        """The packet is another one now; nothing was done where it is the same."""
        if packet != passing.packet:
            self._did(passing, what)
        return (replace(passing, packet=packet),)
