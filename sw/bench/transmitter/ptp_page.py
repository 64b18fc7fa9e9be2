"""The page `docs/measured/ptp.md`: how well PTP sets a board's clock."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from framelane.bench.page_template import page_parts

_PARTS = page_parts("ptp")
_CLOCK_NS = 4.0

Rows = list[dict[str, Any]]


def page(rows: Rows, differences: NDArray[np.float64]) -> str:
    """The whole page; `differences` in ns of two boards' stamps of the same triggers."""
    followed = "".join(followed_line(each) for each in rows)
    held = "".join(held_line(each) for each in rows if each["promised"] or each["wander_ppb"])
    boards = _PARTS["boards"].format(
        triggers=len(differences),
        rms=float(np.sqrt(np.mean(np.square(differences)))),
        mean=float(differences.mean()),
        worst=float(np.abs(differences).max()),
        share=float(np.mean(np.abs(differences) <= _CLOCK_NS)),
    )
    return _PARTS["head"] + followed + _PARTS["held"] + held + boards


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
