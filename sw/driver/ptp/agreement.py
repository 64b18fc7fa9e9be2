"""Whether what a master says now fits what the clock knows: else what has happened, in words."""

from dataclasses import dataclass
from enum import Enum, auto

from framelane.driver.ptp.two_way_filter import Estimate


class Change(Enum):
    """What is different."""

    NOTHING = auto()
    PATH = auto()
    """Both ways became longer or shorter by the same: the offset stays."""
    ONE_WAY = auto()
    """One way did: it cannot be told from half as large an offset."""
    STEP = auto()
    RATE = auto()


@dataclass(frozen=True, slots=True)
class Verdict:
    """`change`, and for one that is not an agreement a sentence."""

    change: Change
    sentence: str = ""


def compare(known: Estimate, offset_ns: float, new: Estimate, new_offset_ns: float, free_ns: float) -> Verdict:
    """Compare two estimates of one moment: what was known, and what new messages alone say.

    The offsets are those of that moment; `free_ns` is how far the clock may have gone since it was known.
    """
    blur = 8 * (known.uncertainty_ns + new.uncertainty_ns) + 20.0
    moved, longer = new_offset_ns - offset_ns, new.delay_ns - known.delay_ns
    turned = (new.rate_ppb - known.rate_ppb) * new.span_s
    if abs(moved) <= blur + free_ns:
        return Verdict(Change.PATH if abs(longer) > blur else Change.NOTHING)
    if abs(abs(moved) - abs(longer)) <= blur + free_ns and abs(turned) <= blur + free_ns:
        way = "from the master" if (moved > 0) == (longer > 0) else "to the master"
        text = f"the way {way} became {amount(2 * abs(longer))} {'longer' if longer > 0 else 'shorter'}"
        return Verdict(Change.ONE_WAY, f"{text}, or the master's time half of that different")
    if abs(turned) > abs(moved) / 4 and abs(turned) > blur + free_ns:
        return Verdict(
            Change.RATE,
            f"the rate between the master and this clock changed by {new.rate_ppb - known.rate_ppb:+.0f} ppb",
        )
    return Verdict(Change.STEP, f"the master's time made a step of {amount(-moved, signed=True)}")


def amount(ns: float, *, signed: bool = False) -> str:
    """A time in a fitting unit."""
    for unit, size in (("s", 1e9), ("ms", 1e6), ("us", 1e3)):
        if abs(ns) >= size:
            return f"{ns / size:{'+' if signed else ''}.4g} {unit}"
    return f"{ns:{'+' if signed else ''}.3g} ns"
