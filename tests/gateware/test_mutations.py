"""Seeded faults: each changes one line of logic, the same seed gives the same, and every kind is drawn."""

import ast
import contextlib
import math
import subprocess
import sys
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import fault_targets
import faults
import mutations
import python_mutations
from fault_reasons import EXPLAINED
from mutations import Mutation
from plant_gateware import SAME
from same_netlist import colours, same_netlist

ROOT = fault_targets.ROOT
RTL = fault_targets.find("hw", "roce_join.sv").parent
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
PYTHON = '''"""It stays 1 + 1."""


@dataclass(frozen=True, stays=2)
def m(a: tuple[int, "stays"], b: int = None, c: stays[1, 2] = None) -> stays[1, 2]:
    """It stays, 1 < 2 and not 3."""
    if a < b and not c:
        return a + 0xFFFF  # b - 1
    b += 2
    c.sort()
    stays = f"{a + 1} {b == 2}"
    for low, high in ((a, b), (b, a)):
        d = [x for x in sorted(c) if x != low]
    return int.from_bytes(c[-1:], "big"), min(d, high)


class P(Protocol):
    def stays(self, a: bool = False) -> int: ...  # stays
'''


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


def test_whoever_tries_more_faults_begins_with_those_that_were_tried_before() -> None:
    source = (RTL / "roce_join.sv").read_text()
    drawn = mutations.drawn("roce_join", mutations.every("roce_join", source), seed=1)
    assert sorted(drawn[:9], key=lambda m: m.number) == mutations.sample("roce_join", source, 9, seed=1)
    assert len({m.number for m in drawn[:20]}) == 20
    assert set(drawn) == set(mutations.every("roce_join", source))


@pytest.mark.parametrize(
    ("line", "became"),
    [
        ("    if a < b and not c:", "    if a <= b and not c:"),
        ("    if a < b and not c:", "    if a < b or not c:"),
        ("    if a < b and not c:", "    if a < b and c:"),
        ("    if a < b and not c:", "    if not (a < b and not c):"),
        ("        return a + 0xFFFF  # b - 1", "        return a - 0xFFFF  # b - 1"),
        ("        return a + 0xFFFF  # b - 1", "        return a + 0x7fff  # b - 1"),
        ("        return a + 0xFFFF  # b - 1", "        pass  # b - 1"),
        ("    b += 2", "    b = 2"),
        ("    b += 2", "    b -= 2"),
        ("    b += 2", "    b += 3"),
        ("    b += 2", "    pass"),
        ("    c.sort()", "    pass"),
        ("    for low, high in ((a, b), (b, a)):", "    for low, high in ((b, a), (b, a)):"),
        ("    for low, high in ((a, b), (b, a)):", "    for low, high in ((a, b), (a, b)):"),
        ("        d = [x for x in sorted(c) if x != low]", "        d = [x for x in list(c) if x != low]"),
        ("        d = [x for x in sorted(c) if x != low]", "        d = [x for x in sorted(c) if x == low]"),
        ("        d = [x for x in sorted(c) if x != low]", "        d = [x for x in sorted(c) if True]"),
        (
            '    return int.from_bytes(c[-1:], "big"), min(d, high)',
            '    return int.from_bytes(c[-1:], "little"), min(d, high)',
        ),
        (
            '    return int.from_bytes(c[-1:], "big"), min(d, high)',
            '    return int.from_bytes(c[1:], "big"), min(d, high)',
        ),
        (
            '    return int.from_bytes(c[-1:], "big"), min(d, high)',
            '    return int.from_bytes(c[-1:], "big"), max(d, high)',
        ),
        (
            '    return int.from_bytes(c[-1:], "big"), min(d, high)',
            '    return min(d, high), int.from_bytes(c[-1:], "big")',
        ),
    ],
)
def test_a_fault_of_python_changes_one_line(line: str, became: str) -> None:
    assert (line, became) in {(m.old, m.new) for m in python_mutations.every("m", PYTHON)}


def test_texts_types_decorators_and_protocols_of_python_stay_as_they_are() -> None:
    changed = {m.number for m in python_mutations.every("m", PYTHON)}
    lines = PYTHON.splitlines()
    assert not [lines[number - 1] for number in changed if "stays" in lines[number - 1]]


