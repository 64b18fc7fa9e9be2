"""Seeded faults: each changes one line of logic, the same seed gives the same, and every kind is drawn."""

from collections import Counter
from pathlib import Path

import pytest

import faults
import mutations

RTL = Path(__file__).resolve().parents[1] / "hw" / "roce_tx"
SOURCE = """// a && b
module m (
    input logic a_i
);
  localparam int unsigned N = 1 + 2;
  assign x = a && !b;  // stays && here
  always_ff @(posedge clk) begin
    if (rst) q <= '0;
  end
endmodule
"""


def test_a_fault_changes_the_code_of_one_line_only() -> None:
    found = list(mutations.every("m", SOURCE))
    assert {m.number for m in found} == {6, 8}
    assert [m.new for m in found if m.number == 6] == [
        "  assign x = a || !b;  // stays && here",
        "  assign x = a && b;  // stays && here",
    ]
    for mutation in found:
        changed = mutation.apply(SOURCE).splitlines()
        differing = [n for n, (a, b) in enumerate(zip(SOURCE.splitlines(), changed, strict=True), 1) if a != b]
        assert differing == [mutation.number]


@pytest.mark.parametrize("block", ["roce_join", "roce_segment", "roce_icrc"])
def test_a_sample_is_of_different_lines_and_repeatable(block: str) -> None:
    source = (RTL / f"{block}.sv").read_text()
    drawn = mutations.sample(block, source, 9, seed=1)
    assert drawn == mutations.sample(block, source, 9, seed=1)
    assert drawn != mutations.sample(block, source, 9, seed=2)
    assert len({m.number for m in drawn}) == len(drawn) == 9


def test_operators_constants_and_conditions_are_all_drawn() -> None:
    kinds = Counter(
        m.kind for path in RTL.glob("roce_*.sv") for m in mutations.sample(path.stem, path.read_text(), 9, seed=1)
    )
    assert set(kinds) == {"operator", "constant", "condition"}


def test_what_is_explained_still_stands_in_the_gateware() -> None:
    for block, line, became in faults.EXPLAINED:
        source = (RTL / f"{block}.sv").read_text()
        assert any((m.old.strip(), m.new.strip()) == (line, became) for m in mutations.every(block, source)), line


def test_the_page_counts_what_was_caught_and_names_what_was_not() -> None:
    first, second = (m for m in mutations.every("m", SOURCE) if m.number == 6)
    page = faults.table([(first, "m"), (first, "roce_tx"), (second, "m"), (first, "")], count=4, seed=7)
    assert "4 single faults" in page
    assert "seed 7, 4 a block" in page
    assert "caught 3 (75.0%)" in page
    assert "| `m` | 4 | 3 | 2 |" in page
    assert "became | why" in page
    assert "| `m` | `assign x = a && !b;  // stays && here` | `assign x = a \\|\\| !b;  // stays && here` |" in page
