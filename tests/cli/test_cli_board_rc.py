"""`framelane board` with RC: what a board says of its queue pairs at night, and the commands that mend them."""

import dataclasses
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from framelane.driver.board.board import Board
from framelane.driver.board.network import default_limits
from framelane.driver.board.queue_pairs import NEXT, REASONS
from framelane.driver.config.board_document import read_document
from framelane.driver.config.board_network import limits_of
from framelane.driver.config.network_document import DcqcnTable, RcTable, StationTable
from framelane.driver.ptp.clock_state import ClockState
from framelane.models.rc.rc_protocol import RcReason
from framelane.models.roce_tx.wire import Endpoint
from framelane.models.station.arp import ArpPacket, Operation
from framelane.session.session import Session
from rc_board import RcLink, write_file

RunCli = Callable[..., tuple[int, str, str]]
MakeSession = Callable[..., Session]
NODES = {
    "source": {"mac": "02:00:00:00:00:01", "ip": "10.0.0.1"},
    "receiver": {"mac": "02:00:00:00:00:02", "ip": "10.0.0.2"},
}
PAGE = (Path(__file__).resolve().parents[2] / "docs" / "howto" / "board.md").read_text()


@pytest.fixture
def file(tmp_path: Path, make_rc: MakeSession) -> Path:
    return write_file(tmp_path, {"one": make_rc(0), "two": make_rc(1)})


def test_probe_says_what_the_network_part_of_a_board_is(run_cli: RunCli, link: RcLink) -> None:
    link.step(100)
    _, out, _ = run_cli("board", "probe")
    assert "RC on the first 16 queue pairs, 64 descriptors kept of each\n" in out
    assert "receive path: ARP, ping, pauses of the link\n" in out


def test_a_file_with_rc_can_be_tried_without_a_board(run_cli: RunCli, file: Path) -> None:
    """The command of docs/howto/board.md."""
    status, out, err = run_cli("board", "configure", file, "--board", "sim:rc")
    assert (status, err) == (0, "")
    assert "two: RC, queue pair number 3, window 24 packets" in out
    assert out.endswith("configured, not armed\n")
    assert run_cli("board", "status", "--board", "sim:rc") == (0, "status: idle\nlink: up\n", "")


def test_nobody_answers_arp_where_nobody_can(run_cli: RunCli, file: Path) -> None:
    sentence = "framelane: nobody is at the other end of a simulated transmitter's link, so nobody answers ARP"
    status, out, err = run_cli("board", "resolve", "10.0.0.2", "--board", "sim:rc")
    assert (status, out, err.startswith(sentence)) == (2, "", True)
    file.write_text(file.read_text().replace('name = "two"', 'name = "two"\nresolve = true', 1))
    status, out, err = run_cli("board", "configure", file, "--board", "sim:rc")
    assert (status, out, err.startswith(sentence)) == (2, "", True)
    assert err.endswith("to try a file, remove resolve and gateway from it\n")


def test_configure_says_when_a_queue_pair_gives_up(run_cli: RunCli, link: RcLink, file: Path) -> None:
    status, out, err = run_cli("board", "configure", file)
    assert (status, err) == (0, "")
    line = "gives up after 0.000229 to 0.000459 s of silence, settles for 6.55e-05 s\n"
    assert f"  two: RC, queue pair number 3, window 24 packets, {line}" in out
    pairs = json.loads(run_cli("board", "configure", file, "--json")[1])["queue_pairs"]
    two = next(pair for pair in pairs if pair["name"] == "two")
    assert (two["service"], two["number"], two["window"], two["mac_by_arp"]) == ("RC", 3, 24, False)
    assert [*two["gives_up_after_s"], two["settles_s"]] == pytest.approx([0.000229, 0.000459, 6.55e-05], rel=3e-3)


