"""What a check of proofs and areas may leave out: only what would be run on exactly the same inputs, and never all."""

import json
import subprocess
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pytest

import formal
import proofs
import prove
import records
import synth
from records import Made
from synth_row import Build
from synth_table import TABLE, Row, parse

BLOCKS = {block.name: block for block in proofs.blocks()}
TEXTS = {
    "top.sv": "module top;\n  import low_pkg::*;\n  logic\n    other;\n  middle #(.W(1)) u_middle ();\nendmodule",
    "middle.sv": "// leaf is inside\n  leaf u_leaf ();  /* other u_other (); */",
    "leaf.sv": "module leaf;",
    "low_pkg.sv": "localparam int X = deep_pkg::Y;",
    "deep_pkg.sv": "package deep_pkg;",
    "other.sv": "module other;",
}
CHOSEN = [BLOCKS["axis_reg"], BLOCKS["axis_fifo"]]
RUNS = [run for block in CHOSEN for run in formal.runs(block)]


def recorded(seconds: int = 1) -> dict[str, Made]:
    return {run.key: Made(run.inputs, seconds) for run in RUNS}


def test_a_block_is_all_that_it_instantiates_and_imports_and_nothing_else() -> None:
    assert records.parts(["top"], TEXTS).keys() == TEXTS.keys() - {"other.sv"}
    assert records.parts(["middle"], TEXTS).keys() == {"middle.sv", "leaf.sv"}


@pytest.mark.parametrize("changed", ["top.sv", "leaf.sv", "deep_pkg.sv"])
def test_a_digest_is_of_every_file_of_the_block(changed: str) -> None:
    before = records.digest(records.parts(["top"], TEXTS), [], [])
    after = records.digest(records.parts(["top"], TEXTS | {changed: f"{TEXTS[changed]} x"}), [], [])
    assert before != after
    other = records.parts(["top"], TEXTS | {"other.sv": ""})
    assert records.digest(other, [], []) == before


def test_a_comment_and_spaces_change_no_digest() -> None:
    before = records.digest(TEXTS, [], [])
    text = TEXTS["leaf.sv"]
    assert records.digest(TEXTS | {"leaf.sv": f"// what it is\n\n{text}  /* all */ // of it\n"}, [], []) == before
    assert records.digest(TEXTS | {"leaf.sv": text.replace("module leaf", "moduleleaf")}, [], []) != before
    for obeyed in ("// verilator lint_off WIDTH", "/* verilator lint_off WIDTH */"):
        assert records.digest(TEXTS | {"leaf.sv": f"{obeyed}\n{text}"}, [], []) != before


