"""Write the transmitter's counters down as the gateware numbers them: a SystemVerilog package of structs and enums."""

from collections.abc import Iterable, Iterator
from itertools import groupby, pairwise

from framelane.driver.registers.register import Register

COUNTER_BYTES = 8
PULSES = {
    "counters": "pulses_t",
    "station_counters": "station_pulses_t",
    "pcie_counters": "pcie_pulses_t",
    "det_counters": "det_pulses_t",
}
"""Groups of which each counter counts single events, one wire each, and the struct of these wires."""
PARTS = {"station_counters": {"neighbour": "pause_global", "rc": "roce_length"}}
"""Groups whose events come from several blocks: a struct of each, and its first counter."""
TABLES = {"flow_counters": "flow", "destination_counters": "destination", "qp_counters": "qp"}
"""Tables of counters of amounts, and what has an entry there. Each lies in one memory with the group before it."""

_PACKAGE = """// {whose} counters as its registers number them.
package {name};
{body}

endpackage
"""


def counters_package(
    registers: Iterable[Register], name: str = "tx_counters_pkg", whose: str = "The transmitter's"
) -> str:
    """The package, of registers in the order of their addresses; ValueError where a group of counters has a gap."""
    start = 0
    lines: list[str] = []
    for table, group in groupby(registers, lambda register: register.name.partition(".")[0].removesuffix("[]")):
        counters = tuple(group)
        if table in PULSES:
            start = counters[0].offset
            lines += _pulses(table, _names(counters))
        elif table in TABLES:
            first, each = counters[0].offset - start, counters[0].stride
            lines += _table(TABLES[table], _names(counters), first // COUNTER_BYTES, each // COUNTER_BYTES)
    return _PACKAGE.format(body="\n".join(lines), name=name, whose=whose)


def _names(counters: tuple[Register, ...]) -> list[str]:
    for before, counter in pairwise(counters):
        if counter.offset != before.offset + COUNTER_BYTES:
            raise ValueError(f"{counter.name} does not follow {before.name}: leave no gap between counters")
    return [counter.name.partition(".")[2] for counter in counters]


def _pulses(table: str, names: list[str]) -> Iterator[str]:
    yield f"\n  // Single events, each for one of the registers `{table}`: bit k for counter k"
    parts = PARTS.get(table, {})
    ends = [*(names.index(first) for first in parts.values()), len(names)]
    for part, (start, end) in zip(parts, pairwise(ends), strict=True):
        yield from _struct(f"{part}_pulses_t", [f"logic {name}" for name in names[start:end]])
    yield from _struct(
        PULSES[table], [f"{part}_pulses_t {part}" for part in parts] or [f"logic {name}" for name in names]
    )


def _struct(name: str, members: list[str]) -> Iterator[str]:
    """A packed struct, the first member in the lowest bits."""
    yield "  typedef struct packed {"
    yield from (f"    {member};" for member in reversed(members))
    yield f"  }} {name};"


def _table(owner: str, names: list[str], first: int, each: int) -> Iterator[str]:
    width, upper = max(1, (each - 1).bit_length()), owner.upper()
    kind = f"{owner}_counter_e"
    yield f"\n  // Counters of each {upper if owner == 'qp' else owner}, behind those of events"
    yield f"  localparam int unsigned {upper}_COUNTERS_FIRST = {first};"
    yield f"  localparam int unsigned {upper}_COUNTERS = {each};"
    yield f"  typedef enum logic [{width - 1}:0] {{"
    yield ",\n".join(f"    {upper}_{name.upper()} = {width}'d{k}" for k, name in enumerate(names))
    yield f"  }} {kind};"
    yield f"\n  function automatic logic [15:0] {owner}_counter(input logic [7:0] index, input {kind} which);"
    yield f"    return 16'({upper}_COUNTERS_FIRST + {upper}_COUNTERS * 32'(index) + 32'(which));"
    yield "  endfunction"
