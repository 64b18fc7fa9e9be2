"""What a receiver has counted, and the sum over the ranks of a run."""

from collections import Counter
from dataclasses import dataclass, fields
from typing import Self

from framelane.receiver.pipeline.veto import Reason
from framelane.receiver.ring.tally import Tally
from framelane.receiver.transport.transport import Counters


@dataclass(frozen=True, slots=True)
class RunStatistics:
    """What a run has counted: frames, packets, verdicts.

    `written` frames are in its file; `strays` are immediates of no open frame, and `first_misfit` says what was wrong
    with the first frame of another size than the session's; `sources_gone` have not told their end.

    `a + b` are those of both.
    """

    tally: Tally
    counters: Counters
    reasons: Counter[Reason]
    written: int = 0
    strays: int = 0
    first_stray: str = ""
    first_misfit: str = ""
    sources_gone: int = 0

    def __add__(self, other: Self) -> "RunStatistics":
        return RunStatistics(
            Tally(*(getattr(self.tally, each.name) + getattr(other.tally, each.name) for each in fields(Tally))),
            _sum(self.counters, other.counters),
            self.reasons + other.reasons,
            self.written + other.written,
            self.strays + other.strays,
            self.first_stray or other.first_stray,
            self.first_misfit or other.first_misfit,
            self.sources_gone + other.sources_gone,
        )

    @classmethod
    def none(cls) -> "RunStatistics":
        """The statistics of no run."""
        return cls(Tally(*(0 for _ in fields(Tally))), Counters(), Counter())


def _sum(one: Counters, other: Counters) -> Counters:
    counts = {
        each.name: getattr(one, each.name) + getattr(other, each.name)
        for each in fields(Counters)
        if each.name != "examples"
    }
    return Counters(**counts, examples=other.examples | one.examples)
