"""The files of boards that open tools build, what is read of nextpnr's report, and the page of it."""

import json
import re
import resource
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import bitstream_files
import bitstream_table
import board_build
from board_build import (
    BOARDS,
    INPUTS,
    SHARED,
    Board,
    CriticalPath,
    Placed,
    board,
    boards,
    check_clocks,
    clock_names,
    inputs,
    placed,
    sources,
    synthesize,
)
from tool import Cost, run

NAMES = boards()
PYTHON = sys.executable
MADE = Board("board", "25k", "CABGA256", 6, 85, {"core_clk": 62.5, "rx_clk": 125}, {})
COST = Cost(90, 1536)

NETS = {"core_clk": [2], "u_a.clk": [2], "eth0_rxc": [3], "rx_clk": [3], "u_a.x": [4], "data": [3, 5]}
NAMED = clock_names(MADE, {"netnames": {name: {"bits": bits} for name, bits in NETS.items()}})


def report(core: float = 70.0) -> dict[str, Any]:
    """What nextpnr writes, cut down."""
    hop = {"type": "logic", "delay": 4.0, "from": {"cell": "u_a.x_q_TRELLIS_FF_Q_3"}, "to": {"cell": "u_b.y_q"}}
    core_net, rx_net = "$glbnet$core_clk", "$glbnet$eth0_rxc$TRELLIS_IO_IN"
    return {
        "utilization": {
            "TRELLIS_COMB": {"used": 80, "available": 100},
            "TRELLIS_FF": {"used": 85, "available": 100},
            "DP16KD": {"used": 0, "available": 56},
        },
        "fmax": {core_net: {"achieved": core, "constraint": 62.5}, rx_net: {"achieved": 125.04, "constraint": 125}},
        "critical_paths": [
            {"from": f"posedge {core_net}", "to": f"posedge {core_net}", "path": [hop, hop | {"type": "routing"}]},
            {"from": f"posedge {core_net}", "to": f"posedge {rx_net}", "path": [hop] * 9},
        ],
    }


def test_a_clock_is_found_by_every_name_of_its_net() -> None:
    assert NAMED == {"core_clk": "core_clk", "u_a.clk": "core_clk", "eth0_rxc": "rx_clk", "rx_clk": "rx_clk"}


def test_a_clock_without_a_net_is_said_before_it_is_placed() -> None:
    check_clocks(MADE, {"netnames": dict.fromkeys(MADE.clocks)})
    with pytest.raises(SystemExit, match=r"board\.toml: no net of the netlist is named rx_clk"):
        check_clocks(MADE, {"netnames": {"core_clk": None}})


def test_what_nextpnr_reports_is_read_by_clock() -> None:
    got = placed(MADE, report(), NAMED, 2, b"bits")
    assert got.mhz == {"core_clk": 70.0, "rx_clk": 125.0}
    assert got.used["TRELLIS_COMB"] == (80, 100)
    assert got.paths == {"core_clk": CriticalPath("u_a.x_q", "u_b.y_q", 8.0, 1)}
    assert bitstream_table.problems(MADE, got) == []
    without = report()
    del without["fmax"]["$glbnet$core_clk"]
    with pytest.raises(SystemExit, match="no clock core_clk"):
        placed(MADE, without, NAMED, 2, b"bits")


def test_a_clock_that_is_missed_and_a_full_device_are_said() -> None:
    full = report(core=62.4)
    full["utilization"]["TRELLIS_FF"]["used"] = 86
    slow, too_many = bitstream_table.problems(MADE, placed(MADE, full, NAMED, 3, b"bits"))
    assert slow == (
        "board, seed 3: core_clk reaches 62.4 MHz, 62.5 are wanted; "
        "it is limited by `u_a.x_q` to `u_b.y_q`: 8.0 ns, 1 cells"
    )
    assert too_many == "board, seed 3: 86 of 100 flip-flops are used, more than 85 %"


