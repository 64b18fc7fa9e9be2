"""What a command is given that cannot be is one sentence and status 2, whatever bytes it is made of."""

from collections.abc import Callable
from pathlib import Path

import pytest

from framelane.session.session import Session

RunCli = Callable[..., tuple[int, str, str]]
MakeSession = Callable[..., Session]
DIGITS = "9" * 5000
BYTES = b"a\xff".decode(errors="surrogateescape")
LIVE = ("--port", 0, "--link-port", 0, "--output", "frames.h5")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("emulate", "--to", "a..b"), "no receiver at TCP a..b:4790: 'a..b' is not a name of a host"),
        (("emulate", "--to", BYTES), "is not a name of a host"),
        (("emulate", "--to", f"127.0.0.1:{DIGITS}"), "is not a receiver: give HOST or HOST:PORT"),
        (("emulate", "--to", "127.0.0.1:1\u0662"), "is not a receiver: give HOST or HOST:PORT"),
        (("emulate", "--session", "session.json", "--source", 10**20), "source 100000000000000000000 is not in a"),
        (("emulate", "--session", "session.json", "--source", 10**11), "source 100000000000 is not in a session of 1"),
        (("emulate", "--session", "/dev/zero"), "cannot read the session /dev/zero: it is a folder, a device or"),
        (("emulate", "--session", BYTES), "cannot read the session a\\udcff: No such file"),
        (
            ("emulate", "--session", "session.json", "--transport", "packet", "--interface", BYTES),
            "not a name of an interface",
        ),
        (("emulate", "--session", "session.json", "--impair", BYTES), "choose one of drop,"),
        (("recv", "--transport", "udp", "--plan", "/dev/zero", *LIVE), "cannot read the plan /dev/zero: it is a"),
        (("recv", "--transport", "udp", "--plan", "bytes.toml", *LIVE), "bytes.toml is not text in UTF-8: line 2 has"),
        (
            ("recv", "--transport", "udp", "--plan", "key.toml", *LIVE),
            "colums: is not a key here: did you mean columns?",
        ),
        (("recv", "--transport", "udp", "--plan", "digits.toml", *LIVE), "the plan digits.toml is not TOML: "),
        (
            ("recv", "--transport", "packet", "--plan", "plan.toml", "--interface", BYTES, *LIVE[2:]),
            "not a name of an inter",
        ),
        (("recv", "--pcap", "/dev/zero", "--session", "session.json", "--output", "x.h5"), "capture /dev/zero: it is"),
        (("replay", "/dev/zero", "--output", "x.pcap"), "cannot read the capture /dev/zero: it is a folder, a device"),
        (("doctor", "--session", "session.json", "--pcap", "/dev/zero"), "cannot read the capture /dev/zero: it is a"),
        (("doctor", "--session", "/dev/zero"), "cannot read the session /dev/zero: it is a folder, a device or a pipe"),
        (("correct", "--input", "/dev/zero", "--calibration", "x", "--output", "y"), "/dev/zero is a folder, a device"),
        (("whatif", "/dev/zero"), "/dev/zero is a folder, a device or a pipe: give an HDF5 file"),
        (("bench", BYTES), "there is no bench a\\udcff: choose one of"),
    ],
    ids=lambda each: " ".join(map(repr, each[:4]))[:60] if isinstance(each, tuple) else "",
)
def test_bad_input_is_one_sentence(
    run_cli: RunCli,
    make_session: MakeSession,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    arguments: tuple[object, ...],
    said: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    make_session().save(Path("session.json"))
    Path("bytes.toml").write_bytes(b"rows = 1\ncolumns = \xff\n")
    Path("key.toml").write_text("rows = 1\ncolums = 2\n")
    ends = (f'{end} = {{ mac = "02:00:00:00:00:01", ip = "127.0.0.1" }}' for end in ("source", "receiver"))
    Path("plan.toml").write_text("\n".join(("rows = 1", "columns = 2", "n_slots = 1", *ends)))
    Path("digits.toml").write_text(f"rows = {DIGITS}\n")
    before = sorted(tmp_path.iterdir())
    status, out, err = run_cli(*arguments)
    assert (status, out) == (2, ""), err
    assert said in err or "CAP_NET_RAW" in err  # the interface is not looked for without it
    assert err.startswith("framelane: ")
    assert err.count("\n") == 1
    assert sorted(tmp_path.iterdir()) == before


def test_a_number_of_thousands_of_digits_is_said_to_be_none(run_cli: RunCli) -> None:
    for command, option in (("emulate", "--port"), ("emulate", "--frames"), ("recv", "--link-port"), ("demo", "--mtu")):
        status, _, err = run_cli(command, option, DIGITS)
        assert status == 2
        assert option in err
        assert "Traceback" not in err