def test_at_night_a_dead_queue_pair_is_named_with_its_reason_and_is_mended_by_one_command(
    run_cli: RunCli, link: RcLink, file: Path, make_rc: MakeSession, tmp_path: Path
) -> None:
    run_cli("board", "configure", file)
    sessions = [make_rc(0), make_rc(1)]
    for session in sessions:
        link.serve(session)
    assert run_cli("board", "arm") == (0, "armed\n", "")
    link.send(bytes(3200))
    status, out, _ = run_cli("board", "status", file)
    assert status == 0
    assert "status: idle, armed\nlink: up\n" in out
    assert "one, QP 0x100 at 10.0.0.2  running" in out
    assert "is in error" not in out
    link.remote.silent.add(0x101)
    link.send(bytes(range(200)) * 16)
    sentence = (
        f"queue pair 1 to 'two' (QP 0x101 at 10.0.0.2) is in error, its frames are lost: {REASONS[RcReason.TIMEOUT]}; "
        f"then {NEXT}\n"
    )
    status, out, err = run_cli("board", "status", file)
    assert (status, err) == (1, "")
    assert out.endswith(sentence)
    assert "two, QP 0x101 at 10.0.0.2  in error" in out
    for command in ("probe", "counters", "status"):
        assert sentence.replace("'two' (", "").replace(") is", " is") in run_cli("board", command)[1]
    status, out, _ = run_cli("board", "status", file, "--json")
    document = json.loads(out)
    assert (status, document["wrong"]) == (1, [sentence.rstrip()])
    assert document["state"]["armed"]
    assert document["queue_pairs"][1]["receiver_ip"] == "10.0.0.2"
    assert document["station"] == {"link": True, "held": False, "conflict_mac": 0}
    assert [(pair["name"], pair["state"], pair["number"]) for pair in document["queue_pairs"]] == [
        *(("one", "run", 2), ("two", "error", 3))
    ]
    assert document["queue_pairs"][1]["reason"] == RcReason.TIMEOUT

    status, out, err = run_cli("board", "rearm", file, "two")
    assert (status, out, err.count("they would be lost in silence: start the receiver anew")) == (2, "", 1)
    anew = make_rc(1, qpn=0x222, psn=0xABCDE)
    anew.save(tmp_path / "new.json")
    link.serve(anew)
    status, out, err = run_cli("board", "rearm", file, "two", "--session", tmp_path / "new.json")
    assert (status, out, err) == (0, "queue pair 1 runs, to QP 0x222 at 10.0.0.2 from PSN 0xabcde on\n", "")
    assert "is in error" not in run_cli("board", "status")[1]
    image = bytes(reversed(range(200))) * 16
    link.send(image)
    assert link.image_of(anew, 2) == link.image_of(sessions[0], 2) == image


def test_the_status_is_said_though_a_session_of_the_file_is_wrong_by_now(
    run_cli: RunCli, link: RcLink, file: Path, make_rc: MakeSession, tmp_path: Path
) -> None:
    run_cli("board", "configure", file)
    make_rc(1, source_qpn=9).save(tmp_path / "two.json")
    status, out, err = run_cli("board", "status", file)
    assert (status, err) == (0, "")
    assert "the names of the receivers are not known: the configuration" in out
    assert "QP 0x101 at 10.0.0.2" in out
    pairs = json.loads(run_cli("board", "status", file, "--json")[1])["queue_pairs"]
    assert [pair["name"] for pair in pairs] == [None, None]


def test_a_link_that_is_down_is_exit_status_1(run_cli: RunCli, link: RcLink) -> None:
    link.step(100)
    assert json.loads(run_cli("board", "status", "--json")[1])["wrong"] == []
    link.board.link_up(False)
    link.step(100)
    status, out, _ = run_cli("board", "status")
    assert (status, out.count("the Ethernet link is down: check cable")) == (1, 1)


def keys_of_the_page() -> set[str]:
    """The keys of the JSON object in docs/howto/board.md."""
    table = PAGE.partition("prints one object, with the same exit status:\n\n")[2].partition("\n\n")[0]
    first = [row.split("|")[1] for row in table.splitlines()[2:]]
    return {key for cell in first for key in re.findall(r"`([^`]+)`", cell)}


