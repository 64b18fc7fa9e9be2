"""Timing diagrams for the pages: signals recorded in a bench, as WaveJSON (wavedrom.com/tutorial.html).

What is recorded must be what `docs/integrating/<name>.json` shows; `scripts/packaging/diagrams.py` draws it.
"""

import json
import re
from collections.abc import Mapping
from itertools import groupby
from typing import Any

from bench import ROOT, Bench
from signals import now

PAGES = ROOT / "docs" / "integrating"
QUIET = 14
"""So many cycles without a change are cut to two and a gap."""

Lane = dict[str, Any]
_BUS = re.compile(r"(\w+?)(?:\[(\d+):0\])?")


class Waves:
    """Signals of a bench's design, from now on, in every cycle of its clock.

    `signals` are the names of single bits, or of copies of one.

    `buses`: names of others, `name` or `name[11:0]`, each with the bit that must be high for its value to be shown.
    """

    def __init__(self, bench: Bench, *signals: str, buses: Mapping[str, str] | None = None) -> None:
        self._signals = [*signals, *(buses or {})]
        self._handles: list[Any] = [getattr(bench.dut, name) for name in signals]
        self._buses = []
        for name, valid in (buses or {}).items():
            parts = _BUS.fullmatch(name)
            assert parts, f"{name}: give name or name[msb:0]"
            mask = (2 << int(parts[2])) - 1 if parts[2] else -1
            self._buses.append((getattr(bench.dut, parts[1]), getattr(bench.dut, valid), mask))
        self._clock = str(bench.clk._name)
        self._cycles: list[tuple[int | str, ...]] = []
        bench.watch(self._watch)

    def _watch(self) -> None:
        buses = (f"{now(bus) & mask:x}" if now(valid) else "x" for bus, valid, mask in self._buses)
        self._cycles.append((*(now(handle) & 1 for handle in self._handles), *buses))

    def lanes(self) -> list[Lane]:
        """The clock and all signals, from the cycle before the first change to the one behind the last."""
        cycles, bits = self._cycles, len(self._handles)
        changes = [k for k in range(1, len(cycles)) if cycles[k] != cycles[k - 1]]
        shown = cycles[changes[0] - 1 : changes[-1] + 2]
        columns: list[tuple[int | str, ...] | None] = []
        for cycle, run in groupby(shown):
            length = len(list(run))
            columns += [cycle, None, cycle] if length >= QUIET else [cycle] * length
        clock = "".join("|" if column is None else "." for column in columns)
        lanes: list[Lane] = [{"name": self._clock, "wave": f"p{clock[1:]}"}]
        for at, name in enumerate(self._signals):
            wave, before, values = "", None, []
            for column in columns:
                value = None if column is None else column[at]
                if value is None or value == before:
                    wave += "|" if value is None else "."
                elif at < bits or value == "x":
                    wave += str(value)
                else:
                    wave += "="
                    values.append(value)
                before = before if value is None else value
            lanes.append({"name": name, "wave": wave} | ({"data": values} if at >= bits else {}))
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
