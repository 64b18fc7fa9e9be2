"""Timing constraints of crossings between clocks, for Vivado (XDC) and for Quartus (SDC).

A path between clocks gets as much time as the faster of both has in a cycle, and the bits of a Gray code as much skew:
two of its steps are then never mixed. Sources: AMD UG903, set_max_delay -datapath_only and set_bus_skew; Intel Quartus
Timing Analyzer Cookbook, set_max_skew.
"""

from collections.abc import Iterable, Mapping

from cdc_paths import Crossing, Point

HEAD = "# Crossings between clocks, written by scripts/clocks/cdc.py from the elaborated netlist.\n"


def path(point: Point, instance: str, between: str) -> str:
    """A place in the hierarchy; blocks of `generate`, whose names begin with gen_, are parts of names."""
    text = point.name[0]
    for before, word in zip(point.name, point.name[1:], strict=False):
        text += ("." if before.startswith("gen_") else between) + word
    return f"{instance.replace('/', between)}{between}{text}" if instance else text


def _period(crossing: Crossing, periods: Mapping[str, float]) -> float:
    return min(periods[clock] for clock in (crossing.clock, *crossing.clocks))


def vivado(found: Iterable[Crossing], instance: str, periods: Mapping[str, float]) -> str:
    """The constraints as XDC: the clocks' periods in ns."""
    lines = [HEAD]
    for crossing in found:
        to = f"{path(crossing.to, instance, '/')}_reg*"
        if crossing.kind == "reset":
            lines.append(f"set_false_path -to [get_pins -filter {{REF_PIN_NAME =~ PRE}} -of [get_cells {{{to}}}]]\n")
            continue
        ns = f"{_period(crossing, periods):.3f}"
        for source in crossing.sources:
            if source.name[-2:] == ("gen_block", "memory"):
                continue  # a block RAM has two clocks of its own
            cells = f"-from [get_cells {{{path(source, instance, '/')}_reg*}}] -to [get_cells {{{to}}}]"
            lines.append(f"set_max_delay -datapath_only {cells} {ns}\n")
            if crossing.kind == "gray":
                lines.append(f"set_bus_skew {cells} {ns}\n")
    return "".join(lines)


def quartus(found: Iterable[Crossing], instance: str, periods: Mapping[str, float]) -> str:
    """The constraints as SDC for Quartus, which has no -datapath_only: a hold of -100 ns stands for it."""
    lines = [HEAD]
    for crossing in found:
        to = f"[get_registers {{*{path(crossing.to, instance, '|')}[*]}}]"
        if crossing.to.name[-1] == "reset_q":
            lines.append(f"set_false_path -to {to}\n")
            continue
        ns = f"{_period(crossing, periods):.3f}"
        for source in crossing.sources:
            if crossing.kind == "memory":
                continue  # memories of both kinds have two clocks of their own
            cells = f"-from [get_registers {{*{path(source, instance, '|')}*}}] -to {to}"
            lines += [f"set_max_delay {cells} {ns}\n", f"set_min_delay {cells} -100\n"]
            if crossing.kind == "gray":
                lines.append(f"set_max_skew {cells} {ns}\n")
    return "".join(lines)