def test_the_page_has_all_keys_of_the_status_as_json(run_cli: RunCli, link: RcLink, file: Path) -> None:
    run_cli("board", "configure", file)
    document = json.loads(run_cli("board", "status", file, "--json")[1])
    pair = document.pop("queue_pairs")[0]
    assert keys_of_the_page() == document.keys() | {"queue_pairs[]"} | {f".{key}" for key in pair}
    section = PAGE.partition("prints one object")[2].partition("\n\nPings")[0]
    for inner in (document["state"], document["station"], pair["limits"]):
        assert all(f"`{key}`" in section for key in inner)
    assert all(f"`{field.name}`" in section for field in dataclasses.fields(ClockState))


def test_a_receiver_that_gives_less_credit_than_the_frame_where_the_board_is_is_said(
    run_cli: RunCli, link: RcLink, file: Path, make_rc: MakeSession, tmp_path: Path
) -> None:
    run_cli("board", "configure", file)
    link.serve(make_rc(0))
    link.serve(make_rc(1))
    run_cli("board", "arm")
    for _ in range(2):
        link.send(bytes(3200))
    make_rc(1, psn=7, window_end=2).save(tmp_path / "two.json")
    _, out, _ = run_cli("board", "rearm", file, "two")
    assert out.endswith(
        "two is at frame 2 and has credit up to 2: `framelane board follow` brings the credit that its receiver gives\n"
    )
    assert Board(link.board).registers["destination[1].window_end"] == 2


def test_a_receiver_that_the_file_does_not_name_is_refused(run_cli: RunCli, link: RcLink, file: Path) -> None:
    status, _, err = run_cli("board", "rearm", file, "three")
    assert (status, err) == (2, f"framelane: there is no receiver 'three' in {file}: there are 'one', 'two'\n")


def test_a_receiver_is_started_anew_though_the_sessions_of_the_others_are_gone(
    run_cli: RunCli, link: RcLink, file: Path, make_rc: MakeSession, tmp_path: Path
) -> None:
    run_cli("board", "configure", file)
    (tmp_path / "one.json").unlink()
    anew = make_rc(1, qpn=0x222, psn=7)
    anew.save(tmp_path / "two.json")
    assert run_cli("board", "rearm", file, "two") == (
        *(0, "queue pair 1 runs, to QP 0x222 at 10.0.0.2 from PSN 0x7 on\n", ""),
    )
    (tmp_path / "two.json").unlink()
    make_rc(1, qpn=0x333, psn=9).save(tmp_path / "elsewhere.json")
    status, _, err = run_cli("board", "rearm", file, "two", "--session", tmp_path / "elsewhere.json")
    assert (status, err) == (0, "")


@pytest.mark.parametrize(
    ("psn", "said"), [(None, "cannot read the session"), (5, "its source_qpn is 9, the board is configured for 3")]
)
def test_a_session_that_is_missing_or_of_another_queue_pair_starts_nothing(
    run_cli: RunCli, link: RcLink, file: Path, make_rc: MakeSession, tmp_path: Path, psn: int | None, said: str
) -> None:
    run_cli("board", "configure", file)
    (tmp_path / "two.json").unlink()
    if psn:
        make_rc(1, psn=psn, source_qpn=9).save(tmp_path / "two.json")
    status, out, err = run_cli("board", "rearm", file, "two")
    assert (status, out) == (2, "")
    assert said in err


def test_a_file_that_the_board_was_not_configured_with_is_refused(
    run_cli: RunCli, link: RcLink, file: Path, make_rc: MakeSession, tmp_path: Path
) -> None:
    (other := tmp_path / "other").mkdir()
    bigger = write_file(other, {"one": make_rc(0), "two": make_rc(1), "three": make_rc(2)})
    run_cli("board", "configure", file)
    status, _, err = run_cli("board", "rearm", bigger, "three")
    assert status == 2
    assert f"the board does not know the receiver 'three' of {bigger}: configure it with this file" in err


def test_a_receiver_of_uc_has_nothing_to_be_started_anew(
    run_cli: RunCli, link: RcLink, make_rc: MakeSession, tmp_path: Path
) -> None:
    file = write_file(tmp_path, {"one": make_rc(0, service="UC")})
    run_cli("board", "configure", file)
    status, out, err = run_cli("board", "rearm", file, "one")
    assert (status, out) == (2, "")
    assert "the receiver 'one' is of UC, whose queue pair never gives up: where it has a new session, configure" in err


