"""A block has one name: its RTL, its golden model and its testbench are found by it."""

from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


CELLS = ("axis", "cdc", "gmii", "serial", "uart")
"""Families of small blocks, `axis_reg` and so on, with one model each."""

PARTS = {
    "axil_both": "registers",
    "axil_port": "registers",
    "axil_turns": "registers",
    "bd_reg": "bd_gen",
    "config_table": "registers",
    "det_constants": "det_correct",
    "det_end": "det_send",
    "det_queue": "det_place",
    "det_registers": "detector_core",
    "det_whole": "detector_core",
    "detector_links": "detector_tx",
    "detector_pcie": "detector/detector_core",
    "edge_stamp": "time_cross",
    "event_fence": "event_queue",
    "event_join": "event_queue",
    "guarded_store": "frame_store",
    "jf_lane": "jf_correct",
    "line_widen": "mac_port",
    "mac_gate": "mac_port",
    "mac_pad": "mac_port",
    "mac_rx": "mac_port",
    "mac_station": "mac_port",
    "mac_tx": "mac_port",
    "msix": "pcie_core",
    "pcie_engine": "pcie_wr",
    "pcie_lane": "pcie_core",
    "pcie_mix": "pcie_core",
    "pcie_registers": "registers",
    "pcie_route": "pcie_core",
    "pcie_stream": "tx_stream",
    "pcie_tx": "pcie/pcie_core",
    "peer_table": "roce_rx",
    "piece_reader": "jf_constants",
    "plane_reader": "jf_constants",
    "ptp_port": "ptp_send",
    "qp_commit": "registers",
    "rc_control": "rc_requester",
    "time_registers": "time_counter",
    "time_unit": "time_counter",
    "tlp_guard": "pcie_core",
    "tx_core": "tx",
    "tx_payload": "tx",
    "tx_rc": "rc/rc_requester",
    "tx_station": "station/neighbour",
}
"""Parts of a block that its model tells of too, which lies in the same folder where none is named."""

BUILDS = {
    "cdc_axis_clock": "cdc_axis",
    "detector_core_rate": "detector_core",
    **dict.fromkeys(
        ("framelane_top_outside", "framelane_top_without_rc", "framelane_top_without_store"), "framelane_top"
    ),
    "mac_port_outside": "mac_port",
    **dict.fromkeys(("pcie_tx_links", "pcie_tx_packets"), "pcie_tx"),
    "pcie_wr_link": "pcie_wr",
    "rc_requester_careless": "rc_requester",
    "time_unit_servo": "time_unit",
    **dict.fromkeys(("registers_counters", "registers_network", "registers_reset"), "registers"),
    **dict.fromkeys(("tx_outside", "tx_with_rc", "tx_with_rc_many"), "tx"),
    **dict.fromkeys(("tx_stream_with_rc", "tx_stream_with_rc_many"), "tx_stream"),
}
"""Benches of a block beside its own, or with other parameters."""

GENERATED = ("det_regs", "pcie_regs", "time_regs", "tx_regs")
"""Blocks that a program writes: others' benches run them."""


def model_name(block: str) -> str:
    """Return the model of a block: its own name, or that of its family, or of the block that it is a part of."""
    family = block.partition("_")[0]
    return family if family in CELLS else PARTS.get(block, block)


def folder(path: Path) -> str:
    """Return the folder of a block, which its model and its bench share; nothing for the tops."""
    return "" if path.parent.name in ("rtl", "hls") else f"{path.parent.name}/"


def unmatched(root: Path) -> list[str]:
    """Return one sentence per file of a block that lacks its counterpart."""
    blocks = {path.stem: path for path in root.glob("hw/**/*.sv") if not path.stem.endswith("_pkg")}
    for name in GENERATED:
        blocks.pop(name, None)
    benches = {path.stem.removeprefix("test_"): path for path in root.glob("sim/cocotb/**/test_*.py")}
    wanted = [(path, f"models/{folder(path)}{model_name(block)}.py") for block, path in blocks.items()]
    wanted += [(path, f"sim/cocotb/{folder(path)}test_{block}.py") for block, path in blocks.items()]
    found = [f"{path.relative_to(root)}: no {other}" for path, other in wanted if not (root / other).is_file()]
    orphans = [(block, path) for block, path in benches.items() if BUILDS.get(block, block) not in blocks]
    found += [f"{path.relative_to(root)}: no hw/**/{block}.sv" for block, path in orphans]
    return sorted(found)


def test_every_block_has_rtl_model_and_bench() -> None:
    assert unmatched(ROOT) == []


COMPLETE = (
    "hw/roce_tx/roce_pkg.sv",
    "hw/roce_tx/roce_icrc.sv",
    "models/roce_tx/roce_icrc.py",
    "sim/cocotb/roce_tx/test_roce_icrc.py",
    "hw/rtl/cells/axis_skid.sv",
    "models/cells/axis.py",
    "sim/cocotb/cells/test_axis_skid.py",
    "sim/cocotb/support/bench.py",
)


@pytest.mark.parametrize(
    ("lost", "sentence"),
    [
        (None, None),
        ("hw/roce_tx/roce_pkg.sv", None),
        ("models/roce_tx/roce_icrc.py", "hw/roce_tx/roce_icrc.sv: no models/roce_tx/roce_icrc.py"),
        ("sim/cocotb/roce_tx/test_roce_icrc.py", "hw/roce_tx/roce_icrc.sv: no sim/cocotb/roce_tx/test_roce_icrc.py"),
        ("hw/roce_tx/roce_icrc.sv", "sim/cocotb/roce_tx/test_roce_icrc.py: no hw/**/roce_icrc.sv"),
        ("models/cells/axis.py", "hw/rtl/cells/axis_skid.sv: no models/cells/axis.py"),
        ("sim/cocotb/cells/test_axis_skid.py", "hw/rtl/cells/axis_skid.sv: no sim/cocotb/cells/test_axis_skid.py"),
    ],
)
def test_a_lost_counterpart_is_named(tmp_path: Path, lost: str | None, sentence: str | None) -> None:
    for name in COMPLETE:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    if lost:
        (tmp_path / lost).unlink()
    assert unmatched(tmp_path) == ([sentence] if sentence else [])
