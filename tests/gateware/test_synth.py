"""The gateware's area and depth against their table: what is let through and what is not."""

from dataclasses import replace
from typing import Any

import pytest

import synth_table
import yosys
from synth_table import Row, beyond_limits, differences, parse

JOIN = Row("roce_join", logic=2648, memory=0, flops=1678, carries=13, dsps=0, levels=7)
QP = Row("roce_qp", logic=600, memory=400, flops=635, carries=45, dsps=0, levels=12, levels_with_carries=6)
CELL = Row("axis_reg", logic=582, memory=0, flops=1156, carries=0, dsps=0)
TOTAL = Row("roce_tx", logic=8800, memory=200, flops=6201, carries=122, dsps=0, levels=8)
CARRIES = {"roce_qp": "the sum"}


def changed(row: Row, column: str, value: int) -> Row:
    fields: dict[str, Any] = {column: value}
    return replace(row, **fields)


def table(*rows: Row) -> dict[str, Row]:
    return {row.block: row for row in rows}


def test_a_table_is_read_back_as_it_was_written() -> None:
    rows = [JOIN, QP, CELL]
    assert list(parse(synth_table.text(rows, "0.70", CARRIES)).values()) == rows


def test_the_tables_exceptions_are_named_with_their_carry() -> None:
    assert synth_table.text([QP], "0.70", CARRIES).endswith("\n- `roce_qp`: the sum\n")
    assert "the sum" not in synth_table.text([QP], "0.70", {})


@pytest.mark.parametrize("line", ["| `mm2s` | 1 | 2 |", "| `mm2s` | many | 0 | 1 | 1 | 0 |"])
def test_a_row_of_another_table_is_refused_with_its_line(line: str) -> None:
    with pytest.raises(SystemExit, match=rf"make synth: \| `mm2s` \| {line[11]}"):
        parse(line)


def test_the_committed_table_can_be_read() -> None:
    assert parse(synth_table.TABLE.read_text()).keys() >= {"roce_tx", "tx"}


def found(old: list[Row], new: list[Row], exact: set[str] | None = None) -> list[str]:
    return differences(table(*old), [row.block for row in new], table(*new), exact or set())


@pytest.mark.parametrize(
    ("column", "let_through", "refused"),
    [("logic", 630, 631), ("logic", 570, 569), ("memory", 420, 421), ("flops", 666, 667), ("carries", 47, 48)],
)
def test_a_block_that_has_changed_may_differ_by_five_percent(column: str, let_through: int, refused: int) -> None:
    old = getattr(QP, column)
    assert found([QP], [changed(QP, column, let_through)]) == []
    assert found([QP], [changed(QP, column, refused)]) == [
        f"roce_qp: {column} is {refused}, docs/measured/area.md has {old}, more than 5 % apart: run make synth"
    ]
    assert found([QP], [changed(QP, column, let_through)], {"roce_qp"}) == [
        f"roce_qp: {column} is {let_through}, docs/measured/area.md has {old}: run make synth"
    ]


@pytest.mark.parametrize("column", ["dsps", "brams", "levels", "levels_with_carries"])
def test_one_dsp_or_block_ram_or_level_more_asks_for_a_new_table(column: str) -> None:
    assert found([QP], [changed(QP, column, getattr(QP, column) + 1)]) == [
        f"roce_qp: {column} is {getattr(QP, column) + 1}, docs/measured/area.md has {getattr(QP, column)}: "
        "run make synth"
    ]


def test_a_smaller_block_does_not_pay_for_a_larger_one() -> None:
    assert len(found([JOIN, CELL], [replace(JOIN, logic=1000), replace(CELL, logic=700)])) == 2


def test_a_block_that_only_one_side_has_asks_for_a_new_table() -> None:
    assert found([JOIN], [QP]) == [
        "roce_qp: not in docs/measured/area.md, run make synth",
        "roce_join: in docs/measured/area.md but not in hw/, run make synth",
    ]


@pytest.mark.parametrize(
    ("column", "beyond", "sentence"),
    [
        ("memory", 201, "9,001 LUTs in all, the limit is 9,000"),
        ("flops", 9_001, "9,001 flip-flops, the limit is 9,000"),
        ("dsps", 1, "1 DSPs, the limit is 0"),
        ("brams", 1, "1 block RAMs, the limit is 0"),
    ],
)
def test_the_packetizer_has_limits_of_all_kinds(column: str, beyond: int, sentence: str) -> None:
    assert beyond_limits(TOTAL, {}) == []
    assert beyond_limits(changed(TOTAL, column, beyond), {}) == [f"roce_tx: {sentence}"]


