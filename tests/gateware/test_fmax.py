"""Clocks of the routed gateware against their table; what is routed has registers for ports."""

from dataclasses import replace
from typing import Any

import pytest

import fmax
import routed
from fmax_table import LEAST_MHZ, TABLE, Row, beyond_limits, differences, parse, text

TX = Row("roce_tx", 5372, 4501, 0, (126.1, 131.4, 125.0), "`u_join.state_q` to `u_join.state_q`: 8.0 ns, 10 cells")
ROWS = Row("bd_gen", 4000, 4100, 3, (90.0, 88.5, 91.2), "`port clk_i` to `rows_q`: 11.3 ns, 12 cells")
OLD = {row.design: row for row in (TX, ROWS)}


def slower(row: Row, percent: float) -> Row:
    return replace(row, mhz=tuple(round(mhz * (1 - percent / 100), 1) for mhz in row.mhz))


def test_a_page_is_read_back_as_it_was_written() -> None:
    assert parse(text([TX, ROWS], "yosys 0.70, nextpnr-ecp5 0.11", "--effort 4", 3)) == OLD


def test_a_row_of_another_table_is_refused_with_its_line() -> None:
    with pytest.raises(SystemExit, match=r"make fmax: \| `mm2s` \| many"):
        parse("| `mm2s` | many | 0 | 0 | 1.0 | | x |\n")


def test_the_slowest_seed_keeps_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(LEAST_MHZ, "roce_tx", 125.0)
    assert beyond_limits(TX) == []
    (sentence,) = beyond_limits(replace(TX, mhz=(140.0, 124.9, 140.0)))
    assert sentence.startswith("roce_tx: 124.9 MHz routed, at least 125 are wanted; it is limited by `u_join")


def test_unchanged_sources_give_the_same_row_and_changed_ones_may_be_a_little_slower() -> None:
    def found(row: Row, exact: set[str]) -> list[str]:
        return differences(OLD, list(OLD), {row.design: row}, exact)

    assert found(slower(ROWS, 9), set()) == [] == found(slower(ROWS, -40), set()) == found(ROWS, {"bd_gen"})
    assert "79.6 MHz, more than 10 % below the 88.5" in found(slower(ROWS, 10.1), set())[0]
    assert "measured again it is" in found(replace(ROWS, flops=4101), {"bd_gen"})[0]


def test_a_design_without_a_row_and_a_row_without_a_design_are_said() -> None:
    found = differences(OLD, ["roce_tx", "tx"], {}, set())
    assert found[0] == "tx: not in docs/measured/fmax.md, run make fmax"
    assert found[1].startswith("bd_gen: in docs/measured/fmax.md, but no design")


def test_the_table_has_the_designs_and_keeps_its_limits() -> None:
    rows = parse(TABLE.read_text())
    assert list(rows) == list(fmax.DESIGNS)
    assert rows.keys() >= LEAST_MHZ.keys()
    assert [sentence for row in rows.values() for sentence in beyond_limits(row)] == []
    assert all(len(row.mhz) == len(fmax.SEEDS) for row in rows.values())


def test_every_port_is_a_register_in_one_chain() -> None:
    module: dict[str, Any] = {
        "ports": {
            "clk": {"direction": "input", "bits": [2]},
            "a": {"direction": "input", "bits": [3, 4]},
            "y": {"direction": "output", "bits": [5, "0"]},
        },
        "cells": {"lut": {"type": "LUT4", "connections": {"A": [3], "B": [4], "Z": [5]}}},
        "netnames": {"unused": {"bits": [9]}},
    }
    routed.wrap(module)
    assert module["ports"].keys() == {"clk", "chain_in", "chain_out"}
    flops = [cell["connections"] for cell in module["cells"].values() if cell["type"] == "TRELLIS_FF"]
    assert [flop["Q"] for flop in flops[:2]] == [[3], [4]], "the block's inputs come from registers"
    assert flops[1]["DI"] == flops[0]["Q"]
    assert flops[2]["DI"] == [5], "its output goes to one"
    assert module["ports"]["chain_out"]["bits"] == flops[3]["Q"]
    assert all(flop["CLK"] == [2] for flop in flops)


def test_a_path_is_named_after_its_registers() -> None:
    def hop(kind: str, start: str, end: str, delay: float) -> dict[str, Any]:
        return {"type": kind, "from": {"cell": start}, "to": {"cell": end}, "delay": delay}

    hops = [
        hop("clk-to-q", "u_join.state_q_TRELLIS_FF_Q_1", "u_join.state_q_TRELLIS_FF_Q_1", 0.5),
        hop("logic", "a_LUT4_Z", "a_LUT4_Z", 0.25),
        hop("routing", "a_LUT4_Z", "pin_m_axis_tdata_12", 1.0),
    ]
    other = {"from": "<async>", "path": [hop("routing", "x", "y", 90.0)]}
    report = {"critical_paths": [other, {"from": "posedge clk", "path": hops}]}
    assert routed._critical_path(report) == "`u_join.state_q` to `port m_axis_tdata`: 1.8 ns, 1 cells"


def test_a_block_is_placed_and_routed() -> None:
    row = fmax.measure("cdc_bits", (1,), {})
    assert (row.flops, row.brams) == (5, 0), "two flip-flops of the block, one for its input, two for its output"
    assert row.mhz[0] > 200
