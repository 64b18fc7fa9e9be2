"""`framelane board`: what it prints, what it writes, how it fails; and that its page says the same."""

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from framelane.driver.board.board import Board
from framelane.driver.board.board_readings import ADVICE
from framelane.driver.registers.recording import PaperRegisters, RecordingRegisters
from framelane.driver.registers.register_file import RegisterFile
from framelane.session.session import Session

MakeSession = Callable[..., Session]
RunCli = Callable[..., tuple[int, str, str]]
PAGE = (Path(__file__).resolve().parents[2] / "docs" / "howto" / "board.md").read_text()
EXAMPLE = PAGE.partition("```toml\n")[2].partition("```")[0]


@pytest.fixture
def transmitter(make_found: Callable[..., RecordingRegisters]) -> RecordingRegisters:
    """Make a transmitter with room for the page's example, which every command finds as it was left."""
    return make_found()


@pytest.fixture
def example(tmp_path: Path, make_session: MakeSession) -> Path:
    for number, name in enumerate(("disk1", "disk2", "monitor", "pedestal")):
        shape = {"rows": 256, "columns": 512} if name == "monitor" else {"rows": 512, "columns": 1024}
        source = {"mac": "02:00:00:00:00:01", "ip": "10.0.0.1"}
        make_session(source=source, qpn=number, window_end=4 + number, **shape).save(tmp_path / f"{name}.json")
    path = tmp_path / "board.toml"
    path.write_text(EXAMPLE)
    return path


def registers(transmitter: RecordingRegisters) -> RegisterFile:
    return RegisterFile(transmitter)


def writes(transmitter: RecordingRegisters) -> list[tuple[int, int]]:
    return [(access.offset, access.value) for access in transmitter.accesses if access.op == "write"]


def test_probe_says_what_the_board_is(run_cli: RunCli, transmitter: RecordingRegisters) -> None:
    assert run_cli("board", "probe") == (
        0,
        "transmitter, registers 1.3.0, build 7\n512 bits at 322.266 MHz, frames in memory already\n"
        "room for 4 flows, 16 destinations, 16 queue pairs\nstatus: idle\n",
        "",
    )
    assert writes(transmitter) == []


def test_probe_and_configure_tell_programs_the_same_in_json(
    run_cli: RunCli, transmitter: RecordingRegisters, example: Path
) -> None:
    found = json.loads(run_cli("board", "probe", "--json")[1])
    assert found["wrong"] == []
    able = found["capabilities"]
    assert (able["version"], able["build"], able["data_width"]) == ([1, 3, 0], 7, 512)
    assert (able["flows"], able["destinations"], able["qps"]) == (4, 16, 16)
    assert found["state"]["idle"] is True
    assert writes(transmitter) == []
    status, out, err = run_cli("board", "configure", example, "--json")
    assert (status, err) == (0, "")
    document = json.loads(out)
    assert [(flow["name"], flow["width"], flow["height"], flow["corrected"]) for flow in document["flows"]] == [
        *(("all", 1024, 512, False), ("roi", 512, 256, False), ("dark", 1024, 512, False))
    ]
    targets = [each for flow in document["flows"] for each in flow["destinations"]]
    assert [(each["index"], each["name"], each["credit"]) for each in targets] == [
        *((0, "disk1", 4), (1, "disk2", 5), (2, "monitor", 6), (3, "pedestal", 7))
    ]
    regs = registers(transmitter)
    assert [each["queue_pair"] for each in targets] == [regs[f"destination[{k}].control.qp"] for k in range(4)]
    assert (document["constants"], document["armed"]) == (None, False)


@pytest.mark.parametrize(
    "command",
    [
        *(("probe",), ("configure", "x.toml"), ("arm",), ("disarm",), ("counters",), ("regs",), ("regs", "scratch=1")),
        *(("status",), ("resolve", "10.0.0.2"), ("rearm", "x.toml", "a")),
    ],
)
def test_no_command_touches_a_board_that_is_unknown(
    run_cli: RunCli, transmitter: RecordingRegisters, command: tuple[str, ...]
) -> None:
    monitored = transmitter._target
    assert isinstance(monitored, PaperRegisters)
    monitored.words[4] = 0x02000000
    status, out, err = run_cli("board", *command)
    assert (status, out) == (2, "")
    assert err == (
        "framelane: this transmitter's registers are of version 2.0.0, but this software knows version 1: "
        "update framelane\n"
    )
    assert writes(transmitter) == []


