"""No command replaces a file of the user's in silence, nor writes over what it reads; --force says otherwise."""

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
import typer

from framelane.calibration.calibration_file import write_calibration
from framelane.cli._main import app
from framelane.files.series import link
from framelane.models.jungfrau.jf_detector import Detector, DetectorConfig
from framelane.packets.pcap import PcapWriter
from framelane.session.session import Session
from own_source import own_address, own_port

RunCli = Callable[..., tuple[int, str, str]]
MakeSession = Callable[..., Session]
WRITES = {"json", "output", "report", "save", "publish", "link"}
"""Options that name what is written, of every command that has them; others are in `COMMANDS`."""
OUTPUT = "OUTPUT"
"""Where the name of what is written stands in a command, if not at its end."""
PLAN = "rows = 512\ncolumns = 1024\nn_slots = 4\n" + "".join(
    f'{end} = {{ mac = "02:00:00:00:00:01", ip = "127.0.0.1" }}\n' for end in ("source", "receiver")
)
RECV = ("recv", "--pcap", "tx.pcap", "--session", "session.json")
COMMANDS: list[tuple[tuple[object, ...], str]] = [
    ((*RECV, "--output"), "new.h5"),
    (("replay", "tx.pcap", "--output"), "new.pcap"),
    (("replay", "tx.pcap", "--output", "other.pcap", "--report"), "new.json"),
    (("emulate", "--session", "session.json", "--frames", 1, "--port", 9, "--report"), "new.json"),
    (("doctor", "--session", "session.json", "--pcap", "tx.pcap", "--json"), "new.json"),
    (("doctor", "--session", "session.json", "--listen", 0.1, "--save"), "new.pcap"),
    (("correct", "--input", "raw.h5", "--calibration", "calibration.h5", "--output"), "new.h5"),
    (("jungfrau", "record", "--pcap", "tx.pcap", "--output"), "new.h5"),
    ((*RECV, "--output", "other.h5", "--json"), "new.json"),
    (("correct", "--input", "raw.h5", "--calibration", "calibration.h5", "--output", "o.h5", "--json"), "new.json"),
    (("jungfrau", "record", "--pcap", "tx.pcap", "--output", "other.h5", "--json"), "new.json"),
    (("whatif", "raw.h5", "--json"), "new.json"),
    (("jungfrau", "send", "127.0.0.1", "--frames", 1, "--calibration"), "new.h5"),
    (("jungfrau", "simulate", "--frames", 1, "--modules", 1, "--dark-g0"), "new.h5"),
    (("jungfrau", "simulate", "--frames", 1, "--modules", 1, "--exposed", "other.h5", "--truth"), "new.h5"),
    (("jungfrau", "simulate", "--frames", 1, "--modules", 1, "--gain-maps"), "new.bin"),
    (("calibration", "make", "--gain-maps", "maps.bin", "--dark-g0", "raw.h5", "--energy", 12, "--output"), "new.h5"),
    (("board", "serve", "--socket", "board.sock", "--calibration"), "new.h5"),
]


