"""Faults that leave every packet as it is: lost, repeated, out of order, late, and a sender that stops."""

from collections.abc import Sequence

from numpy.random import Generator

from framelane.source.impairments._impairment_step import NEVER, Passing, Step, When


class Drop(Step):
    """The packet is lost."""

    kind = "drop"

    def _hit(self, passing: Passing) -> Sequence[Passing]:
        self._did(passing, "lost")
        return ()


class _ByDistance(Step):
    """Holds packets until `distance` others have gone by."""

    def __init__(self, when: When, rng: Generator, distance: int) -> None:
        super().__init__(when, rng)
        self._distance = distance
        self._count = 0
        self._held: list[tuple[int, Passing]] = []

    def spares(self, start: int, count: int) -> bool:
        return not self._held and super().spares(start, count)

    def take(self, passing: Passing) -> Sequence[Passing]:
        self._count += 1
        out = list(super().take(passing))
        due = [held for at, held in self._held if at <= self._count]
        self._held = self._held[len(due) :]
        return out + due

    def flush(self) -> list[Passing]:
        held, self._held = [held for _, held in self._held], []
        return held

    def _hold(self, passing: Passing) -> None:
        self._held.append((self._count + self._distance, passing))


class Duplicate(_ByDistance):
    """The packet comes once more, `distance` packets later."""

    kind = "duplicate"

    def _hit(self, passing: Passing) -> Sequence[Passing]:
        self._did(passing, f"again, {self._distance} packets later")
        self._hold(passing)
        return (passing,)


class Reorder(_ByDistance):
    """The packet comes `distance` packets later."""

    kind = "reorder"

    def _hit(self, passing: Passing) -> Sequence[Passing]:
        self._did(passing, f"{self._distance} packets later")
        self._hold(passing)
        return ()


class Delay(Step):
    """The packet comes when `frames` frames have ended, its own being the first."""

    kind = "delay"

    def __init__(self, when: When, rng: Generator, frames: int) -> None:
        super().__init__(when, rng)
        self._frames = frames
        self._held: list[Passing] = []

    def spares(self, start: int, count: int) -> bool:
        return not self._held and super().spares(start, count)

    def take(self, passing: Passing) -> Sequence[Passing]:
        due = [held for held in self._held if held.frame + self._frames <= passing.frame]
        self._held = self._held[len(due) :]
        return [*due, *super().take(passing)]

    def flush(self) -> list[Passing]:
        held, self._held = self._held, []
        return held

    def _hit(self, passing: Passing) -> Sequence[Passing]:
        self._did(passing, f"held until {self._frames} frames have ended")
        self._held.append(passing)
        return ()


class Die(Step):
    """The sender stops: for ever (0), or until `frames` frames have ended, the one that it is in being the first."""

    kind = "die"

    def __init__(self, when: When, rng: Generator, frames: int) -> None:
        super().__init__(when, rng)
        self._frames = frames or NEVER
        self._back = 0

    def spares(self, start: int, count: int) -> bool:
        return not self._back and super().spares(start, count)

    def take(self, passing: Passing) -> Sequence[Passing]:
        if passing.frame < self._back:
            return ()
        self._back = 0
        return super().take(passing)

    def _hit(self, passing: Passing) -> Sequence[Passing]:
        self._back = passing.frame + self._frames
        silent = f"until frame {self._back}" if self._frames < NEVER else "for ever"
        self._did(passing, f"nothing comes from here on, {silent}")
        return ()
