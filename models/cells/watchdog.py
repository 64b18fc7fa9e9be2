"""When something has waited too long."""


class Watchdog:
    """`watchdog.sv`, cycle by cycle: late two cycles after `limit` (of its unit a multiple, 0: never)."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.late = False
        self._waited = 0

    def step(self, *, waits: bool, moves: bool, over: bool) -> bool:
        """One cycle; whether it is late from the next one on, and was not before."""
        counts = waits and not moves and not self.late
        fired = bool(counts and self.limit and self._waited >= self.limit + 2)
        self._waited = self._waited + 1 if counts else 0
        self.late = fired or (self.late and not over)
        return fired