def test_an_address_is_resolved_as_by_arping(run_cli: RunCli, link: RcLink, file: Path) -> None:
    assert run_cli("board", "resolve", "10.0.0.2")[2].count("configure it first, with arp = true in [station]") == 1
    run_cli("board", "configure", file)
    here = Endpoint(0x020000000001, 0x0A000001)
    read = link.board.read

    def reading(offset: int) -> int:
        link.step(1)
        for frame in link.others:
            if frame[38:42] == bytes((10, 0, 0, 2)):
                link.board.receive(ArpPacket(Operation.REPLY, Endpoint(0x02AA, 0x0A000002), here).frame(here.mac))
        link.others.clear()
        return read(offset)

    link.board.read = reading  # type: ignore[method-assign]
    assert run_cli("board", "resolve", "10.0.0.2") == (0, "10.0.0.2 is at 00:00:00:00:02:aa\n", "")
    status, _, err = run_cli("board", "resolve", "disk1")
    assert (status, err) == (2, "framelane: 'disk1' is not an IPv4 address: give one like 10.0.0.2\n")


def test_counters_of_the_receive_path_and_of_each_queue_pair_are_shown(
    run_cli: RunCli, link: RcLink, file: Path, make_rc: MakeSession
) -> None:
    run_cli("board", "configure", file)
    link.serve(make_rc(0))
    link.serve(make_rc(1))
    run_cli("board", "arm")
    link.send(bytes(3200))
    _, out, _ = run_cli("board", "counters")
    document = json.loads(run_cli("board", "counters", "--json")[1])
    acks = document["station"]["events"]["acks"]
    assert acks == 8, "three messages and a trailer each"
    assert "Acknowledgements that counted." in out
    assert "rx_bad" not in out, "nothing was counted there"
    assert document["station"]["cnps"] == [0] * 16


def test_a_link_that_is_down_is_said(run_cli: RunCli, link: RcLink) -> None:
    link.board.link_up(False)
    _, out, _ = run_cli("board", "status")
    assert "link: down\nthe Ethernet link is down: check cable, transceiver" in out


def test_the_example_of_the_page_has_all_keys_with_their_defaults(tmp_path: Path, make_rc: MakeSession) -> None:
    example = re.findall(r"```toml\n(.*?)```", PAGE, re.DOTALL)[2]
    make_rc(mtu=4096).save(tmp_path / "archive.json")
    path = tmp_path / "board.toml"
    path.write_text(example)
    written = read_document(path)
    (receiver,) = written.receiver
    assert written.station == StationTable()
    assert receiver.rc == RcTable(window=512)
    assert limits_of(receiver.rc, 4096) == default_limits(4096)
    path.write_text(re.sub(r"^# (?=\[|\w+ = )", "", example, flags=re.MULTILINE))
    everything = read_document(path)
    assert everything.dcqcn == DcqcnTable()
    given = {"receiver": everything.receiver[0], "station": everything.station}
    assert {name: set(type(table).model_fields) - table.model_fields_set for name, table in given.items() if table} == {
        "receiver": {"source", "link_port", "rate_gbps"},
        "station": set(),
    }


def test_the_page_names_every_reason_in_the_commands_words() -> None:
    section = PAGE.partition("## RC and the station")[2]
    for reason, words in REASONS.items():
        assert words in section.replace("\n", " "), reason.name


@pytest.mark.parametrize("command", [("status",), ("resolve", "10.0.0.2")])
def test_a_board_without_a_network_part_says_so_or_has_nothing_to_say(
    run_cli: RunCli, make_found: Callable[..., Any], command: tuple[str, ...]
) -> None:
    make_found()
    status, out, err = run_cli("board", *command)
    if command[0] == "status":
        assert (status, out, err) == (0, "status: idle\n", "")
    else:
        assert (status, err) == (
            2,
            "framelane: this build of the transmitter has no receive path: load a design with Station = 1\n",
        )
