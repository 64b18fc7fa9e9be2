"""The rule of a MAC that sends while it is given: no cycle without tvalid inside a packet."""

from typing import Any

from bench import Bench
from signals import now


class GapRule:
    """Watches the stream `<name>_t*` of a bench, cycle by cycle. Cycles in which the sink pauses are not gaps."""

    def __init__(self, bench: Bench, name: str = "m_axis", *, asserts: bool = True) -> None:
        """`asserts`: a gap fails the test at once; else it is only counted."""
        dut: Any = bench.dut
        self._bench, self._name, self._asserts = bench, name, asserts
        self._valid, self._ready, self._last = (getattr(dut, f"{name}_{s}") for s in ("tvalid", "tready", "tlast"))
        self._inside = False
        self.gaps = 0
        """Cycles without tvalid inside a packet."""
        self.idle = 0
        """Cycles without tvalid since the last packet."""
        self.least_idle: int | None = None
        """Fewest such cycles between two packets."""
        self._any = False
        bench.watch(self._watch)

    def forget(self) -> None:
        """A reset of this side: nothing is under way."""
        self._inside = self._any = False

    def _watch(self) -> None:
        if self._bench.rst is not None and now(self._bench.rst):
            self.forget()
            return
        if not now(self._valid):
            self.gaps += self._inside
            assert not (self._asserts and self._inside), f"{self._name}: gap in a packet, cycle {self._bench.cycle}"
            self.idle += 1
            return
        if not self._inside and self._any and self.idle >= 0:
            self.least_idle = min(self.idle, self.idle if self.least_idle is None else self.least_idle)
            self._any = False
        if now(self._ready):
            self._inside = not now(self._last)
            if not self._inside:
                self._any, self.idle = True, 0