def test_every_fault_of_python_is_python_again_and_another_program() -> None:
    for mutation in python_mutations.every("m", PYTHON):
        changed = mutation.apply(PYTHON)
        assert ast.dump(ast.parse(changed)) != ast.dump(ast.parse(PYTHON))
        differing = [a for a, b in zip(PYTHON.splitlines(), changed.splitlines(), strict=True) if a != b]
        assert differing == [mutation.old]


def test_the_whole_gateware_the_core_and_the_doctor_have_tests_that_must_catch_their_faults() -> None:
    targets = {target.name: target for target in fault_targets.every()}
    assert len(targets) == len(fault_targets.every()), "two targets have one name"
    sources = {path.stem for path in (ROOT / "hw").rglob("*.sv") if not path.stem.endswith(("_pkg", "_regs"))}
    assert {name for name, target in targets.items() if target.group == fault_targets.GATEWARE} == sources
    doctor = {target.path for target in targets.values() if target.group == fault_targets.DOCTOR}
    found = {path for path in (ROOT / "sw").rglob("*.py") if "doctor" in path.parts and path.stem != "__init__"}
    assert doctor == found
    for target in targets.values():
        assert target.suites, target.name
    assert [suite.stem for suite in targets["roce_join"].suites] == ["test_roce_join", "test_roce_tx"]
    top = [suite.stem for suite in targets["framelane_top"].suites]
    others = [f"test_framelane_top_{each}" for each in ("outside", "without_rc", "without_store")]
    assert top == ["test_framelane_top", *others, "test_tx_stream"]
    own = [suite.stem for suite in targets["rc_requester"].suites]
    assert own[:2] == ["test_rc_requester", "test_rc_requester_careless"]


def test_a_verdict_is_of_the_source_the_tests_their_helpers_and_the_seed(tmp_path: Path) -> None:
    (suite := tmp_path / "test_x.py").write_text("from doctor_cases import make\nassert make\n")
    (source := tmp_path / "x.py").write_text("import framelane.a\nx = 1\n")

    (other := tmp_path / "test_y.py").write_text("assert True\n")

    def inputs(seed: int = 1, by: str | None = "test_x") -> str:
        fault_targets._code.cache_clear()
        fault_targets._helpers_of.cache_clear()
        fault_targets._with_helpers.cache_clear()
        return fault_targets.Target("x", fault_targets.DOCTOR, source, (suite, other), 1).inputs(seed, by)

    before, survived = inputs(), inputs(by="")
    assert before != survived != inputs(by=None)
    assert inputs(2) != before
    source.write_text("# moved\nimport framelane.b.a\n\nx = 1\n")
    assert (inputs(), inputs(by="")) == (before, survived)
    source.write_text("import framelane.a\nx = 2\n")
    assert inputs() != before
    source.write_text("import framelane.a\nx = 1\n")
    other.write_text("assert 1\n")
    assert inputs() == before, "of other tests than those that caught it"
    assert inputs(by="") != survived
    suite.write_text("from doctor_cases import make\nassert True\n")
    assert inputs() != before
    suite.write_text("assert make\n")
    assert inputs() != before, "without its helper"