def test_the_example_of_the_page_is_configured_with_its_credit(
    run_cli: RunCli, transmitter: RecordingRegisters, example: Path
) -> None:
    status, out, err = run_cli("board", "configure", example)
    assert (status, err) == (0, "")
    assert out == (
        "flow 0: all, 1024 x 512 pixels\n  destination 0: disk1, credit 4\n  destination 1: disk2, credit 5\n"
        "flow 1: roi, 512 x 256 pixels\n  destination 2: monitor, credit 6\n"
        "flow 2: dark, 1024 x 512 pixels\n  destination 3: pedestal, credit 7\nconfigured, not armed\n"
    )
    regs = registers(transmitter)
    assert [regs[f"destination[{k}].window_end"] for k in range(4)] == [4, 5, 6, 7]
    assert regs.read_register("flow[1].origin") == {"x0": 256, "y0": 128}
    assert [regs[f"qp[{k}].peer.dest_qpn"] for k in range(4)] == [0, 1, 2, 3]
    assert (regs["qp[0].rate"], regs["qp[2].rate"]) == (int(5e9 / 322_265_625 * 65536), 0)


def test_a_bad_file_leaves_the_board_as_it_is(run_cli: RunCli, transmitter: RecordingRegisters, example: Path) -> None:
    run_cli("board", "configure", example)
    run_cli("board", "arm")
    transmitter.accesses.clear()
    example.write_text(EXAMPLE.replace("monitor.json", "none.json"))
    status, out, err = run_cli("board", "configure", example)
    assert (status, out) == (2, "")
    assert "[[receiver]] 'monitor': cannot read the session" in err
    assert writes(transmitter) == []


def test_the_board_is_armed_and_disarmed(run_cli: RunCli, transmitter: RecordingRegisters, example: Path) -> None:
    status, _, err = run_cli("board", "arm")
    assert (status, err.count("configure the board first")) == (2, 1)
    run_cli("board", "configure", example)
    assert run_cli("board", "arm") == (0, "armed\n", "")
    assert Board(transmitter).state().armed
    assert run_cli("board", "disarm") == (0, "disarmed, nothing is under way\n", "")
    assert not Board(transmitter).state().armed