def test_a_digest_is_of_the_tools_our_programs_and_the_settings(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (program := tmp_path / "program.py").write_text("mode bmc")
    before = records.digest(TEXTS, [program], ["numpy"], 24)
    assert records.digest(TEXTS, [program], ["numpy"], 24) == before
    assert records.digest(TEXTS, [program], ["numpy"], 25) != before
    monkeypatch.setattr(records, "version", lambda tool: "0.1")
    assert records.digest(TEXTS, [program], ["numpy"], 24) != before
    monkeypatch.undo()
    program.write_text("mode none")
    assert records.digest(TEXTS, [program], ["numpy"], 24) != before


def test_a_proof_is_left_out_only_as_it_was_run() -> None:
    run = RUNS[0]
    fault = next(each for each in RUNS if each.fault and each.fault.proof == run.proof)
    others = [
        replace(run, parameters={"DataW": 9}),
        replace(run, proof="paths"),
        replace(run, fault=fault.fault),
        replace(run, block=replace(run.block, cycles=3)),
        replace(run, block=replace(run.block, steps=(("a_held",),))),
        replace(fault, fault=replace(fault.fault, put="0") if fault.fault else None),
        replace(fault, fault=replace(fault.fault, by="a_held") if fault.fault else None),
    ]
    assert len({run.inputs, fault.inputs, *(other.inputs for other in others)}) == len(others) + 1


def test_what_the_record_lacks_or_has_of_other_inputs_is_proved(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prove, "SAMPLE_S", 0)
    monkeypatch.setattr(prove, "SAMPLE_RUNS", 0)
    record = recorded()
    assert prove.left(RUNS, record) == []
    missing, stale = RUNS[1], RUNS[-1]
    del record[missing.key]
    record[stale.key] = Made("0" * 64, 1)
    assert prove.left(RUNS, record) == [missing, stale]


def test_some_of_what_is_recorded_is_proved_again() -> None:
    seconds = prove.SAMPLE_S // (prove.SAMPLE_RUNS + 1)
    assert len(prove.left(RUNS, recorded(seconds))) == prove.SAMPLE_RUNS + 1


def test_a_record_that_says_that_runs_take_for_ever_does_not_empty_the_sample(areas: "Areas") -> None:
    assert len(prove.left(RUNS, recorded(seconds=10**9))) == prove.SAMPLE_RUNS > 1
    areas.sample(seconds=30, runs=2, recorded=10**9)
    areas.check()
    assert len(areas.measured) == 2
    assert synth.SAMPLE_RUNS > 1


def test_nothing_is_left_out_where_all_is_asked_for(
    areas: "Areas", tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    done: list[formal.Run] = []
    records.write(tmp_path / "formal.json", {}, recorded())
    monkeypatch.setattr(prove, "RECORD", tmp_path / "formal.json")

    def carry_out(run: formal.Run) -> Made:
        done.append(run)
        return Made(run.inputs, 1)

    monkeypatch.setattr(prove, "carry_out", carry_out)
    monkeypatch.setattr("sys.argv", ["prove.py", "--check", "--all", *(block.name for block in CHOSEN)])
    assert prove.main() == 0
    assert sorted(run.key for run in done) == sorted(run.key for run in RUNS)
    assert synth.check(list(areas.names), areas.rows, whole=True)[1] == []
    assert sorted(areas.measured) == sorted(areas.names)


def test_each_commit_samples_others_and_in_the_end_all(monkeypatch: pytest.MonkeyPatch) -> None:
    record, seen, counts = recorded(seconds=10), set(), []
    for commit in range(100):
        done = subprocess.CompletedProcess([], 0, stdout=f"{commit:040x}\n")
        monkeypatch.setattr(subprocess, "run", lambda *_, done=done, **__: done)
        counts.append(len(chosen := records.sample(record, record, 20, 1)))
        assert records.sample(record, record, 20, 1) == chosen
        seen.update(chosen)
    assert set(counts) == {2}
    assert seen == record.keys()


def test_a_run_that_takes_long_is_sampled_seldom_but_is(monkeypatch: pytest.MonkeyPatch) -> None:
    record = recorded(seconds=5)
    long = sorted(record)[0]
    record[long] = Made(record[long].inputs, 10_000)
    drawn, others = 0, 0
    for commit in range(1_000):
        done = subprocess.CompletedProcess([], 0, stdout=f"{commit:040x}\n")
        monkeypatch.setattr(subprocess, "run", lambda *_, done=done, **__: done)
        chosen = records.sample(record, record, 5 * len(record), 1)
        drawn += long in chosen
        others += len(chosen) >= len(record) - 1
    assert others > 900
    assert 50 < drawn < 150


def test_without_git_some_are_proved_again_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    assert len(records.sample(recorded(), recorded(seconds=10), 20, 1)) == 2


def test_proofs_that_a_record_could_not_tell_apart_are_refused() -> None:
    fault = next(run for run in RUNS if run.fault)
    other = replace(fault, fault=replace(fault.fault, put="0") if fault.fault else None)
    with pytest.raises(SystemExit, match=r"give each of these other words or parameters: axis_\w+ fault: "):
        prove.left([fault, other], {fault.key: Made(fault.inputs, 1)})


def test_make_knows_what_to_do_without_records(tmp_path: Path) -> None:
    for path in proofs.ROOT.iterdir():
        if path.name not in ("docs", "build") and not path.name.startswith("."):
            (tmp_path / path.name).symlink_to(path)
    (tmp_path / "docs" / "measured").mkdir(parents=True)
    (tmp_path / "docs" / "measured" / "area.md").symlink_to(TABLE)
    done = subprocess.run(
        ["make", "-n", "synth-check", "formal-check"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "scripts/synth.py --check" in done.stdout


def test_a_source_that_changes_while_it_is_proved_is_not_recorded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(prove, "RECORD", tmp_path / "formal.json")
    monkeypatch.setattr(prove, "carry_out", lambda run: Made("of the source before", 1))
    monkeypatch.setattr("sys.argv", ["prove.py", "axis_reg"])
    assert prove.main() == 0
    assert records.read(tmp_path / "formal.json") == {}


def test_a_proof_that_goes_wrong_leaves_the_record(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, wrong = tmp_path / "formal.json", RUNS[0].key
    records.write(path, {}, recorded())
    monkeypatch.setattr(prove, "RECORD", path)
    monkeypatch.setattr(prove, "carry_out", lambda run: None if run.key == wrong else Made(run.inputs, 9))
    monkeypatch.setattr("sys.argv", ["prove.py", "axis_reg"])
    assert prove.main() == 1
    assert records.read(path) == {key: made for key, made in recorded().items() if key != wrong}


def test_what_is_no_proof_any_more_leaves_the_record(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "formal.json"
    records.write(path, {}, recorded() | {"axis_fork fault: an older name": Made("00", 1)})
    monkeypatch.setattr(prove, "RECORD", path)
    monkeypatch.setattr(prove, "carry_out", lambda run: Made(run.inputs, 1))
    monkeypatch.setattr("sys.argv", ["prove.py", "axis_reg"])
    assert prove.main() == 0
    assert records.read(path) == recorded()


def test_a_check_writes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prove, "RECORD", tmp_path / "formal.json")
    monkeypatch.setattr(prove, "carry_out", lambda run: Made(run.inputs, 1))
    monkeypatch.setattr("sys.argv", ["prove.py", "--check", "axis_reg"])
    assert prove.main() == 0
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("text", ["{", '{"axis_reg": 3}', "[]", '{"axis_reg": ["00"]}'])
def test_a_file_that_is_no_record_is_refused_by_name(
    text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(records, "ROOT", tmp_path)
    (tmp_path / "area.json").write_text(text)
    with pytest.raises(SystemExit, match=r"^area\.json is not a record, remove it: "):
        records.read(tmp_path / "area.json")


def test_a_record_is_a_line_a_run(tmp_path: Path) -> None:
    path = tmp_path / "area.json"
    records.write(path, {}, {"tx": Made("ab", 3), "arp": Made("cd", 4)})
    records.write(path, records.read(path), {"tx": Made("ab", 9), "arp": Made("ef", 5)})
    assert path.read_text() == '{\n  "arp": ["ef", 5],\n  "tx": ["ab", 3]\n}\n'
    assert json.loads(path.read_text()) == {"arp": ["ef", 5], "tx": ["ab", 3]}


class Areas:
    """A table of small blocks whose record is right, and measurements that say what is given here."""

    names = ("axis_reg", "axis_fifo", "trailer")

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.rows = {name: parse(TABLE.read_text())[name] for name in self.names}
        self.measured: list[str] = []
        self.found = dict(self.rows)
        self._record, self._patch = folder / "area.json", monkeypatch
        monkeypatch.setattr(synth, "RECORD", self._record)
        monkeypatch.setattr(synth, "measure_all", self.measure_all)
        self.sample(seconds=0, runs=0)

    def sample(self, seconds: int, runs: int, recorded: int = 5) -> None:
        """Measure again so many seconds of rows and at least so many, which took `recorded` seconds each."""
        made = {name: Made(synth.inputs(row, synth.sources(name)), recorded) for name, row in self.rows.items()}
        records.write(self._record, {}, made)
        self._patch.setattr(synth, "SAMPLE_S", seconds)
        self._patch.setattr(synth, "SAMPLE_RUNS", runs)

    def measure_all(self, names: list[str], old: dict[str, Row]) -> list[tuple[Row, Made]]:
        self.measured += names
        return [(self.found[name], Made("", 1)) for name in names]

    def check(self) -> list[str]:
        return synth.check(list(self.names), self.rows)[1]


@pytest.fixture
def areas(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Areas:
    return Areas(tmp_path, monkeypatch)


def test_a_block_that_has_not_changed_is_not_measured(areas: Areas) -> None:
    assert areas.check() == []
    assert areas.measured == []


def test_a_block_that_has_changed_is_measured(areas: Areas, monkeypatch: pytest.MonkeyPatch) -> None:
    sources = synth.sources
    monkeypatch.setattr(synth, "sources", lambda name: sources(name) | ({"x.sv": ""} if name == "trailer" else {}))
    areas.found["trailer"] = replace(areas.rows["trailer"], logic=99_999)
    assert "trailer" in areas.check()[0]
    assert areas.measured == ["trailer"]


@pytest.mark.parametrize(
    "build",
    [
        Build("axis_fifo", has_levels=False),
        Build("axis_fifo", {"Depth": 32}),
        Build("axis_fifo", depth_parameters={"DataW": 64}),
    ],
)
def test_a_block_that_is_measured_in_another_way_is_measured(
    areas: Areas, monkeypatch: pytest.MonkeyPatch, build: Build
) -> None:
    monkeypatch.setitem(synth.BUILDS, "axis_fifo", build)
    areas.check()
    assert areas.measured == ["axis_fifo"]


@pytest.mark.parametrize("column", [field.name for field in fields(Row) if field.name != "block"])
@pytest.mark.parametrize("edited", [1, 99_999])
def test_a_row_that_was_edited_is_found_in_every_column(areas: Areas, column: str, edited: int) -> None:
    true = getattr(areas.rows["axis_fifo"], column)
    values: dict[str, Any] = {column: edited}
    areas.rows["axis_fifo"] = replace(areas.rows["axis_fifo"], **values)
    sentence = f"axis_fifo: {column} is {true}, docs/measured/area.md has {edited}: run make synth"
    assert areas.check() == [sentence]
    assert areas.measured == ["axis_fifo"]


def test_what_takes_long_is_measured_only_with_all_others(
    areas: Areas, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(synth, "LATER", ("axis_reg",))
    sources = synth.sources
    monkeypatch.setattr(synth, "sources", lambda name: sources(name) | ({"x.sv": ""} if name == "axis_reg" else {}))
    assert areas.check() == []
    assert areas.measured == []
    assert "not of the sources as they are now, and measured by make nightly: axis_reg" in capsys.readouterr().out
    areas.found["axis_reg"] = replace(areas.rows["axis_reg"], levels=9)
    assert len(synth.check(list(areas.names), areas.rows, whole=True)[1]) == 1


def test_a_record_that_is_wrong_is_found_by_the_sample(areas: Areas) -> None:
    areas.sample(seconds=1_000, runs=0)
    flops = areas.rows["axis_reg"].flops
    areas.found["axis_reg"] = replace(areas.rows["axis_reg"], flops=flops + 1)
    (sentence,) = areas.check()
    assert sentence.startswith(f"axis_reg: flops is {flops + 1}, docs/measured/area.md has {flops}: run make synth")


def test_a_limit_is_kept_by_what_is_measured_now(areas: Areas, monkeypatch: pytest.MonkeyPatch) -> None:
    areas.rows["trailer"] = replace(areas.rows["trailer"], dsps=1)
    areas.found["trailer"] = replace(areas.rows["trailer"], levels=9)
    rows, _ = synth.check(list(areas.names), areas.rows)
    assert rows[2].levels == 9
