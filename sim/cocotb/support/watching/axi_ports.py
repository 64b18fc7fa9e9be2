"""The AXI ports that a bench sees at the top of its design, and the rules of AXI on each of them.

`Bench` calls `watch_ports`. `every_axi_port.py` fails a bench that has ports at which nobody looked.
"""

import re
from collections.abc import Mapping
from functools import cache
from typing import Any

from axi_rules import RULES, AxiRules, Watched, watch

LEFT_OUT: dict[str, str] = {}
"""Prefixes and signals that no rule holds for in some bench, and why."""

_VALID = re.compile(r"(?:([sm]_\w+)_)?a([wr])valid")
"""Signals of ports, and those without a prefix: others are inside."""
CHANNELS = {"w": ("b", "aw", "w"), "r": ("r", "ar")}
_CLOCKS = {"s": ("register_", "s_"), "m": ("memory_", "m_")}
"""Sides of a design with several clocks that its ports `s_*` and `m_*` may have."""


def has_ports(source: str) -> bool:
    """Whether a design's text has any."""
    return re.search(rf"\b{_VALID.pattern}\b", source) is not None


@cache
def ports(dut: Any) -> dict[str, dict[str, int]]:
    """By the prefix of AXI ports, how many write ("w") and read ("r"): more than one in packed arrays."""
    found: dict[str, dict[str, int]] = {}
    for handle in dut:
        if match := _VALID.fullmatch(handle._name):
            found.setdefault(match[1] or "", {})[match[2]] = len(handle)
    return dict(sorted(found.items()))


def side_of(dut: Any, prefix: str) -> str:
    """Which clock and reset `<side>clk`, `<side>rst` a port has."""
    return next((side for side in _CLOCKS.get(prefix[:1], ()) if _has_clock(dut, side)), "")


def _has_clock(dut: Any, side: str) -> bool:
    """`framelane_top` has clocks that a parameter switches off, such as MemoryClock."""
    switch = getattr(dut, f"{side[:-1].capitalize()}Clock", None)
    return hasattr(dut, f"{side}clk") and (switch is None or bool(int(switch.value)))


def watch_ports(bench: Watched, side: str, left_out: Mapping[str, str]) -> list[AxiRules]:
    """The rules of AXI on all ports that have a bench's clock, from now on in every cycle.

    `left_out`: prefixes of ports, or names of single signals, that no rule is to hold for, and why.
    """
    assert all(left_out.values()), "each port that is left out needs a reason"
    found = ports(bench.dut)
    for name in left_out:
        assert name in found or hasattr(bench.dut, name), f"{name} is left out, and the design has nothing of that name"
    LEFT_OUT.update(left_out)
    rules = []
    own = not any(_passes_on(bench.dut, prefix) for prefix in found)
    for prefix, counts in found.items():
        if side_of(bench.dut, prefix) == side and prefix not in left_out:
            is_own = own and not prefix.startswith("s_")
            if len(set(counts.values())) == 1:
                rules += watch(bench, prefix, next(iter(counts.values())), left_out, own=is_own)
            else:  # one writes, and several read
                for way, several in counts.items():
                    rules += watch(bench, prefix, several, left_out, own=is_own, channels=CHANNELS[way])
    return rules


def _passes_on(dut: Any, prefix: str) -> bool:
    """Whether a port is one at which the design is given bursts, which it passes on: a crossing or a guard."""
    return prefix.startswith("s_") and any(hasattr(dut, f"{prefix}_{name}") for name in ("awlen", "arlen"))


def nobody_behind(dut: Any, prefix: str) -> None:
    """Keep still at a port of the design's: it takes nothing, and answers nothing."""
    for name in ("awready", "wready", "bvalid", "arready", "rvalid"):
        signal = getattr(dut, f"{prefix}_{name}", None)
        if signal is not None:
            signal.value = 0


def unseen(dut: Any) -> list[str]:
    """Prefixes of the ports at which no bench looked, or one that has them did not, and that no bench has left out."""
    looked_at = {rules.prefix for rules in RULES} - {rules.prefix for rules in RULES if not rules.is_looked_at}
    return sorted(set(ports(dut)) - looked_at - set(LEFT_OUT))
