"""The wrapper of a top as an IP-XACT component (IEEE 1685-2009, which Vivado reads).

Its interfaces, parameters, ports, files.
"""

import re
from collections.abc import Sequence
from pathlib import Path, PurePosixPath
from xml.etree import ElementTree as ET

from interfaces import Interface, flat_ports, interfaces
from ports import Parameter, Top
from wrapper import VLNV, name_of

SPIRIT = "http://www.spiritconsortium.org/XMLSchema/SPIRIT/1685-2009"
REGISTERS = 0x10000
"""Bytes that the registers of a top take in an address map."""


def _add(parent: ET.Element, tag: str, text: str | None = None, /, **attributes: str) -> ET.Element:
    made = ET.SubElement(parent, f"{{{SPIRIT}}}{tag}", {f"{{{SPIRIT}}}{k}": v for k, v in attributes.items()})
    made.text = text
    return made


def _vlnv(parent: ET.Element, name: str, vlnv: str) -> None:
    vendor, library, what, version = vlnv.split(":")
    _add(parent, name, vendor=vendor, library=library, name=what, version=version)


def _value(parameter: Parameter) -> str:
    return parameter.value.removeprefix("1'b")


def number(expression: str, top: Top) -> int:
    """What an expression of parameters, numbers, `/` and `-` is with the defaults."""
    values = {p.name: int(_value(p)) for p in top.parameters}
    words = re.sub(r"[A-Za-z]\w*", lambda word: str(values[word[0]]), expression)
    total = 0
    for k, part in enumerate(words.split("-")):
        first, *others = (int(word) for word in part.split("/"))
        for other in others:
            first //= other
        total += -first if k else first
    return total


def _left(parent: ET.Element, msb: str, top: Top) -> None:
    value = str(number(msb, top))
    if not re.search(r"[A-Za-z]", msb):
        _add(parent, "left", value)
        return
    spelled = re.sub(r"[A-Za-z]\w*", lambda word: f"spirit:decode(id('MODELPARAM_VALUE.{word[0]}'))", msb)
    _add(parent, "left", value, format="long", resolve="dependent", dependency=f"({spelled})")


def _bus_interfaces(parent: ET.Element, top: Top, found: Sequence[Interface]) -> None:
    for each in found:
        bus = _add(parent, "busInterface")
        _add(bus, "name", each.name)
        _vlnv(bus, "busType", VLNV[each.kind])
        head, _, version = VLNV[each.kind].rpartition(":")
        _vlnv(bus, "abstractionType", f"{head}_rtl:{version}")
        role = _add(bus, "master" if each.is_master else "slave")
        if each.kind == "aximm":
            name, attribute = (
                ("addressSpaceRef", "addressSpaceRef") if each.is_master else ("memoryMapRef", "memoryMapRef")
            )
            _add(role, name, **{attribute: each.name})
        maps = _add(bus, "portMaps")
        for logical, port in each.signals.items():
            pair = _add(maps, "portMap")
            _add(_add(pair, "logicalPort"), "name", logical)
            _add(_add(pair, "physicalPort"), "name", port.name)
        given = each.parameters(top, found)
        if given:
            parameters = _add(bus, "parameters")
            for key, value in given.items():
                parameter = _add(parameters, "parameter")
                _add(parameter, "name", key)
                _add(parameter, "value", value, id=f"BUSIFPARAM_VALUE.{each.name.upper()}.{key}")


def _address_spaces(component: ET.Element, found: Sequence[Interface]) -> None:
    spaces = _add(component, "addressSpaces")
    maps = _add(component, "memoryMaps")
    for each in (each for each in found if each.kind == "aximm"):
        if each.is_master:
            space = _add(spaces, "addressSpace")
            _add(space, "name", each.name)
            _add(space, "range", str(1 << 64))
            _add(space, "width", "512")
        else:
            block = _add(maps, "memoryMap")
            _add(block, "name", each.name)
            registers = _add(block, "addressBlock")
            for name, text in (("name", "registers"), ("baseAddress", "0"), ("range", str(REGISTERS)), ("width", "32")):
                _add(registers, name, text)
            _add(registers, "usage", "register")


def _model(component: ET.Element, top: Top) -> None:
    model = _add(component, "model")
    view = _add(_add(model, "views"), "view")
    _add(view, "name", "synthesis")
    _add(view, "envIdentifier", ":vivado.xilinx.com:synthesis")
    _add(view, "language", "SystemVerilog")
    _add(view, "modelName", name_of(top))
    _add(_add(view, "fileSetRef"), "localName", "sources")
    ports = _add(model, "ports")
    for each in flat_ports(top):
        port = _add(ports, "port")
        _add(port, "name", each.name)
        wire = _add(port, "wire")
        _add(wire, "direction", "in" if each.of.is_input else "out")
        if each.of.msb:
            vector = _add(wire, "vector")
            _left(vector, each.of.msb, top)
            _add(vector, "right", "0")
    parameters = _add(model, "modelParameters")
    for parameter in top.parameters:
        made = _add(parameters, "modelParameter", dataType="integer")
        _add(made, "name", parameter.name)
        _add(
            made,
            "value",
            _value(parameter),
            format="long",
            resolve="generated",
            id=f"MODELPARAM_VALUE.{parameter.name}",
        )


def component(top: Top, files: Sequence[Path], folder: Path, version: str) -> str:
    """The component that is to lie in `folder`, of the top's `files` and the wrapper beside it."""
    ET.register_namespace("spirit", SPIRIT)
    found = interfaces(top)
    whole = ET.Element(f"{{{SPIRIT}}}component")
    for name, text in (("vendor", "framelane"), ("library", "framelane"), ("name", name_of(top)), ("version", version)):
        _add(whole, name, text)
    _bus_interfaces(_add(whole, "busInterfaces"), top, found)
    _address_spaces(whole, found)
    _model(whole, top)
    sources = _add(_add(whole, "fileSets"), "fileSet")
    _add(sources, "name", "sources")
    up = PurePosixPath(*[".."] * len(folder.parts))
    for path in files:
        file = _add(sources, "file")
        _add(file, "name", str(up / path))
        _add(file, "userFileType", "systemVerilogSource")
    file = _add(sources, "file")
    _add(file, "name", f"{name_of(top)}.v")
    _add(file, "fileType", "verilogSource")
    _add(whole, "description", top.says)
    parameters = _add(whole, "parameters")
    for each in top.parameters:
        parameter = _add(parameters, "parameter")
        _add(parameter, "name", each.name)
        _add(parameter, "value", _value(each), format="long", resolve="user", id=f"PARAM_VALUE.{each.name}")
    ET.indent(whole)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{ET.tostring(whole, encoding="unicode")}\n'
