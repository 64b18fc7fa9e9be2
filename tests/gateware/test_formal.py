"""The list of proofs: what it must hold, and that it fits the RTL. The proofs themselves are run by `make formal`."""

from pathlib import Path

import pytest

import formal
import proofs
from proofs import ROOT, Block

BLOCKS = proofs.blocks()


WITHIN = {"cdc_bits", "cdc_twice", "cdc_reset", "cdc_gray", "cdc_restart", "cdc_ram"}
"""Cells without logic, or with none but what is proved of those that have them; the page says so, too."""


def test_every_cell_and_what_makes_packets_is_proved() -> None:
    rtl = ROOT / "hw" / "rtl"
    wanted = {path.stem for folder in ("cells", "clocks") for path in (rtl / folder).glob("*.sv")}
    wanted |= {path.stem for path in (rtl / "registers").glob("axil_*.sv")}
    wanted |= {"roce_segment", "roce_header", "roce_join"}
    assert wanted - {block.name for block in BLOCKS} == WITHIN
    assert all(f"`{name}`" in proofs.HEAD.read_text() for name in WITHIN)


@pytest.mark.parametrize("block", BLOCKS, ids=lambda block: block.name)
def test_every_proof_of_a_block_has_a_fault_to_find(block: Block) -> None:
    assert {fault.proof for fault in block.faults} == set(block.proofs)


def test_paths_are_looked_for_where_they_could_begin() -> None:
    without = {block.name for block in BLOCKS if "paths" not in block.proofs}
    crossings = {"cdc_axi_read", "cdc_axi_write", "cdc_axil"}
    assert without == crossings | {
        "axis_behead",
        "axil_port",
        "axil_both",
        "axil_turns",
        "cdc_pulse",
        "cdc_word",
        "event_fence",
        "frame_head",
        "line_widen",
        "roce_qp",
        "time_counter",
        "rc_protocol",
        "rc_timer",
        "read_guard",
        "s2mm",
        "serial_divide",
        "serial_scale",
        "watchdog",
        "write_guard",
    }


@pytest.mark.parametrize("block", BLOCKS, ids=lambda block: block.name)
def test_the_faults_can_still_be_planted(block: Block, tmp_path: Path) -> None:
    for fault in block.faults:
        formal.copied(tmp_path / "copy", block, fault)
        source = next((ROOT / "hw").rglob(fault.file)).read_text()
        assert (tmp_path / "copy" / fault.file).read_text() not in ("", source), fault.says


def test_a_fault_whose_text_is_gone_is_refused(tmp_path: Path) -> None:
    fault = proofs.Fault("a comment", find="no such text", put="", file="axis_reg.sv")
    with pytest.raises(SystemExit, match=r"axis_reg\.sv must have this once, and has it 0 times: no such text"):
        formal.copied(tmp_path / "copy", BLOCKS[0], fault)


def test_the_page_is_the_lists() -> None:
    assert proofs.PAGE.read_text() == proofs.page(BLOCKS), "run make formal"
