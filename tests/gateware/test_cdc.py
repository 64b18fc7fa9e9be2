"""scripts/clocks/cdc.py: what crosses clocks beside the kit is named; what crosses through it has constraints."""

import re
import shutil
from pathlib import Path

import pytest

import cdc
import elaborate
import records
from cdc_constraints import quartus, vivado
from cdc_paths import Crossing, Netlist, violations
from elaborate import ROOT

HEAD = """module planted (
    input logic s_clk, input logic m_clk, input logic rst, input logic [3:0] data_i,
    output logic [3:0] data_o, output logic bit_o, output logic rst_o
);
  logic [3:0] s_q, t_q, m_q, code;
  logic [1:0] twice;
  logic bit_q, m_rst;
  always_ff @(posedge s_clk) s_q <= data_i;
  always_ff @(posedge s_clk) t_q <= s_q;
  assign data_o = m_q;
  assign bit_o = bit_q;
  assign rst_o = m_rst;
"""

WRONG = {
    "a register of the other clock": ("always_ff @(posedge m_clk) m_q <= s_q;", "m_q (m_clk) depends on s_q (s_clk)"),
    "logic of both": ("always_ff @(posedge m_clk) m_q <= m_q + s_q;", "m_q (m_clk) depends on s_q (s_clk)"),
    "an enable": ("always_ff @(posedge m_clk) if (s_q[0]) m_q <= '1;", "m_q (m_clk) depends on s_q (s_clk)"),
    "an asynchronous reset": (
        "always_ff @(posedge m_clk or posedge s_q[0]) if (s_q[0]) m_q <= '0; else m_q <= data_i;",
        "m_q (m_clk) depends on s_q (s_clk)",
    ),
    "logic before a synchronizer": (
        "cdc_bits u_bits (.clk(m_clk), .bits_i(s_q[0] && t_q[1]), .bits_o(code[0]));\n"
        "always_ff @(posedge m_clk) m_q[0] <= code[0];",
        "u_bits.meta_q (m_clk) depends on s_q, t_q (s_clk): there is logic before a synchronizer",
    ),
    "a memory": (
        "logic [3:0] memory[16];\nalways_ff @(posedge s_clk) memory[s_q] <= t_q;\n"
        "always_ff @(posedge m_clk) m_q <= memory[m_q];",
        "m_q (m_clk) depends on memory (s_clk)",
    ),
    "a memory's address": (
        "logic [3:0] memory[16];\nalways_ff @(posedge m_clk) memory[s_q] <= m_q;\n"
        "always_ff @(posedge m_clk) m_q <= memory[m_q];",
        "memory (m_clk) depends on s_q (s_clk)",
    ),
    "a register at a pin that sends": (
        "ODDRX1F u_pin (.SCLK(m_clk), .RST(1'b0), .D0(s_q[0]), .D1(s_q[1]), .Q(bit_q));",
        "u_pin (m_clk) depends on s_q (s_clk)",
    ),
    "a register at a pin that receives": (
        "IDDRX1F u_pin (.SCLK(s_clk), .RST(1'b0), .D(data_i[0]), .Q0(code[0]), .Q1(code[1]));\n"
        "always_ff @(posedge m_clk) m_q[0] <= code[1];",
        "m_q (m_clk) depends on u_pin (s_clk)",
    ),
}

RIGHT = """
  cdc_bits u_bits (.clk(m_clk), .bits_i(s_q[0]), .bits_o(code[0]));
  cdc_twice u_twice (.clk(m_clk), .bit_i(t_q[1]), .rise_o(twice[0]), .fall_o(twice[1]));
  cdc_word #(.Width(3)) u_word (.s_clk, .word_i(s_q[3:1]), .m_clk, .word_o(code[3:1]));
  cdc_gray #(.Width(4)) u_gray (.s_clk, .next_i(t_q), .m_clk, .count_o(m_q));
  cdc_reset u_reset (.clk(m_clk), .rst_i(t_q[0]), .rst_o(m_rst));
  always_ff @(posedge m_clk) bit_q <= ^{code, twice};
"""


def planted(folder: Path, monkeypatch: pytest.MonkeyPatch, body: str) -> list[Crossing]:
    """The crossings of a module beside the kit."""
    shutil.copytree(ROOT / "hw" / "rtl" / "clocks", folder / "hw")
    cells = folder.joinpath("boards", *elaborate.BLACK_BOXES)
    cells.parent.mkdir(parents=True)
    shutil.copy(ROOT.joinpath("boards", *elaborate.BLACK_BOXES), cells)
    (folder / "hw" / "planted.sv").write_text(f"{HEAD}{body}\nendmodule\n")
    monkeypatch.setattr(elaborate, "ROOT", folder)
    return Netlist(elaborate.netlist("planted", {})).crossings()


