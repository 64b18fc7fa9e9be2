"""A memory whose answers to reads come late."""

from collections import deque
from collections.abc import Callable, Iterator
from typing import Any

from bench import Bench
from signals import now

MOST = 1000
"""Cycles of the longest latency that is promised to make no gap."""


class LateReads:
    """Holds back the data of each burst on the port `<prefix>_ar*`, `_r*` of a bench's design, or `ar*`, `r*`.

    With `answers`, of cocotbext-axi, requests are taken meanwhile: the memory is slow, not narrow. Without, the bench's
    own memory looks at `is_held`.
    """

    def __init__(self, bench: Bench, prefix: str, answers: Any = None) -> None:
        """`answers`: the model's channel of data, which answers bursts in their order."""
        self.latency: Callable[[], int] = lambda: 0
        """Cycles from a burst's request to its first beat, beside those that it has anyway: asked for each burst."""
        self.pauses: Iterator[bool] | None = None
        """Cycles in which the memory pauses beside that."""
        self._bench, self._resets = bench, bench.resets
        self._due: deque[tuple[int, int]] = deque()
        """The cycle of each burst's request, and the first one for its answer."""
        self._answered = False
        """Whether the oldest burst's answer has begun."""
        self.longest = 0
        """Most cycles from a burst's request to its first beat, so far."""
        names, before = ("arvalid", "arready", "rvalid", "rready", "rlast"), f"{prefix}_" if prefix else ""
        self._signals: dict[str, Any] = {name: getattr(bench.dut, before + name) for name in names}
        if answers:
            answers.set_pause_generator(self._pause())
        bench.watch(self._watch)

    def _pause(self) -> Iterator[bool]:
        while True:
            pauses = self.pauses is not None and next(self.pauses)
            yield pauses or self.is_held()

    def any_latency(self) -> None:
        """Draw the latency of each burst from now on: 0 to `MOST` cycles, each as likely."""
        self.latency = lambda: self._bench.random.randint(0, MOST)

    def is_held(self) -> bool:
        """Whether the oldest burst's answer has to wait."""
        return bool(self._due and self._due[0][1] > self._bench.cycle)

    def _is(self, *names: str) -> bool:
        return all(now(self._signals[name]) for name in names)

    def _watch(self) -> None:
        cycle = self._bench.cycle
        if now(self._bench.rst) or self._resets != self._bench.resets:
            self._due.clear()
            self._answered = False
            self._resets = self._bench.resets
        if self._due and self._is("rvalid"):
            if not self._answered:
                self.longest = max(self.longest, cycle - self._due[0][0])
            self._answered = not self._is("rready", "rlast")
            if not self._answered:
                self._due.popleft()
        if self._is("arvalid", "arready"):
            self._due.append((cycle, cycle + self.latency()))
