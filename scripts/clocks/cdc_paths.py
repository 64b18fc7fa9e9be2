"""Paths between registers of different clocks in a netlist, and which of them are good.

Good is what a cell of `hw/rtl/clocks` makes of it, known by the file that a register is written in:

- `meta_q` of `cdc_bits` or `cdc_twice`, the first flip-flop of a synchronizer, straight from a register
- `word_q` and `answer_word_q`, from what the same cell holds still for them: `hold_q`, `answer_hold_q`, a memory
- the asynchronous reset of `reset_q` of `cdc_reset`
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

Bit = int | str
"""A net of yosys' JSON; a constant is a string."""

BITWISE = {"$not", "$and", "$or", "$xor", "$xnor", "$mux", "$pmux", "$bwmux", "$pos"}
"""Cells of which a bit of the output depends on the same bit of wide inputs only."""

INTO_REGISTER = ("D", "EN", "SRST", "ARST", "AD", "ALOAD", "SET", "CLR")
SYNCHRONIZERS = ("cdc_bits.sv", "cdc_twice.sv")
AT_PINS = ("IDDRX1F", "ODDRX1F")
"""Registers at the pins of an ECP5. Of a vendor's other cells nothing is known: what they drive is as from a port."""
HELD = ("hold_q", "answer_hold_q", "memory")
CAUGHT = ("word_q", "answer_word_q")


@dataclass(frozen=True, order=True)
class Point:
    """A register, a memory, by the names of its place; and in which file it is written."""

    name: tuple[str, ...]
    file: str

    def __str__(self) -> str:
        return ".".join(self.name)


@dataclass(frozen=True)
class Crossing:
    """A register that depends on others of another clock."""

    to: Point
    clock: str
    sources: tuple[Point, ...]
    clocks: tuple[str, ...]
    """Clocks of the sources."""
    direct: bool
    """Each bit straight from one register, without logic."""
    asynchronous: bool
    """Only by its asynchronous reset."""

    @property
    def kind(self) -> str:
        """What makes it good: synchronizer, gray, word, memory or reset; nothing where it is not."""
        cell, name = self.to.name[:-1], self.to.name[-1]
        if self.to.file == "cdc_reset.sv" and name == "reset_q" and self.asynchronous:
            return "reset"
        if self.to.file in SYNCHRONIZERS and name == "meta_q" and self.direct:
            return "gray" if all(source.file == "cdc_gray.sv" for source in self.sources) else "synchronizer"
        held = all(s.name[: len(cell)] == cell and s.name[-1] in HELD and s.file == self.to.file for s in self.sources)
        if self.to.file.startswith("cdc_") and name in CAUGHT and held:
            return "memory" if self.to.file == "cdc_ram.sv" else "word"
        return ""


def _place(name: str, named: dict[str, Any]) -> tuple[str, ...]:
    return tuple(re.split(r"[ .]", named["attributes"].get("hdlname", name)))


def _file(cell: dict[str, Any]) -> str:
    """Where it is written, as `cdc_bits.sv`."""
    source: str = cell["attributes"].get("src", "")
    return source.rsplit("/")[-1].split(":")[0]


