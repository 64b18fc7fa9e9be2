"""A top as plain Verilog with the attributes from which Vivado infers its interfaces (AMD UG994, UG1118)."""

from interfaces import Interface, flat_ports, interfaces
from ports import Top

VLNV = {
    "aximm": "xilinx.com:interface:aximm:1.0",
    "axis": "xilinx.com:interface:axis:1.0",
    "clock": "xilinx.com:signal:clock:1.0",
    "reset": "xilinx.com:signal:reset:1.0",
    "interrupt": "xilinx.com:signal:interrupt:1.0",
}
"""Names of Vivado's interfaces."""


def name_of(top: Top) -> str:
    """The wrapper's name."""
    return f"{top.name}_ip"


def wrapper(top: Top, note: str) -> str:
    """The module `<top>_ip`: parameters and ports of the top; a struct is a vector, an array several ports."""
    flat, found = flat_ports(top), interfaces(top)
    lines = [f"// {top.says}: plain Verilog for Vivado's block designs.", f"// {note}", f"module {name_of(top)} #("]
    lines += [
        f"    parameter {'[0:0] ' if each.is_flag else 'integer '}{each.name} = {each.value}"
        + ("," if each is not top.parameters[-1] else "")
        for each in top.parameters
    ]
    lines.append(") (")
    of = {port: (each, logical) for each in found for logical, port in each.signals.items()}
    for port in flat:
        if port in of:
            lines.append(f"    {_attributes(*of[port], top, found)}")
        vector = f" [{port.of.msb}:0]" if port.of.msb else ""
        lines.append(
            f"    {'input' if port.of.is_input else 'output'} wire{vector} {port.name}"
            + ("," if port is not flat[-1] else "")
        )
    lines += [");", "", f"  {top.name} #("]
    lines += [f"      .{p.name}({p.name})" + ("," if p is not top.parameters[-1] else "") for p in top.parameters]
    lines.append("  ) u_top (")
    for each in top.ports:
        names = [port.name for port in reversed(flat) if port.of is each]
        value = f"{{{', '.join(names)}}}" if each.several else names[0]
        lines.append(f"      .{each.name}({value})" + ("," if each is not top.ports[-1] else ""))
    lines += ["  );", "", "endmodule"]
    return "\n".join(lines) + "\n"


def _attributes(each: Interface, logical: str, top: Top, found: list[Interface]) -> str:
    first = next(iter(each.signals)) == logical
    given = each.parameters(top, found) if first else {}
    text = f'X_INTERFACE_INFO = "{VLNV[each.kind]} {each.name} {logical}"'
    if given:
        words = ", ".join(f"{key} {value}" for key, value in given.items())
        text += f', X_INTERFACE_PARAMETER = "XIL_INTERFACENAME {each.name}, {words}"'
    return f"(* {text} *)"