def test_the_page_keeps_what_was_made_of_which_sources(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = board(NAMES[0])
    clocks = dict.fromkeys(made.clocks, 125.0)
    used = dict.fromkeys(bitstream_table.CELLS, (1, 10))
    placements = [Placed(seed, used, clocks, {}, f"{seed:064x}") for seed in (1, 2, 3)]
    monkeypatch.setattr(bitstream_table, "PAGE", tmp_path / "page.md")
    assert bitstream_table.recorded(made.name) == ("", ())
    (tmp_path / "page.md").write_text(bitstream_table.text(made, placements, COST))
    now = inputs(made), tuple(each.digest for each in placements)
    assert bitstream_table.recorded(made.name) == now
    other = board(NAMES[1])
    text = bitstream_table.text(other, [Placed(1, used, dict.fromkeys(other.clocks, 125.0), {}, "0" * 64)], COST)
    (tmp_path / "page.md").write_text(text)
    assert (bitstream_table.recorded(made.name), bitstream_table.recorded(other.name)[1]) == (now, ("0" * 64,))
    assert re.findall("^## (.+)$", text, re.MULTILINE) == NAMES
    assert bitstream_table.text(made, placements, COST) == text
    # The same bits have the inputs and the wanted clocks as they are now, and what the first run took.
    (tmp_path / "page.md").write_text(text.replace(inputs(made), "5" * 64))
    slow = Cost(9000, 1)
    assert bitstream_table.text(made, placements, slow) == text
    clock = next(iter(made.clocks))
    wanted = bitstream_table.text(replace(made, clocks=made.clocks | {clock: 33.0}), placements, slow)
    assert f"| `{clock}` | 33 |" in wanted
    assert "| yosys | 1.5 min |" in wanted
    others = [Placed(1, used, clocks, {}, "f" * 64), *placements[1:]]
    assert "| yosys | 150.0 min |" in bitstream_table.text(made, others, slow)


def test_the_page_says_what_the_tools_took() -> None:
    used = dict.fromkeys(bitstream_table.CELLS, (1, 10))
    made = board(NAMES[0])
    placements = [Placed(seed, used, dict.fromkeys(made.clocks, 125.0), {}, "0" * 64, COST) for seed in (1, 2)]
    text = bitstream_table.text(made, placements, Cost(30, 512))
    assert "| yosys | 0.5 min | 0.50 GiB |\n" in text
    assert "| nextpnr, seed 2 | 1.5 min | 1.50 GiB |\n" in text


def test_what_a_tool_took_is_its_own_and_what_fails_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    tool = tmp_path / "yowasp-tool"
    tool.write_text(f"#!{PYTHON}\nimport sys\nx = b'x' * int(sys.argv[1])\nsys.exit('no room')\n")
    tool.chmod(0o755)
    with pytest.raises(SystemExit, match=r"tool failed with status 1, all of it is in .*log:\nno room"):
        run("tool", "1", folder=tmp_path, log="log")
    tool.write_text(tool.read_text().replace("sys.exit('no room')", "print('done')"))
    large, small = (run("tool", str(size), folder=tmp_path, log="log") for size in (200 << 20, 1))
    own = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024  # a child begins with that
    assert 200 < large.mib < own + 400
    assert small.mib < own + 50  # and not the peak of all before it
    assert small.seconds > 0
    assert (tmp_path / "log").read_text() == "done\n"


@pytest.fixture
def there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of the first board, which is empty."""
    monkeypatch.setattr(bitstream_files, "ROOT", tmp_path)
    made = bitstream_files.folder(NAMES[0])
    made.mkdir(parents=True)
    return made


def test_a_netlist_of_other_sources_is_stale(there: Path) -> None:
    name = NAMES[0]
    assert bitstream_files.stale(name) == f"there is no netlist of {name}: make bitstream BOARD={name}"
    (there / INPUTS).write_text(f"{inputs(board(name))}\n")
    assert bitstream_files.stale(name)
    bitstream_files.netlist(name).touch()
    assert bitstream_files.stale(name) == ""
    assert bitstream_files.digest(name) == inputs(board(name))
    other = inputs(board(name, ip="10.0.0.1"))
    (there / INPUTS).write_text(other)
    assert f"is of the inputs {other[:12]}, but {inputs(board(name))[:12]} are here" in bitstream_files.stale(name)
    (there / INPUTS).unlink()  # as while it is made
    assert bitstream_files.stale(name)


def test_what_is_loaded_is_said(there: Path) -> None:
    name = NAMES[0]
    with pytest.raises(
        SystemExit, match=rf"There is no .*{name}.bit: make bitstream BOARD={name} makes it .* clocks\.$"
    ):
        bitstream_files.loads(name)
    (there / "seed4").mkdir()
    (there / "seed4" / f"{name}.bit").touch()
    with pytest.raises(SystemExit, match=rf"There are .*seed4/{name}.bit, which miss a clock. {bitstream_files.RISK}"):
        bitstream_files.loads(name)
    (there / f"{name}.bit").touch()
    assert bitstream_files.loads(name).startswith("WARNING: nothing says what")
    mine = board(name, mac="02:00:00:00:00:07")
    seed = Placed(4, {}, {}, {}, "0" * 64)
    bitstream_files.note(mine, seed, there)
    assert bitstream_files.loads(name).endswith(f"{name}.bit: seed 4, all clocks met, of the present sources")
    bitstream_files.note(replace(mine, package="other"), seed, there)
    assert "(seed 4, all clocks met) is of other sources than the present ones" in bitstream_files.loads(name)


def test_where_no_seed_is_good_another_is_advised() -> None:
    said = bitstream_files.advice(MADE, [1, 3], Path("build"))
    assert 'make bitstream BOARD=board ARGS="--seeds 4"' in said
    assert "build/seed1/board.bit, build/seed3/board.bit" in said
    assert bitstream_files.RISK in said


@pytest.mark.parametrize("name", NAMES)
def test_every_pin_has_its_place_and_its_standard(name: str) -> None:
    """The ports of the top against the .lpf: none is left to nextpnr, no place is given twice."""
    top = (BOARDS / name / f"{name}.sv").read_text().partition(") (\n")[2].partition(");")[0]
    pins = set()
    port_line = r"^ +(?:input|output|inout) +(?:logic|wire) +(?:\[ *(\d+):0\] +)?(\w+)"
    for width, port in re.findall(port_line, top, re.MULTILINE):
        pins |= {f"{port}[{k}]" for k in range(int(width) + 1)} if width else {port}
    lpf = (BOARDS / name / f"{name}.lpf").read_text()
    places = dict(re.findall(r'^LOCATE COMP "(.+)" SITE "(\w+)";$', lpf, re.MULTILINE))
    assert places.keys() == pins
    assert len(set(places.values())) == len(places)
    assert set(re.findall(r'^IOBUF PORT "(.+)" IO_TYPE=LVCMOS33\b', lpf, re.MULTILINE)) == pins


TINY = """
module tiny (
    input logic clk, reset, clear, step,
    input logic [63:0] in,
    output logic [63:0] wide_q,
    output logic [23:0] small_q,
    output logic [3:0] few_q,
    output logic [1:0] copies_q
);
  (* keep *) logic [1:0] kept_q;
  always_ff @(posedge clk) begin
    wide_q <= reset ? 64'd0 : in;
    small_q <= clear ? 24'd0 : in[23:0];
    if (step) few_q <= in[3:0];
    kept_q <= {2{^in}};
  end
  assign copies_q = kept_q;
endmodule
"""


def test_small_resets_and_enables_and_copies_are_not_left_in_a_netlist(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """nextpnr cannot place a full device with hundreds of resets: one tile has one."""
    (tmp_path / "tiny").mkdir()
    (tmp_path / "tiny" / "tiny.sv").write_text(TINY)
    monkeypatch.setattr(board_build, "BOARDS", tmp_path)
    made = Board("tiny", "25k", "CABGA256", 6, 85, {"clk": 100}, {})
    synthesize(made, tmp_path / "netlist")
    netlist = json.loads((tmp_path / "netlist" / "netlist.json").read_text())["modules"]["tiny"]
    ports = {name: port["bits"] for name, port in netlist["ports"].items()}
    flip_flops = [cell for cell in netlist["cells"].values() if cell["type"] == "TRELLIS_FF"]
    controls: dict[int, tuple[list[Any], list[Any]]] = {
        cell["connections"]["Q"][0]: (cell["connections"].get("LSR", []), cell["connections"].get("CE", []))
        for cell in flip_flops
    }
    assert all(controls[bit][0] == ports["reset"] for bit in ports["wide_q"])
    assert not any(ports["clear"] == lsr or ports["step"] == ce for lsr, ce in controls.values())
    assert len(set(ports["copies_q"])) == 1
    assert len(flip_flops) == 64 + 24 + 4 + 1


@pytest.mark.parametrize("name", NAMES)
def test_a_board_is_built_of_its_sources_without_models(name: str) -> None:
    found = sources(name)
    assert {f"{name}.sv", f"{name}.lpf", "framelane_top.sv", "gmii_tx.sv", "ecp5_cells.v"} <= found.keys()
    assert not any(model.name in found for folder in SHARED for model in (BOARDS / folder / "models").iterdir())


@pytest.mark.parametrize(
    ("change", "said"),
    [({"mac": "01:00:00:00:00:01"}, "no MAC of one board"), ({"ip": "192.168.1"}, "give an address as 192.168.1.50")],
)
def test_addresses_that_are_none_are_refused(change: dict[str, str], said: str) -> None:
    with pytest.raises(SystemExit, match=said):
        board(NAMES[0], **change)
    assert board(NAMES[0], mac="02:00:00:00:00:07", ip="10.0.0.1").parameters.items() >= {
        ("Mac", "48'h020000000007"),
        ("Ip", "32'h0a000001"),
    }


def test_there_is_no_board_of_another_name() -> None:
    with pytest.raises(SystemExit, match="BOARD is one of colorlight_5a_75b"):
        board("alveo_u55c")