class Netlist:
    """One flat module of yosys' JSON: what each net depends on, up to registers, memories and ports."""

    def __init__(self, module: dict[str, Any]) -> None:
        self._cells: dict[str, dict[str, Any]] = module["cells"]
        self._names = self._named(module["netnames"])
        self._clock_names: dict[Bit, str] = {}
        for name, port in module["ports"].items():
            several = name.endswith("clk") and len(port["bits"]) > 1  # each its own
            for k, bit in enumerate(port["bits"]):
                self._clock_names.setdefault(bit, f"{name}[{k}]" if several else name)
        self._sources: dict[Bit, tuple[Point, str]] = {}
        self._logic: dict[Bit, tuple[Bit, ...]] = {}
        self._reached: dict[Bit, frozenset[str]] = {}
        self._met: set[Bit] = set()
        for name, cell in self._cells.items():
            self._add(name, cell)

    @staticmethod
    def _named(netnames: dict[str, Any]) -> dict[Bit, tuple[str, ...]]:
        """The name of each net, that of the place where it is driven before those of ports that it is led to."""
        names: dict[Bit, tuple[str, ...]] = {}
        for name, net in netnames.items():
            place = _place(name, net)
            for bit in net["bits"]:
                if bit not in names or place[-1].endswith("_q"):
                    names[bit] = place
        return names

    def _clock(self, bit: Bit) -> str:
        return self._clock_names.get(bit) or ".".join(self._names[bit])

    def _add(self, name: str, cell: dict[str, Any]) -> None:
        connections, kind = cell["connections"], cell["type"]
        if "CLK" in connections and "Q" in connections:
            for bit in connections["Q"]:
                point = Point(self._names.get(bit, (name,)), _file(cell))
                self._sources[bit] = (point, self._clock(connections["CLK"][0]))
            return
        if kind.startswith("$mem"):
            for bit in connections["RD_DATA"] if connections["WR_CLK"] else ():
                self._sources[bit] = (Point(_place(name, cell), _file(cell)), self._clock(connections["WR_CLK"][0]))
            self._logic |= dict.fromkeys(connections["RD_DATA"], tuple(connections["RD_ADDR"]))
            return
        if kind in AT_PINS:
            source = Point(_place(name, cell), _file(cell)), self._clock(connections["SCLK"][0])
            outputs = [port for port in connections if port.startswith("Q")]
            self._sources |= dict.fromkeys((bit for port in outputs for bit in connections[port]), source)
            return
        if not kind.startswith("$"):
            return
        outputs = [port for port, way in cell["port_directions"].items() if way == "output"]
        inputs = [port for port in connections if port not in outputs]
        for port in outputs:
            width = len(connections[port])
            for k, bit in enumerate(connections[port]):
                self._logic[bit] = tuple(self._into(kind, inputs, connections, k, width))

    @staticmethod
    def _into(kind: str, inputs: Iterable[str], connections: dict[str, list[Bit]], k: int, width: int) -> Iterator[Bit]:
        for port in inputs:
            bits = connections[port]
            if kind not in BITWISE or port == "S":
                yield from bits
            else:
                yield from bits[k::width]

    def _clocks_of(self, start: Bit) -> frozenset[str]:
        """The clocks that a net depends on. A loop of logic alone is left at the place where it is met again."""
        known, stack = self._reached, [start]
        while stack:
            bit = stack[-1]
            below = self._logic.get(bit, ())
            waiting = [b for b in below if b not in known and b not in self._met]
            if bit not in known and waiting:
                self._met.add(bit)
                stack.extend(waiting)
                continue
            stack.pop()
            if bit not in known:
                own = frozenset({self._sources[bit][1]}) if bit in self._sources else frozenset()
                known[bit] = own.union(*(known.get(b, frozenset()) for b in below))
        return known[start]

    def _points_of(self, start: Bit) -> set[tuple[Point, str]]:
        """The registers and memories that a net depends on."""
        found, seen, stack = set(), {start}, [start]
        while stack:
            bit = stack.pop()
            if bit in self._sources:
                found.add(self._sources[bit])
            for below in self._logic.get(bit, ()):
                if below not in seen:
                    seen.add(below)
                    stack.append(below)
        return found

    def _memory_writes(self) -> Iterator[tuple[Point, str, dict[str, list[Bit]]]]:
        for name, cell in self._cells.items():
            if cell["type"].startswith("$mem"):
                connections = cell["connections"]
                inputs = {port: connections[port] for port in ("WR_ADDR", "WR_DATA", "WR_EN")}
                if connections["WR_CLK"]:
                    yield Point(_place(name, cell), _file(cell)), self._clock(connections["WR_CLK"][0]), inputs

    def _registers(self) -> Iterator[tuple[Point, str, dict[str, list[Bit]]]]:
        for name, cell in self._cells.items():
            connections = cell["connections"]
            if "CLK" in connections and "Q" in connections:
                clock = self._clock(connections["CLK"][0])
                inputs = {port: connections[port] for port in INTO_REGISTER if port in connections}
                yield Point(self._names.get(connections["Q"][0], (name,)), _file(cell)), clock, inputs
            elif cell["type"] in AT_PINS:
                inputs = {port: bits for port, bits in connections.items() if port.startswith("D")}
                yield Point(_place(name, cell), _file(cell)), self._clock(connections["SCLK"][0]), inputs

    def crossings(self) -> list[Crossing]:
        """All registers and memories that depend on a clock that is not their own."""
        found = []
        for point, clock, inputs in (*self._registers(), *self._memory_writes()):
            foreign = {port: [bit for bit in bits if self._clocks_of(bit) - {clock}] for port, bits in inputs.items()}
            ports = [port for port, bits in foreign.items() if bits]
            if not ports:
                continue
            bits = [bit for port in ports for bit in foreign[port]]
            sources = {source for bit in bits for source in self._points_of(bit) if source[1] != clock}
            found.append(
                Crossing(
                    to=point,
                    clock=clock,
                    sources=tuple(sorted({source for source, _ in sources})),
                    clocks=tuple(sorted({other for _, other in sources})),
                    direct=ports == ["D"] and all(bit in self._sources and bit not in self._logic for bit in bits),
                    asynchronous=set(ports) <= {"ARST", "ALOAD"},
                )
            )
        return sorted(found, key=lambda crossing: crossing.to)


def violations(found: Iterable[Crossing]) -> list[str]:
    """A sentence for each crossing that no cell of the kit makes."""
    sentences = []
    for crossing in found:
        if crossing.kind:
            continue
        some = ", ".join(map(str, crossing.sources[:3])) + (" and others" if len(crossing.sources) > 3 else "")
        sentence = f"{crossing.to} ({crossing.clock}) depends on {some} ({', '.join(crossing.clocks)})"
        if crossing.to.file in SYNCHRONIZERS:
            sentences.append(f"{sentence}: there is logic before a synchronizer, take its output from a register")
        else:
            sentences.append(f"{sentence}: let it go through a cell of hw/rtl/clocks")
    return sentences
