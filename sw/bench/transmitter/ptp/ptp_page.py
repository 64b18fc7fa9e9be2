"""The page `docs/measured/ptp.md`: how well PTP sets a board's clock."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from framelane.bench.page_template import page_parts
from framelane.bench.transmitter.ptp.ptp_two_boards import Stamps

_PARTS = page_parts("ptp")
CLOCK_NS = 4.0
"""One clock of a board."""

Rows = list[dict[str, Any]]


def page(rows: Rows, disturbances: Rows, pairs: list[Stamps]) -> str:
    """The whole page."""
    followed = "".join(followed_line(each) for each in rows)
    held = "".join(held_line(each) for each in rows if each["promised"] or each["wander_ppb"])
    happened = "".join(disturbance_line(each) for each in disturbances)
    stamped = "".join(map(boards_line, pairs))
    boards = _PARTS["boards"].format(triggers=len(pairs[0].differences)) + stamped
    end = _PARTS["end"].format(verdict=verdict(pairs))
    return _PARTS["head"] + followed + _PARTS["held"] + held + _PARTS["disturbances"] + happened + boards + end


def boards_line(stamps: Stamps) -> str:
    """One line of the table of two boards: what their stamps are apart, and of what that is made."""
    apart = np.abs(stamps.differences)
    clocks = stamps.clocks[1] - stamps.clocks[0]
    own = stamps.errors - np.repeat(stamps.clocks, -(-len(apart) // stamps.clocks.shape[1]), axis=1)[:, : len(apart)]
    return (
        f"| {stamps.pair.lock_ns:g} | {', '.join(map(str, stamps.pair.seeds))} | {stamps.locked_s:.0f} "
        f"| {root(clocks):.2f} | {root(own - own.mean()):.2f} | {root(apart):.2f} | {stamps.differences.mean():+.2f} "
        f"| {apart.max():.0f} | {np.mean(apart <= CLOCK_NS):.2%} |\n"
    )


def verdict(pairs: list[Stamps]) -> str:
    """Whether the promise is kept, and by how many pairs."""
    kept = sum(float(np.abs(each.differences).max()) <= CLOCK_NS for each in pairs)
    return "kept" if kept == len(pairs) else f"kept by {kept} of these {len(pairs)} rows"


def root(values: NDArray[np.float64]) -> float:
    """Root of the mean square."""
    return float(np.sqrt(np.mean(np.square(values))))


def network(each: dict[str, Any]) -> str:
    """What the row's network is like."""
    shape = {"uniform": "up to", "exponential": "exponential, mean"}[each["shape"]]
    jitter = f"{shape} {each['jitter_ns'] / 1000:g} us" if each["jitter_ns"] else "none"
    return f"{jitter} | {each['messages_per_s']:.0f} | {each['steps']}"


def followed_line(each: dict[str, Any]) -> str:
    """One line of the first table."""
    figures = f"{each['mean_ns']:+.2f} | {each['rms_ns']:.2f} | {each['worst_ns']:.1f} | {each['said_ns']:.2f}"
    clock = f"{each['ppm']:+g} | {each['wander_ppb']:g}"
    return f"| {clock} | {network(each)} | {each['lock_ns']:g} | {each['lock_s']:.1f} | {figures} |\n"


def held_line(each: dict[str, Any]) -> str:
    """One line of the table of holdover."""
    clock = f"{each['ppm']:+g} | {each['wander_ppb']:g} | {each['seed']}"
    return f"| {clock} | {each['held_10_s_ns']:+.2f} | {each['held_60_s_ns']:+.2f} |\n"


def disturbance_line(each: dict[str, Any]) -> str:
    """One line of the table of what may go wrong."""
    error = f"{each['worst_ns']:.0f} | {each['end_ns']:+.0f}"
    said = each["said"] or "nothing"
    return f"| {each['disturbance']} | {each['state']} | {error} | {each['steps_after_lock']} | {said} |\n"
