"""Flat AXI ports around a design that has them as structs (`hw/rtl/axi_pkg.sv`).

cocotbext-axi waits for edges of single signals, which the fields of a struct are not in the simulator's interface.
"""

import os
import re
from pathlib import Path

IDS = {
    **{"axi_read_request_t": "arid", "axi_read_response_t": "rid"},
    **{"axi_write_request_t": "awid", "axi_write_response_t": "bid"},
}
"""Ports that AXI has beside the fields of a struct: the ID, of which there is one."""

_STRUCT = re.compile(r"typedef struct packed \{\n(.*?)\} (\w+);", re.DOTALL)
_FIELD = re.compile(r"logic +(\[\d+:\d+\])? *(\w+);")
_RESETS = re.compile(r"input logic \[(.*?):0\] rst,")
_PARAMETER = re.compile(r"^ +parameter .*?(\w+) *=", re.MULTILINE)


def structs(package: str) -> dict[str, list[tuple[str, str]]]:
    """The structs of a package: range and name of each field."""
    return {name: _FIELD.findall(body) for body, name in _STRUCT.findall(package)}


def wrapper(source: str, package: str) -> str:
    """The module `<block>_flat` around the block in `source`: its parameters and ports, those of `package` flat.

    Copies of a reset are one.
    """
    known = structs(package)
    header = source[source.index("\nmodule ") + 1 : source.index("\n);\n")]
    block = header.split(maxsplit=2)[1]
    body: list[str] = []

    def flat(port: re.Match[str]) -> str:
        direction, kind, several, name = port.groups(default="")
        prefix, fields = name.removesuffix("_i").removesuffix("_o"), known[kind]
        one = "[k]" if several else ""
        body.append(f"  {kind} {several} {name};")
        if several:
            body.append(f"  for (genvar k = 0; k < $size({name}); k++) begin : gen_{name}")
        if direction == "input":
            values = ", ".join(f"{field}: {prefix}_{field}{one}" for _, field in fields)
            body.append(f"  assign {name}{one} = '{{{values}}};")
        else:
            body.extend(f"  assign {prefix}_{field}{one} = {name}{one}.{field};" for _, field in fields)
        body.append("  end" if several else "")
        if kind in IDS:
            fields = [*fields, ("[0:0]", IDS[kind])]
            body.append(f"  assign {prefix}_{IDS[kind]} = '0;" if direction == "output" else "")
        ports = (f"    {direction} logic {several}{width} {prefix}_{field}" for width, field in fields)
        return ",\n".join(ports) + port[0][-1]

    ports = rf"    (input|output) +({'|'.join(known)}) +(\[[^]]*\])? *(\w+)[,\n]"
    header = re.sub(ports, flat, header + "\n").replace(f"module {block}", f"module {block}_flat", 1)
    ports = ".*"
    if copies := _RESETS.search(header):
        header = header.replace(copies[0], "input logic rst,")
        ports = f".rst({{({copies[1]} + 1) {{rst}}}}), .*"
    parameters = ", ".join(f".{name}({name})" for name in _PARAMETER.findall(header))
    body.append(f"  {block} #({parameters}) u_block ({ports});" if parameters else f"  {block} u_block ({ports});")
    return f"{header});\n" + "\n".join(body) + "\nendmodule\n"


def write_wrapper(source: Path, package: Path, folder: Path) -> Path:
    """Write that module beside the build; its file. One that is right stays: another bench may be building it."""
    path = folder / f"{source.stem}_flat.sv"
    text = wrapper(source.read_text(), package.read_text())
    if not path.is_file() or path.read_text() != text:
        part = path.with_suffix(f".{os.getpid()}")
        part.write_text(text)
        part.replace(path)
    return path
