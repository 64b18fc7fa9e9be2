"""With four states no register stays unknown behind a reset: no copy that asks whether it changes, no sum.

Each block is simulated as yosys' netlist, by Icarus Verilog: all registers begin as x, then come eight cycles of reset,
then known random inputs.
"""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

import yosys

NETLIST = """
proc
flatten
bwmuxmap
chformal -remove
delete t:$check t:$print
memory_collect
opt_clean
write_verilog -noattr out
"""
CYCLES = 1500
PORT = re.compile(r"^  input (?:\[(\d+):0\] )?(\S+) *;$", re.MULTILINE)
REGISTER = re.compile(r"^  reg (?:\[\d+:\d+\] )?(\S+) *;$", re.MULTILINE)

BLOCKS: dict[str, dict[str, int]] = {
    "axil_port": {"Copies": 4},
    "axis_behead": {"DataW": 512, "More": 8},
    "bd_place": {},
    "config_table": {"Copies": 2},
    "dcqcn": {},
    "det_place": {},
    "det_whole": {},
    "pcie_registers": {},
    "ptp_send": {},
    "ptp_tap": {"MacW": 512},
    "qp_commit": {"Copies": 2},
    "roce_join": {},
    "time_registers": {},
    "tx_control": {"Copies": 5},
}
NOT_REACHED = {
    "bd_place": {"address_q", "slot_q", "slot_next_q", "source_q", "total_q"},
    "det_place": {
        *("bits_q", "count_q", "dropped_q", "end_bits_q", "end_bunch_q", "end_count_q", "end_dropped_q"),
        *("end_unit_time_q", "foreign_q", "identity_q", "owned_q", "seen_q", "was_owned_q"),
    },
    "ptp_tap": {"u_stamps.word_q"},
    "time_registers": {"now_q"},
}
"""Data of steps to which random inputs do not lead, and of frames that they do not begin."""


def bench(netlist: str, block: str) -> str:
    """A test bench that prints the registers that are not known in the end."""
    inputs = [(name, int(msb or 0) + 1) for msb, name in PORT.findall(netlist)]
    clocks = [name for name, _ in inputs if name.endswith("clk")]
    resets = [name for name, _ in inputs if name.endswith("rst")]
    others = [(name, width) for name, width in inputs if name not in clocks + resets]
    drawn = {name: f"{name} = {{{', '.join(['$urandom'] * -(-width // 32))}}};" for name, width in others}
    looks = (f'if (^dut.{name} === 1\'bx) $display("{name.strip(chr(92))}");' for name in REGISTER.findall(netlist))
    lines = [
        "module bench;",
        *(f"reg [{width - 1}:0] {name} = {'1' if name in resets else '0'};" for name, width in inputs),
        f"{block} dut({', '.join(f'.{name}({name})' for name, _ in inputs)});",
        *(f"always #{5 + k} {name} = !{name};" for k, name in enumerate(clocks)),
        f"initial begin repeat (8) @(negedge {clocks[0]});",
        *(f"{name} = 0;" for name in resets),
        f"repeat ({CYCLES}) begin @(negedge {clocks[0]});",
        *(f"if ($urandom & 1) {draw}" for draw in drawn.values()),
        "end",
        *looks,
        "$finish(0); end",
        "endmodule",
    ]
    return "\n".join(lines)


def unknown(block: str, parameters: dict[str, int], folder: Path) -> set[str]:
    """The registers of a block that are not known after a reset and random inputs."""
    netlist = yosys.run(block, NETLIST, **parameters)
    (folder / "block.v").write_text(netlist)
    (folder / "bench.v").write_text(bench(netlist, block))
    command = ["iverilog", "-g2005-sv", "-s", "bench", "-o", "simulation", "bench.v", "block.v"]
    subprocess.run(command, cwd=folder, check=True, timeout=60)
    done = subprocess.run(
        ["vvp", "-n", "simulation"], cwd=folder, check=True, timeout=60, capture_output=True, text=True
    )
    return set(done.stdout.split())


@pytest.fixture(autouse=True)
def icarus() -> None:
    if not shutil.which("iverilog"):
        pytest.skip("Icarus Verilog is not installed: apt-get install iverilog")


@pytest.mark.parametrize("block", BLOCKS)
def test_no_register_stays_unknown(block: str, tmp_path: Path) -> None:
    assert unknown(block, BLOCKS[block], tmp_path) <= NOT_REACHED.get(block, set())


def test_a_copy_that_nothing_resets_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "hw").mkdir()
    (tmp_path / "hw" / "planted.sv").write_text(
        "module planted (\n"
        "    input logic clk, input logic rst, input logic [3:0] next_i, output logic [3:0] a_q, b_q, c_q\n"
        ");\n"
        "  always_ff @(posedge clk) begin\n"
        "    if (a_q != next_i) a_q <= next_i;\n"
        "    if (rst || b_q != next_i) b_q <= next_i;\n"
        "    if (c_q != next_i) c_q <= next_i;\n"
        "    if (rst) c_q <= '0;\n"
        "  end\n"
        "endmodule\n"
    )
    monkeypatch.setattr(yosys, "ROOT", tmp_path)
    assert unknown("planted", {}, tmp_path) == {"a_q"}