def test_a_deep_block_is_refused_unless_its_wide_carry_is_named() -> None:
    assert beyond_limits(QP, CARRIES) == []
    assert beyond_limits(QP, {}) == ["roce_qp: 12 levels, the limit is 8, and no wide carry is named in WIDE_CARRIES"]


def test_a_named_carry_excuses_no_depth_beside_it() -> None:
    deep = replace(QP, levels_with_carries=9)
    assert beyond_limits(deep, CARRIES) == ["roce_qp: 9 levels with carry chains as one each, the limit is 8"]


def test_an_exception_that_is_not_needed_has_to_go() -> None:
    shallow = replace(QP, levels=8, levels_with_carries=None)
    assert beyond_limits(shallow, CARRIES) == ["roce_qp: keeps the limit of levels, so it has to leave WIDE_CARRIES"]


def test_a_block_whose_depth_is_not_measured_has_no_limit_of_levels() -> None:
    assert beyond_limits(CELL, CARRIES) == []


@pytest.mark.parametrize(
    ("column", "most", "unit"),
    [("fanout", 256, "inputs on one net"), ("levels_with_carries", 8, "levels with carry chains as one each")],
)
def test_what_a_net_drives_and_levels_with_carries_have_no_exception(column: str, most: int, unit: str) -> None:
    assert beyond_limits(changed(QP, column, most), CARRIES) == []
    assert beyond_limits(changed(QP, column, most + 1), CARRIES) == [f"roce_qp: {most + 1} {unit}, the limit is {most}"]


def test_what_drives_most_is_named_and_clocks_do_not_count() -> None:
    def cell(kind: str, **inputs: Any) -> dict[str, Any]:
        pins = {pin: bits if isinstance(bits, list) else [bits] for pin, bits in inputs.items()}
        directions = {pin: "output" if pin == "Q" else "input" for pin in pins}
        return {"type": kind, "connections": pins, "port_directions": directions}

    flops = {f"f{k}": cell("FDRE", C=2, CE=4, R="0", D=5 + k, Q=4) for k in range(3)}
    names = {
        "clk": {"bits": [2], "hide_name": 0},
        "u_reg.enable": {"bits": [3, 4], "hide_name": 0},
        "$1": {"bits": [4], "hide_name": 1},
    }
    module = {"cells": flops | {"m": cell("RAM32M", WCLK=2, ADDRA=[4, 3])}, "netnames": names}
    assert yosys.mapped(module) == yosys.Mapped({"FDRE": 3, "RAM32M": 1}, 4, "u_reg.enable[1]")


REPORT = r"""
Longest topological path in roce_x (length=4):
    0: \left_q [21]
    1: $abc$1$aiger$2 (via $abc$1$lut$aiger$2)
    2: $techmap3\roce_x.sv:83.17-83.41$1.Y [8] (via roce_x.sv:83.17-83.41$1)
    3: $techmap4$auto$maccmap.cc:240:synth$7.CO [0] (via $auto$maccmap.cc:240:synth$7)
"""


def test_the_longest_path_is_named_by_its_registers_and_its_carries() -> None:
    hop = r"    4: $abc$1$aiger$o9 (via $auto$abc_ops_reintegrate.cc:694:reintegrate$1)"
    path = yosys.longest_path(f"{REPORT}{hop}\n   ff: \\busy_q (via $auto$ff.cc:337:slice$5)\n")
    places = ("roce_x.sv:83.17-83.41", "a product or sum of several")
    assert path == yosys.LongestPath(4, "left_q[21]", "busy_q", places)


def test_a_path_that_ends_in_a_carry_chain_is_named_by_it() -> None:
    assert yosys.longest_path(REPORT).end == "a product or sum of several"


def test_no_path_in_the_report_is_an_error() -> None:
    with pytest.raises(SystemExit, match="no path"):
        yosys.longest_path("ERROR: nothing selected")


def test_an_unknown_block_is_refused_by_name() -> None:
    with pytest.raises(SystemExit, match=r"no file roce_y\.sv in hw/"):
        yosys.depth("roce_y")