@pytest.mark.parametrize("name", WRONG)
def test_what_does_not_go_through_the_kit_is_named(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    body, sentence = WRONG[name]
    found = violations(planted(tmp_path, monkeypatch, body))
    assert [each for each in found if each.startswith(sentence)], found
    assert len(found) == 1


def test_logic_before_a_cell_that_samples_twice_is_named_twice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    body = (
        "cdc_twice u_twice (.clk(m_clk), .bit_i(s_q[0] && t_q[1]), .rise_o(twice[0]), .fall_o(twice[1]));\n"
        "always_ff @(posedge m_clk) m_q[1:0] <= twice;"
    )
    both = violations(planted(tmp_path, monkeypatch, body))
    assert [sentence.split()[0] for sentence in both] == ["u_twice.meta_q", "u_twice.u_rise.meta_q"]
    assert all("there is logic before a synchronizer" in sentence for sentence in both)


def test_what_goes_through_the_kit_is_good_and_has_constraints(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = planted(tmp_path, monkeypatch, RIGHT)
    assert violations(found) == []
    assert sorted(crossing.kind for crossing in found) == [
        "gray",
        "reset",
        "synchronizer",
        "synchronizer",
        "synchronizer",
        "synchronizer",
        "synchronizer",
        "word",
    ]
    xdc = vivado(found, "u_board/gen_port.u_x", {"s_clk": 4, "m_clk": 3.2}).splitlines()
    place = "u_board/gen_port.u_x"
    gray = (
        f"-from [get_cells {{{place}/u_gray/gray_q_reg*}}] -to [get_cells {{{place}/u_gray/u_bits/meta_q_reg*}}] 3.200"
    )
    assert f"set_max_delay -datapath_only {gray}" in xdc
    assert f"set_bus_skew {gray}" in xdc
    assert sum("u_word/hold_q_reg*" in line and "u_word/word_q_reg*" in line for line in xdc) == 1
    assert sum(line.startswith("set_false_path") and "u_reset/reset_q_reg*" in line for line in xdc) == 1
    assert len(xdc) == 1 + 7 + 1 + 1
    sdc = quartus(found, "u_board", {"s_clk": 4, "m_clk": 3.2})
    for crossing in found:
        assert "|".join(crossing.to.name) in sdc
    assert "set_max_skew -from [get_registers {*u_board|u_gray|gray_q*}]" in sdc


def test_constraints_are_of_as_many_links_as_there_are() -> None:
    for links in (1, 3):
        found, wrong = cdc.crossings("detector_links", cdc.numbers([f"Links={links}", "DataW=64"]))
        assert not wrong
        clocks = {clock for each in found for clock in (each.clock, *each.clocks)}
        assert {clock for clock in clocks if clock.startswith("link_rx_clk")} == (
            {"link_rx_clk"} if links == 1 else {f"link_rx_clk[{k}]" for k in range(links)}
        )


def test_all_modules_with_several_clocks_are_looked_at() -> None:
    looked_at = [top for top, _ in cdc.looked_at()]
    assert looked_at == ["detector_links", "framelane_top", "framelane_top", "colorlight_5a_75b", "ecpix_5"]
    assert cdc.clocks((ROOT / "hw/rtl/mac/mac_port.sv").read_text()) == ["clk", "tx_clk", "rx_clk"]
    sources = elaborate.modules()
    several = {name for name, text in sources.items() if len(cdc.clocks(text)) > 1}
    assert {"cdc_axis.sv", "framelane_top.sv", "gmii_board.sv", "gmii_line.sv"} <= several
    assert several <= records.parts(looked_at, sources).keys()


def test_framelane_top_is_looked_at_with_a_wider_and_a_narrower_mac() -> None:
    assert [given["MacW"] > given["DataW"] for given in cdc.LOOKED_AT["framelane_top"]] == [False, True]


def test_boards_are_looked_at_with_and_without_their_receive_path() -> None:
    texts = [(ROOT / "boards" / top / f"{top}.sv").read_text() for top in elaborate.boards()]
    assert [re.search(r"\.Station +\(1'b1\)", text) is not None for text in texts] == [False, True]