def test_a_frame_that_does_not_leave_is_said_by_disarm(
    run_cli: RunCli, transmitter: RecordingRegisters, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("framelane.driver.board.board.Board.__init__.__defaults__", (0.02,))
    monkeypatch.setattr(transmitter._target, "stuck", True)
    status, out, err = run_cli("board", "disarm")
    assert (status, out) == (2, "")
    assert "a frame is still under way" in err
    assert writes(transmitter) == [(0x1C, 0)]


@pytest.fixture
def counting(transmitter: RecordingRegisters) -> RecordingRegisters:
    paper = transmitter._target
    assert isinstance(paper, PaperRegisters)
    find = RegisterFile(paper).find
    for name, value in (("packets", 123456), ("cycles", 5)):
        paper.words[find(f"counters.{name}").offset] = value
    paper.words[find("destination_counters[2].dropped").offset] = 77
    paper.words[find("errors").offset] = 0b1
    return transmitter


def test_counters_are_printed_with_what_went_wrong(run_cli: RunCli, counting: RecordingRegisters) -> None:
    status, out, err = run_cli("board", "counters")
    assert (status, err) == (0, "")
    assert re.search(r"packets +123,456 +Packets sent", out)
    assert re.search(r"destination +sent +dropped +skipped +failed.*\n.*\n +2 +0 +77 +0 +0", out)
    assert "selected" not in out, "no flow has counted anything"
    assert f"no_credit: {ADVICE['no_credit']}\n" in out


def test_counters_for_programs_are_json(run_cli: RunCli, counting: RecordingRegisters) -> None:
    document = json.loads(run_cli("board", "counters", "--json")[1])
    assert (document["packets"], document["cycles"]) == (123456, 5)
    assert document["destinations"][2] == {"sent": 0, "dropped": 77, "skipped": 0, "failed": 0}
    assert (len(document["flows"]), len(document["destinations"])) == (4, 16)
    assert document["errors"] == {"names": ["no_credit"], "refusal": None}


def test_errors_are_cleared_on_request_once_they_were_shown(run_cli: RunCli, counting: RecordingRegisters) -> None:
    assert "no_credit: " in run_cli("board", "counters")[1]
    assert "no_credit: " in run_cli("board", "counters", "--clear-errors")[1]
    assert "no_credit: " not in run_cli("board", "counters")[1]


def test_all_single_registers_are_printed_with_their_fields(run_cli: RunCli, transmitter: RecordingRegisters) -> None:
    status, out, _ = run_cli("board", "regs")
    assert status == 0
    assert re.search(r"0x0000 +identity +0x58544c46 +1481919558 +What this is", out)
    assert re.search(r"\.major +1 +Changes where", out)
    assert "flow[" not in out.replace("destination[].window_end", "")


def test_the_beginning_of_names_prints_all_that_the_build_has(run_cli: RunCli, transmitter: RecordingRegisters) -> None:
    _, out, _ = run_cli("board", "regs", "flow[1]", "flow.bunch")
    assert set(re.findall(r"(flow\[\d\]\.\w+)", out)) >= {"flow[1].control", "flow[1].max_length", "flow[3].bunch"}
    assert "flow[4]" not in out
    assert "flow[0].count" not in out
    assert out.count("flow[1].bunch") == 1


def test_a_value_is_written_and_shown(run_cli: RunCli, transmitter: RecordingRegisters) -> None:
    status, out, _ = run_cli("board", "regs", "scratch=0xFF", "flow[0].rectangle.width=7", "flow[0].rectangle.height=9")
    assert status == 0
    assert re.search(r"scratch +0x000000ff +255", out)
    assert re.search(r"flow\[0\]\.rectangle +0x00090007", out)
    assert writes(transmitter) == [(0x18, 255), (0x1024, 7), (0x1024, 9 << 16 | 7)]


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        ("scratch=five", "'five' is not a value for scratch: give a whole number, as in scratch=5 or scratch=0x5"),
        ("identity=5", "identity is read only"),
        ("flow[0].bunch=4294967296", "flow[0].bunch = 4294967296 does not fit its 32 bits: give 0..4294967295"),
        ("scrtch", "no register or field has the name 'scrtch': did you mean scratch"),
        ("flow[0]=5", "there are 14 behind it, such as flow[0].control"),
    ],
)
def test_one_wrong_word_and_nothing_is_written(
    run_cli: RunCli, transmitter: RecordingRegisters, wrong: str, sentence: str
) -> None:
    status, out, err = run_cli("board", "regs", "scratch=1", wrong)
    assert (status, out) == (2, "")
    assert sentence in err
    assert writes(transmitter) == []


def test_a_command_without_a_board_says_which_there_are(run_cli: RunCli) -> None:
    status, _, err = run_cli("board", "probe")
    assert status == 2
    assert "--board" in err
    status, _, err = run_cli("board", "probe", "--board", "/dev/uio0")
    assert (status, err[:42]) == (2, "framelane: '/dev/uio0' names no board: giv")


def test_a_write_to_an_entry_that_the_build_has_not_is_an_error(run_cli: RunCli) -> None:
    status, _, err = run_cli("board", "regs", "--board", "sim", "flow[5].bunch=3")
    assert status == 2
    assert "flow[5].bunch reads 0x0 after 0x3 was written: this build has no such entry" in err


def test_the_page_explains_every_error_in_the_commands_words() -> None:
    rows = re.findall(r"^\| `(\w+)` \| (.*) \|$", PAGE.partition("## What went wrong")[2], re.MULTILINE)
    assert dict(rows) == ADVICE


def test_a_simulated_transmitter_needs_no_board(run_cli: RunCli, example: Path) -> None:
    status, out, err = run_cli("board", "probe", "--board", "sim")
    assert (status, err) == (0, "")
    assert "transmitter, registers 1." in out
    assert "frames in a store of its own, corrected on the way there if wanted\n" in out
    assert "RC on the first 16 queue pairs" in out
    store = EXAMPLE.replace("# [store]", "[store]").replace("# base =", "base =").replace("# slots =", "slots =")
    example.write_text(store.replace("# clock_hz", "clock_hz"))
    status, out, err = run_cli("board", "configure", example, "--board", "sim")
    assert (status, err) == (0, "")
    assert out.endswith("configured, not armed\n")
