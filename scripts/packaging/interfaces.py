"""Which ports of a top are one interface, as Vivado and IP-XACT name interfaces: AXI, AXI-Stream, clocks, resets."""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

from ports import Port, Top

_AXI = re.compile(r"([sm])_(axil|axi)(?:_(\w+?))?_((?:aw|w|b|ar|r)(?!egister)[a-z]+)")
_STREAM = re.compile(r"([sm])_axis(?:_(\w+?))?_(tdata|tkeep|tlast|tuser|tvalid|tready)")
IN_CORE_CLOCK = ("s_axis_frame",)
"""Streams that are in the core's clock, wherever their ports stand."""


@dataclass(frozen=True)
class FlatPort:
    """A port of the wrapper: that of the top, or one of its array."""

    name: str
    of: Port
    at: int | None = None


@dataclass
class Interface:
    """Ports that belong together, each with its logical name."""

    name: str
    kind: str
    """Vivado's type: aximm, axis, clock, reset, interrupt."""
    is_master: bool
    clock: str
    signals: dict[str, FlatPort] = field(default_factory=dict)
    is_lite: bool = False

    @property
    def is_bus(self) -> bool:
        return self.kind in ("aximm", "axis")

    def parameters(self, top: Top, interfaces: Iterable["Interface"]) -> dict[str, str]:
        """What Vivado is told of it, beside what it sees of the ports."""
        if self.kind == "aximm" and self.is_lite:
            return {"PROTOCOL": "AXI4LITE"}
        if self.kind == "aximm":
            reads, writes = "ARADDR" in self.signals, "AWADDR" in self.signals
            mode = "READ_WRITE" if reads and writes else "READ_ONLY" if reads else "WRITE_ONLY"
            return {"PROTOCOL": "AXI4", "READ_WRITE_MODE": mode, "SUPPORTS_NARROW_BURST": "0"}
        if self.kind == "clock":
            (port,) = self.signals.values()
            buses = [each.name for each in interfaces if each.is_bus and each.clock == port.name]
            given = {"ASSOCIATED_BUSIF": ":".join(buses)} if buses else {}
            reset = port.name.removesuffix("clk") + "rst"
            return given | ({"ASSOCIATED_RESET": reset} if any(p.name == reset for p in top.ports) else {})
        return {"reset": {"POLARITY": "ACTIVE_HIGH"}, "interrupt": {"SENSITIVITY": "LEVEL_HIGH"}}.get(self.kind, {})


def flat_ports(top: Top) -> list[FlatPort]:
    """The ports of the wrapper: an array is one port each, with its number in the interface's name."""
    found: list[FlatPort] = []
    for port in top.ports:
        if not port.several:
            found.append(FlatPort(port.name, port))
            continue
        stem, _, signal = port.name.rpartition("_")
        found += [FlatPort(f"{stem}{k}_{signal}", port, k) for k in range(port.several)]
    return found


def interfaces(top: Top) -> list[Interface]:
    """The interfaces of a top, in the order of their first ports."""
    found: dict[str, Interface] = {}
    for port in flat_ports(top):
        of = _of(port)
        if of:
            each, logical = of
            found.setdefault(each.name, each).signals[logical] = port
    return list(found.values())


def _of(port: FlatPort) -> tuple[Interface, str] | None:
    """The interface that a port is of, without its other ports, and the port's logical name in it."""
    name, clock = port.name, port.of.clock
    if axi := _AXI.fullmatch(name):
        bus = name.removesuffix(f"_{axi[4]}")
        return Interface(bus.upper(), "aximm", axi[1] == "m", clock, is_lite=axi[2] == "axil"), axi[4].upper()
    if stream := _STREAM.fullmatch(name):
        bus = name.removesuffix(f"_{stream[3]}")
        return Interface(bus.upper(), "axis", stream[1] == "m", "clk" if bus in IN_CORE_CLOCK else clock), stream[
            3
        ].upper()
    for suffix, kind, logical in (
        ("clk", "clock", "CLK"),
        ("rst", "reset", "RST"),
        ("interrupt_o", "interrupt", "INTERRUPT"),
    ):
        if name.endswith(suffix):
            return Interface(name, kind, not port.of.is_input, clock), logical
    return None
