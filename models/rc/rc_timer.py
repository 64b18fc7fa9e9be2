"""Times of an RC requester: how long it waits for an acknowledgement, and for a receiver that was not ready."""

TICK_NS = 1024
"""One tick, in ns: a quarter of InfiniBand's unit of time-outs."""
LONGEST = 20
"""Longest time-out, back-off included, as an exponent: 4.3 s."""
RNR_CODES = 32


def timeout_ticks(exponent: int) -> int:
    """Ticks of the time-out 4.096 us * 2^exponent (InfiniBand vol. 1, 9.9.2.1.1), at most that of `LONGEST`.

    Unlike there, 0 does not mean "for ever": nothing does.
    """
    return 4 << min(exponent, LONGEST)


def rnr_ticks(code: int) -> int:
    """Ticks that an RNR NAK with the timer `code` (5 bits) asks for: InfiniBand vol. 1, table 45, and 2.4 % more.

    In units of 10 us the table is 1, 2, 3, 4, 6, 8, 12, 16 ...: 2^(code/2), and half as much again in between; code 0
    is the longest, what 32 would be.
    """
    if code == 1:
        units = 1
    else:
        doubled = code if code else RNR_CODES
        units = 3 << (doubled - 3) // 2 if doubled % 2 else 1 << doubled // 2
    return 10 * units


class RcTimer:
    """`rc_timer.sv`, tick by tick: one timer a QP."""

    def __init__(self, qps: int) -> None:
        self._left: list[int | None] = [None] * qps

    def start(self, qp: int, ticks: int) -> None:
        """Start the timer of `qp` anew, or for the first time."""
        self._left[qp] = ticks

    def stop(self, qp: int) -> None:
        """Stop it; nothing happens where it does not run."""
        self._left[qp] = None

    def runs(self, qp: int) -> bool:
        """Whether it has been started, and neither stopped nor ended."""
        return self._left[qp] is not None

    def tick(self, ticks: int = 1) -> list[int]:
        """Let time pass; the QPs of which the timer has ended, each once."""
        ended = []
        for qp, left in enumerate(self._left):
            if left is not None:
                self._left[qp] = left - ticks if left > ticks else None
                if left <= ticks:
                    ended.append(qp)
        return ended

    def next_end(self) -> int | None:
        """Ticks until the next of them ends; None where none runs."""
        return min((left for left in self._left if left is not None), default=None)