def test_a_fault_in_python_is_caught_by_the_tests_of_its_module_and_the_file_stays(tmp_path: Path) -> None:
    target = next(t for t in fault_targets.doctor() if t.name == "doctor/psn")
    target = replace(target, suites=target.suites[:1])
    line = "        for low, high in ((at + 1, stop), (start, at)):"
    before = target.source
    number = before.splitlines().index(line) + 1
    swapped = Mutation("doctor/psn", number, "order", line, "        for low, high in ((start, at), (at + 1, stop)):")
    same = Mutation("doctor/psn", number, "order", line, f"{line}  # the same")
    command = (
        "import sys; from pathlib import Path; sys.path[:0] = [sys.argv[1], sys.argv[1] + '/faults']\n"
        "import fault_targets, plant_python; from mutations import Mutation; from dataclasses import replace\n"
        "target = next(t for t in fault_targets.doctor() if t.name == 'doctor/psn')\n"
        "target = replace(target, suites=target.suites[:1])\n"
        f"faults = [{swapped!r}, {same!r}]\n"
        "planter = plant_python.Planter(Path(sys.argv[2]), 1)\n"
        "for suite in (*target.suites, Path(sys.argv[3])):\n"
        "    print([by for _, by in planter.attempt(replace(target, suites=(suite,)), faults)])"
    )
    child = tmp_path / "test_child.py"
    child.write_text(
        "import subprocess, sys\n"
        "def test_child() -> None:\n"
        f"    subprocess.run([sys.executable, '-m', 'pytest', '-x', '-q', {str(target.suites[0])!r}], check=True)\n"
    )
    told = subprocess.run(
        [sys.executable, "-c", command, str(ROOT / "scripts"), str(tmp_path), str(child)],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert told.stdout == "['test_doctor_psn', '']\n['test_child', '']\n", (
        told.stderr + "processes of a test have it too"
    )
    assert target.source == before


def test_what_is_explained_still_stands_in_the_sources() -> None:
    targets = {target.name: target for target in fault_targets.every()}
    for block, line, became in EXPLAINED:
        assert any((m.old.strip(), m.new.strip()) == (line, became) for m in faults.drawn(targets[block], 1)), line


def test_the_page_counts_what_was_caught_and_names_what_was_not() -> None:
    target = next(target for target in fault_targets.gateware() if target.name == "roce_join")
    first, second, third, fourth = faults.drawn(target, 7)[:4]
    verdicts = [(first, "test_roce_join"), (second, "test_roce_tx"), (third, ""), (first, None), (fourth, SAME)]
    page = faults.table([target], {"roce_join": [faults.Tried(m, by, "before") for m, by in verdicts]}, seed=7)
    assert "seed 7" in page
    assert "| gateware: 1 of 1 | 3 | 2 | 66.7% |" in page
    assert f"| `roce_join` † | 3 | 2 | 1 | {len(faults.drawn(target, 7))} |" in page
    old, new = (line.strip().replace("|", "\\|") for line in (third.old, third.new))
    assert f"| `roce_join` | `{old}` | `{new}` |" in page
    old, new = (line.strip().replace("|", "\\|") for line in (fourth.old, fourth.new))
    assert f"| `roce_join` | `{old}` | `{new}` |\n" in page.partition("Not counted")[2]
    now = [faults.Tried(m, by, target.inputs(7, by)) for m, by in verdicts]
    assert "| `roce_join` | 3 | 2 | 1 |" in faults.table([target], {"roce_join": now}, seed=7)
    assert "Not run: `roce_join`." in faults.table([target], {}, seed=7)


def test_a_fault_that_leaves_the_netlist_as_it_is_is_none() -> None:
    source = fault_targets.find("hw", "mac_tx.sv").read_text()
    line = ".s_axis_tuser (1'b0),"
    assert source.count(line) == 1, "a mark that is not connected where it comes out"
    assert same_netlist("mac_tx", source.replace(line, ".s_axis_tuser (1'b1),"))
    line = ".s_axis_tvalid(in_tvalid),"
    assert source.count(line) == 1
    for became in ("!in_tvalid", "DataW == 64 ? !in_tvalid : in_tvalid"):
        assert not same_netlist("mac_tx", source.replace(line, f".s_axis_tvalid({became}),"))


def test_a_netlist_is_known_by_its_cells_and_wires_not_by_their_names() -> None:
    def design(wires: tuple[tuple[int, int], ...], ports: dict[str, int | str], kind: str = "$and") -> Any:
        first, second = (
            {"type": kind, "parameters": {}, "connections": {"A": ["1", inside], "Y": [out]}} for inside, out in wires
        )
        module = {
            "attributes": {"top": "1"},
            "cells": {"b": first, "a": second},
            "ports": {name: {"bits": [bit]} for name, bit in ports.items()},
        }
        return {"modules": {"top": module}}

    chain = design(((2, 3), (3, 4)), {"in": 2, "out": 4})
    assert colours(chain) == colours(design(((7, 5), (9, 7)), {"in": 9, "out": 5}))
    for other in (
        design(((2, 3), (3, 4)), {"in": 2, "out": 3}),
        design(((2, 3), (3, 4)), {"in": 2, "out": "0"}),
        design(((2, 3), (2, 4)), {"in": 2, "out": 4}),
        design(((2, 3), (3, 4)), {"in": 2, "out": 4}, kind="$or"),
    ):
        assert colours(chain) != colours(other)


def test_a_run_goes_on_where_the_last_one_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target = next(target for target in fault_targets.gateware() if target.name == "roce_join")
    tries: list[list[Mutation]] = []

    class Planter:
        def attempt(self, target: fault_targets.Target, chosen: list[Mutation]) -> list[tuple[Mutation, str]]:
            if chosen:
                tries.append(chosen)
            return [(mutation, "test_roce_join") for mutation in chosen]

    monkeypatch.setattr(faults, "planter", lambda gateware, jobs: contextlib.nullcontext(Planter()))
    monkeypatch.setattr(faults, "RECORD", tmp_path / "records" / "faults.json")
    monkeypatch.setattr(faults, "WORK", tmp_path)
    drawn = faults.drawn(target, 1)
    for count in (2, 2, 5, 3):
        faults.run([target], count, 1, 2, math.inf)
    assert tries == [drawn[:2], drawn[2:5]]
    found = faults.read()["roce_join"]
    assert [tried.mutation for tried in found] == drawn[:5]
    assert all(tried.holds(target, 1) for tried in found)
    faults.keep("roce_join", [*found[:1], faults.Tried(drawn[1], "test_roce_tx", "before"), *found[2:]])
    faults.run([target], 2, 1, 2, math.inf)
    assert tries[2:] == [[drawn[1]]], "what no longer holds is tried again, and nothing else"
    assert faults.read()["roce_join"] == found
    faults.run([target], 9, 1, 2, 0.0)
    assert faults.read()["roce_join"] == found, "its time is over before it begins"


def test_less_than_the_share_or_a_survivor_that_nobody_explains_fails(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    target = next(target for target in fault_targets.gateware() if target.name == "roce_join")
    drawn = faults.drawn(target, 1)
    explained = next(m for m in drawn if faults.why(m))
    others = [m for m in drawn if not faults.why(m)]
    caught = [faults.Tried(m, "test_roce_join", target.inputs(1, "test_roce_join")) for m in others[:19]]
    for survivor, count, right in ((explained, 19, True), (others[19], 19, False), (explained, 18, False)):
        monkeypatch.setattr(faults, "drawn", lambda *_, order=(*others[:count], survivor): list(order))
        found = [*caught[:count], faults.Tried(survivor, "", target.inputs(1, ""))]
        assert (faults.verdict([target], {"roce_join": found}, count, 1) == 0) == right
    assert "18 of 19 caught" in capsys.readouterr().out


def test_what_was_not_tried_of_the_present_sources_fails(capsys: pytest.CaptureFixture[str]) -> None:
    target = next(target for target in fault_targets.gateware() if target.name == "roce_join")
    drawn = faults.drawn(target, 1)[:4]
    now = target.inputs(1, "test_roce_join")
    caught = [faults.Tried(m, "test_roce_join", now) for m in drawn]
    assert faults.verdict([target], {"roce_join": caught}, 4, 1) == 0
    for found in ([], caught[:3], [*caught[:3], faults.Tried(drawn[3], "test_roce_join", "before")]):
        assert faults.verdict([target], {"roce_join": found}, 4, 1) == 1
    assert "not tried: 4 of roce_join" in capsys.readouterr().out
    assert faults.verdict([target], {}, 4, 1) == 1


def test_the_page_in_the_documents_is_that_of_the_record() -> None:
    """But for its marks: which blocks have changed since."""
    seed = int(faults.TABLE.read_text().partition("seed ")[2].partition(")")[0])
    rows = [line.replace(" †", "") for line in faults.TABLE.read_text().splitlines()]
    made = faults.table(fault_targets.every(), faults.read(), seed).replace(" †", "")
    measured = [row for row in rows if row.startswith("| `") and row.count("|") == 6]
    assert measured
    for row in measured:
        assert row.rpartition("| ")[0].rpartition(" | ")[0] in made, row
