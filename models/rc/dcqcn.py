"""DCQCN, the sender's side: a QP's rate falls with every congestion notification, and rises again.

Zhu et al., "Congestion Control for Large-Scale RDMA Deployments", SIGCOMM 2015, section 3: reaction point and figure 7.
All in integers, as `dcqcn.sv` computes them. A QP's books are looked at in turn, by `visit`: at most one step of each
kind. Times are in ticks of about a microsecond, modulo 2^16, and bytes are counted modulo 2^32.
"""

from dataclasses import dataclass, replace

from framelane.base.errors import ConfigError

ALPHA_BITS = 16
ALPHA_ONE = 1 << ALPHA_BITS
"""The share 1: how congested the path is held to be, 0 to 1."""
MOST_ROUNDS = 15
RATE_BITS = 24
PERIOD_MAX = 1 << 15
"""Ticks."""
_TICKS = 1 << 16
_BYTES = 1 << 32


@dataclass(frozen=True, slots=True)
class DcqcnSettings:
    """The parameters, as their registers hold them; defaults are the paper's (figure 14) for 100 Gb/s and 250 MHz.

    Rates are in 2^-16 bytes of the line a clock cycle, as those of `roce_pacer`, and periods in ticks.
    """

    line: int = 50 << 16
    """Rate of a QP that has no limit of its own."""
    minimum: int = 1 << 15
    """Below it no rate falls."""
    additive: int = 13_107
    """R_AI: what the target rises by in a round (100 Mb/s)."""
    hyper: int = 131_072
    """R_HAI: likewise, when both kinds of rounds are behind the fast ones (1 Gb/s)."""
    alpha_period: int = 55
    rise_period: int = 55
    bytes_log2: int = 23
    """A round of bytes is 2^this; 10 to 31."""
    gain_log2: int = 8
    """g = 2^-this: how fast alpha follows; 1 to 15."""
    fast_rounds: int = 5
    """F: rounds that only halve the way to the target; 1 to 14."""

    def __post_init__(self) -> None:
        limits = {
            **dict.fromkeys(("line", "minimum", "additive", "hyper"), (1, (1 << RATE_BITS) - 1)),
            **{"alpha_period": (1, PERIOD_MAX), "rise_period": (1, PERIOD_MAX)},
            **{"bytes_log2": (10, 31), "gain_log2": (1, 15), "fast_rounds": (1, 14)},
        }
        for name, (least, most) in limits.items():
            if not least <= getattr(self, name) <= most:
                raise ConfigError(f"DCQCN's {name} = {getattr(self, name)} cannot be: give {least} to {most}")


@dataclass(frozen=True, slots=True)
class Books:
    """What is known of one QP. `cut` while it is slower than `line`, its own rate, because of congestion."""

    line: int
    current: int
    target: int
    alpha: int = ALPHA_ONE
    alpha_at: int = 0
    """When alpha changed, in ticks."""
    rise_at: int = 0
    """When the last round of time began."""
    bytes_at: int = 0
    """Where the last round of bytes began."""
    time_rounds: int = 0
    byte_rounds: int = 0
    cut: bool = False


def written(rate: int, settings: DcqcnSettings, now: int, spent: int) -> Books:
    """The books of a QP whose rate has been written (0: no limit of its own)."""
    line = rate or settings.line
    return Books(line, line, line, alpha_at=now, rise_at=now, bytes_at=spent)


def visit(books: Books, settings: DcqcnSettings, notified: bool, now: int, spent: int) -> Books:
    """Look at a QP at tick `now`, when it has sent `spent` bytes of the line: what is due happens, in this order."""
    if notified:
        return _cut(books, settings, now, spent)
    if (now - books.alpha_at) % _TICKS >= settings.alpha_period:
        books = replace(books, alpha=books.alpha - (books.alpha >> settings.gain_log2), alpha_at=now)
    if not books.cut:
        return replace(books, rise_at=now, bytes_at=spent)
    if (now - books.rise_at) % _TICKS >= settings.rise_period:
        rounds = min(books.time_rounds + 1, MOST_ROUNDS)
        books = replace(books, time_rounds=rounds, rise_at=now)
        return _rise(books, settings)
    if (spent - books.bytes_at) % _BYTES >= 1 << settings.bytes_log2:
        rounds = min(books.byte_rounds + 1, MOST_ROUNDS)
        books = replace(books, byte_rounds=rounds, bytes_at=spent)
        return _rise(books, settings)
    return books


def _cut(books: Books, settings: DcqcnSettings, now: int, spent: int) -> Books:
    """A notification: equation 1."""
    slower = books.current - (books.current * books.alpha >> ALPHA_BITS + 1)
    return Books(
        books.line,
        max(min(settings.minimum, books.line), slower),
        books.current,
        books.alpha - (books.alpha >> settings.gain_log2) + (ALPHA_ONE >> settings.gain_log2),
        now,
        now,
        spent,
        cut=True,
    )


def _rise(books: Books, settings: DcqcnSettings) -> Books:
    """A round is over: equations 3 and 4, rounded up so that the line's rate is reached."""
    most, least = max(books.time_rounds, books.byte_rounds), min(books.time_rounds, books.byte_rounds)
    step = 0
    if least > settings.fast_rounds:
        step = settings.hyper
    elif most >= settings.fast_rounds:
        step = settings.additive
    target = min(books.target + step, books.line)
    current = (books.current + target + 1) >> 1
    return replace(books, target=target, current=current, cut=current < books.line)
