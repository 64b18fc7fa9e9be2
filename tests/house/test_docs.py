"""Pages that repeat what the sources say: the bits of the packetizer's structs, and how it is instantiated."""

import re
import subprocess
from pathlib import Path

import pytest

from framelane.driver.simulated.library import WIDTHS
from framelane.driver.simulated.ports import MESSAGE_T, QP_T, QP_WRITE_T, Struct
from framelane.driver.simulated.toolchain import verilator_environment
from framelane.models.roce_tx.roce_segment import Status

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "reference" / "packetizer.md").read_text()
TOP = """module my_top
  import roce_pkg::*;
(
    input logic clk, rst,
    input logic [47:0] local_mac_i, dst_mac,
    input logic [31:0] local_ip_i, dst_ip, rkey,
    input logic [23:0] dest_qpn, first_psn,
    input logic [63:0] address,
    input logic s_axis_qp_tvalid, s_axis_msg_tvalid, s_axis_payload_tvalid, s_axis_payload_tlast, m_axis_tready,
    output logic s_axis_qp_tready, s_axis_msg_tready, s_axis_payload_tready, m_axis_tvalid, m_axis_tlast,
    input logic [511:0] s_axis_payload_tdata,
    input logic [63:0] s_axis_payload_tkeep,
    output logic [511:0] m_axis_tdata,
    output logic [63:0] m_axis_tkeep,
    output logic status_valid_o, idle_o,
    output status_e status_o,
    output logic [7:0] status_qp_o,
    output errors_t errors_o
);
"""


def rows(heading: str) -> list[tuple[str, int]]:
    """Names and bits of the table of fields below `heading`, in its order."""
    section = PAGE.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    found: list[tuple[str, int]] = []
    for names, bits in re.findall(r"^\| (`[^|]+`) \| ([\d, ]+) \|", section, re.MULTILINE):
        found += zip(re.findall(r"`(\.?\w+(?:\.\w+)?)`", names), map(int, bits.split(",")), strict=True)
    return found


@pytest.mark.parametrize(
    ("struct", "heading", "inner"),
    [(QP_WRITE_T, "QPs", False), (QP_T, "QPs", True), (MESSAGE_T, "Messages", False)],
)
def test_a_table_of_fields_is_the_packed_struct(struct: Struct, heading: str, inner: bool) -> None:
    named = [(name.rpartition(".")[2], bits) for name, bits in rows(heading) if name.startswith(".") == inner]
    assert named == list(struct.fields.items())


def test_the_codes_of_the_status_are_those_of_the_model() -> None:
    codes = re.findall(r"^\| (\d) \| ([A-Z_]+) \|", PAGE, re.MULTILINE)
    assert [(int(code), name) for code, name in codes] == [(status.value, status.name) for status in Status]


def test_the_widths_are_those_of_the_sources() -> None:
    assert f"| `DataW` | {', '.join(map(str, WIDTHS))} |" in PAGE


def test_the_instantiation_builds_from_the_files_that_are_named(tmp_path: Path) -> None:
    example = re.search(r"```systemverilog\n  import roce_pkg::\*;\n(.*?)```", PAGE, re.DOTALL)
    assert example
    (tmp_path / "my_top.sv").write_text(f"{TOP}{example[1]}endmodule\n")
    named = re.findall(r"[\w./]+\.sv", PAGE.partition("read first:")[2].partition("\n\n")[0])
    sources = [ROOT / "hw" / "roce_tx" / name for name in named]
    waived = ["-Wno-PINCONNECTEMPTY", "-Wno-UNUSEDPARAM", "-Wno-PROCASSINIT", "-Wno-MULTITOP"]
    result = subprocess.run(
        ["verilator", "--lint-only", "-Wall", *waived, "--top-module", "my_top", *sources, tmp_path / "my_top.sv"],
        env=verilator_environment(),
        capture_output=True,
        text=True,
    )
    assert result.returncode == 0, result.stdout + result.stderr
