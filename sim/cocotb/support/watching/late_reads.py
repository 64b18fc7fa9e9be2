"""A memory of cocotbext-axi whose answers to reads come late."""

from collections import deque
from collections.abc import Iterator
from typing import Any

from bench import Bench
from signals import now


class LateReads:
    """Holds back the data of each burst on the port `<prefix>_ar*`, `_r*` of a bench's design.

    Requests are taken meanwhile: the memory is slow, not narrow.
    """

    def __init__(self, bench: Bench, prefix: str, answers: Any) -> None:
        """`answers`: the model's channel of data, which answers bursts in their order."""
        self.latency = 0
        """Cycles from a burst's request to its first beat, beside those that it has anyway."""
        self.pauses: Iterator[bool] | None = None
        """Cycles in which the memory pauses beside that."""
        self._bench, self._resets = bench, bench.resets
        self._due: deque[int] = deque()
        """The first cycle for each burst's answer."""
        names = ("arvalid", "arready", "rvalid", "rready", "rlast")
        self._signals: dict[str, Any] = {name: getattr(bench.dut, f"{prefix}_{name}") for name in names}
        answers.set_pause_generator(self._pause())
        bench.watch(self._watch)

    def _pause(self) -> Iterator[bool]:
        while True:
            pauses = self.pauses is not None and next(self.pauses)
            yield pauses or bool(self._due and self._due[0] > self._bench.cycle)

    def _is(self, *names: str) -> bool:
        return all(now(self._signals[name]) for name in names)

    def _watch(self) -> None:
        if now(self._bench.rst) or self._resets != self._bench.resets:
            self._due.clear()
            self._resets = self._bench.resets
        if self._is("rvalid", "rready", "rlast") and self._due:
            self._due.popleft()
        if self._is("arvalid", "arready"):
            self._due.append(self._bench.cycle + self.latency)