@pytest.fixture(autouse=True)
def _inputs(tmp_path: Path, make_session: MakeSession, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    make_session().save(Path("session.json"))
    PcapWriter(Path("tx.pcap")).close()
    detector = Detector(DetectorConfig(modules=1, rows=16, columns=96))
    write_calibration("calibration.h5", detector.calibration)
    with h5py.File("raw.h5", "w") as file:
        file["raw"] = np.stack([detector.frame(0).raw])
    Path("maps.bin").write_bytes(bytes(3 * 512 * 1024 * 8))
    write_linked(np.stack([detector.frame(0).raw]))
    Path("m.toml").write_text("[metadata]\nsample = 'insulin'\n")
    Path("g.toml").write_text("name = 'one'\nrows = 514\ncolumns = 1030\n[[module]]\nx = 0\ny = 0\n")
    Path("plan.toml").write_text(f"{PLAN}[metadata]\ngeometry = 'g.toml'\n")


def write_linked(raw: Any) -> None:
    """A series of two parts, a file that shows another one, and one that leads to it."""
    parts = [Path(f"rec_data_00000{number}.h5") for number in (1, 2)]
    for path in (*parts, Path("elsewhere.h5")):
        with h5py.File(path, "w") as file:
            file.create_dataset("raw", data=raw, maxshape=(None, *raw.shape[1:]))
    link(Path("rec.h5"), parts, growing=False)
    with h5py.File("shows.h5", "w") as file:
        layout = h5py.VirtualLayout(raw.shape, raw.dtype)
        layout[:] = h5py.VirtualSource("elsewhere.h5", "raw", raw.shape)
        file.create_virtual_dataset("raw", layout)
    with h5py.File("leads.h5", "w") as file:
        file["raw"] = h5py.ExternalLink("shows.h5", "/raw")


def files(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.mark.parametrize(("command", "name"), COMMANDS, ids=lambda each: " ".join(map(str, each))[:40])
def test_a_file_that_is_there_is_refused_before_anything_is_done(
    run_cli: RunCli, tmp_path: Path, command: tuple[object, ...], name: str
) -> None:
    Path(name).write_text("the only copy of my notes")
    before = files(tmp_path)
    status, out, err = run_cli(*command, name)
    assert (status, err.count("\n")) == (2, 1), (out, err)
    assert re.match(f"framelane: cannot write {name}: there is a file of this name.*: give a", err), err
    assert files(tmp_path) == before


CORRECT = ("correct", "--calibration", "calibration.h5", "--input")
TOML = "--metadata", "m.toml", "--geometry", "g.toml"
SERIES = ["rec.h5", "rec_data_000001.h5", "rec_data_000002.h5"]


@pytest.mark.parametrize(
    ("command", "inputs"),
    [
        (COMMANDS[0][0], ["tx.pcap", "session.json"]),
        ((*RECV, *TOML, "--output"), ["m.toml", "g.toml"]),
        (("recv", "--plan", "plan.toml", "--transport", "udp", "--idle", 0.05, "--output"), ["plan.toml", "g.toml"]),
        (
            ("recv", "--plan", "plan.toml", "--transport", "udp", "--idle", 0.05, "--output", "o.h5", "--publish"),
            ["plan.toml", "g.toml"],
        ),
        (COMMANDS[1][0], ["tx.pcap"]),
        (COMMANDS[3][0], ["session.json"]),
        (("emulate", "--session", "session.json", "--input", "rec.h5", "--frames", 1, "--report"), SERIES),
        (COMMANDS[4][0], ["session.json", "tx.pcap"]),
        (COMMANDS[6][0], ["raw.h5", "calibration.h5"]),
        ((*CORRECT, "rec.h5", *TOML, "--output"), [*SERIES, "m.toml", "g.toml"]),
        ((*CORRECT, "leads.h5", "--output"), ["leads.h5", "shows.h5", "elsewhere.h5"]),
        (COMMANDS[7][0], ["tx.pcap"]),
        ((*COMMANDS[16][0][:-1], "--geometry", "g.toml", "--output"), ["maps.bin", "raw.h5", "g.toml"]),
        (("calibration", "make", "--gain-maps", "maps.bin", "--dark-g0", "rec.h5", "--energy", 12, "--output"), SERIES),
        (("master", OUTPUT, "rec.h5", "--metadata", "m.toml"), [*SERIES, "m.toml"]),
        (("geometry", "export", *TOML), ["m.toml", "g.toml"]),
    ],
    ids=lambda each: str(each[0]),
)
def test_what_is_read_is_never_written_even_so(
    run_cli: RunCli, tmp_path: Path, command: tuple[object, ...], inputs: list[str]
) -> None:
    before = files(tmp_path)
    for name in inputs:
        given = [name if part is OUTPUT else part for part in command] if OUTPUT in command else [*command, name]
        status, _, err = run_cli(*given, "--force")
        assert status == 2
        assert f"cannot write {name}: it is an input of this run: give another " in err
    assert files(tmp_path) == before


def test_a_file_that_would_go_with_an_older_output_is_not_removed_either(run_cli: RunCli, tmp_path: Path) -> None:
    Path("calibration.h5").rename("new_data_000001.h5")
    before = files(tmp_path)
    status, _, err = run_cli(*RECV, "--calibration", "new_data_000001.h5", "--output", "new.h5", "--force")
    assert status == 2
    assert "new_data_000001.h5: it is an input of this run" in err
    assert files(tmp_path) == before


def test_results_of_a_demo_do_not_replace_what_it_reads(run_cli: RunCli, tmp_path: Path) -> None:
    before = Path("m.toml").rename("summary.json").read_bytes()
    status, _, err = run_cli("demo", "--modules", 1, "--metadata", "summary.json", "--output", ".", "--force")
    assert status == 2
    assert "cannot write summary.json: it is an input of this run: give another --output" in err
    assert Path("summary.json").read_bytes() == before


def test_force_replaces_it(run_cli: RunCli) -> None:
    Path("new.json").write_text("notes")
    command = ("emulate", "--session", "session.json", "--frames", 1, "--port", 9, "--report", "new.json")
    run_cli(*command, "--force")
    assert json.loads(Path("new.json").read_text())["sent"] == 1
    assert run_cli(*command)[0] == 2


def test_a_session_is_published_over_an_older_one_and_over_nothing_else(run_cli: RunCli) -> None:
    ends = {"source": own_address(), "receiver": "127.0.0.1"}
    text = f"rows = 16\ncolumns = 96\nn_slots = 4\nsrc_port = {own_port()}\n"
    text += "".join(f'{end} = {{ mac = "02:00:00:00:00:01", ip = "{ip}" }}\n' for end, ip in ends.items())
    Path("plan.toml").write_text(text)
    wire = ("--transport", "udp", "--port", 0, "--link-port", 0, "--idle", 0.05)
    command = ("recv", "--plan", "plan.toml", *wire, "--output", "out.h5", "--publish")
    older = Path("session.json").read_bytes()
    Path("session.json").chmod(0o644)
    assert run_cli(*command, "session.json")[0] == 1, "no frame came"
    assert Path("session.json").read_bytes() != older
    for name, content in (("notes", b"my notes"), ("plan.toml", text.encode())):
        Path(name).write_bytes(content)
        status, _, err = run_cli(*command, name)
        assert (status, err.count("\n")) == (2, 1)
        assert Path(name).read_bytes() == content
    assert run_cli(*command, "notes", "--force")[0] == 1
    for name in ("session.json", "notes"):
        assert Session.load(Path(name)).n_slots == 4
        assert Path(name).stat().st_mode & 0o777 == 0o600


def commands(command: Any, name: str = "") -> Iterator[tuple[str, set[str]]]:
    """Every command with the names of its options."""
    for part, inner in getattr(command, "commands", {}).items():
        yield from commands(inner, f"{name} {part}".strip())
    if not hasattr(command, "commands"):
        yield name, {parameter.name for parameter in command.params}


def test_every_command_that_writes_knows_force() -> None:
    writing = [" ".join(map(str, each)) + " " for each, _ in COMMANDS]
    found = dict(commands(typer.main.get_command(app)))
    assert len(found) > 20
    for name, options in found.items():
        writes = bool(options & WRITES) or any(each.startswith(f"{name} ") for each in writing)
        assert ("force" in options) == (writes and name != "recover"), name  # which writes new files only
