"""Timing diagrams for the pages: signals recorded in a bench, as WaveJSON (wavedrom.com/tutorial.html).

What is recorded must be what `docs/integrating/<name>.json` shows; `scripts/packaging/diagrams.py` draws it.
"""

import json
from itertools import groupby
from typing import Any

from bench import ROOT, Bench
from signals import now

PAGES = ROOT / "docs" / "integrating"
QUIET = 14
"""So many cycles without a change are cut to two and a gap."""

Lane = dict[str, str]


class Waves:
    """Single bits of a bench's design, from now on, in every cycle of its clock: `signals` are their names."""

    def __init__(self, bench: Bench, *signals: str) -> None:
        self._signals = signals
        self._handles: list[Any] = [getattr(bench.dut, name) for name in signals]
        self._clock = str(bench.clk._name)
        self._cycles: list[tuple[int, ...]] = []
        bench.watch(self._watch)

    def _watch(self) -> None:
        self._cycles.append(tuple(now(handle) for handle in self._handles))

    def lanes(self) -> list[Lane]:
        """The clock and all signals, from the cycle before the first one rises to the one behind the last change."""
        cycles = self._cycles
        changes = [k for k in range(1, len(cycles)) if cycles[k] != cycles[k - 1]]
        rises = next(k for k in changes if cycles[k][0] and not cycles[k - 1][0])
        shown = cycles[rises - 1 : changes[-1] + 2]
        columns: list[tuple[int, ...] | None] = []
        for cycle, run in groupby(shown):
            length = len(list(run))
            columns += [cycle, None, cycle] if length >= QUIET else [cycle] * length
        clock = "".join("|" if column is None else "." for column in columns)
        lanes = [{"name": self._clock, "wave": f"p{clock[1:]}"}]
        for at, name in enumerate(self._signals):
            wave, before = "", None
            for column in columns:
                bit = None if column is None else column[at]
                wave += "|" if bit is None else "." if bit == before else str(bit)
                before = before if bit is None else bit
            lanes.append({"name": name, "wave": wave})
        return lanes


def check(name: str, *groups: tuple[str, Waves]) -> None:
    """Compare what was recorded, in groups with a title each, with the diagram `name` of the page.

    It is written to build/waves/ as well, from where `scripts/packaging/diagrams.py --take` makes it the page's.
    """
    signal: list[Any] = []
    for title, waves in groups:
        signal += [{}] * bool(signal) + [[title, *waves.lanes()]]
    lines = json.dumps({"signal": signal}, indent=1) + "\n"
    recorded = ROOT / "build" / "waves" / f"{name}.json"
    recorded.parent.mkdir(parents=True, exist_ok=True)
    recorded.write_text(lines)
    page = PAGES / f"{name}.json"
    shown = page.read_text() if page.is_file() else ""
    assert shown == lines, (
        f"{page.relative_to(ROOT)} is not what the bench recorded: look at {recorded.relative_to(ROOT)}, then run "
        "scripts/packaging/diagrams.py --take"
    )
