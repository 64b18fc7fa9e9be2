"""`framelane recv` under attack by its link: the source's frames are all there, and the attempts are counted."""

import contextlib
import re
import secrets
import signal
import socket
import subprocess
from pathlib import Path

import numpy as np
import pytest

from framelane.session.link_key import LinkKey
from framelane.session.session_client import SessionClient
from live_recv import FRAMELANE, SLOTS, Run, receiving, wait_until, write_plan
from unauthenticated import connected, entered, flood, heard, hello

OLD_CLIENT = b'{"source": 0, "offered": 9223372036854775807, "dropped": 9223372036854775807, "ended": true}\n'


@pytest.fixture
def port() -> int:
    """A UDP port that nobody uses now."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def attack(run: Run, key: LinkKey) -> None:
    """Everything that somebody can do who reaches the port; of those with the token what is left to them."""
    for line in (OLD_CLIENT, b"\x16\x03\x01\x02\x00\n", b"[" * 1000 + b"\n", b"x" * 100_000):
        raw, _ = connected(run.address)
        with raw, contextlib.suppress(ConnectionError):
            raw.sendall(line)
            heard(raw)
    overheard = b""
    for mine in (LinkKey(secrets.token_bytes(32)), key):
        raw, asked = connected(run.address)
        with raw:
            overheard = hello(mine, asked)
            raw.sendall(overheard)
            assert b'"rkey"' not in heard(raw), "the place of source 0 is taken"
    raw, _ = connected(run.address)
    with raw:
        raw.sendall(overheard)
        assert b'"rkey"' not in heard(raw)
    with SessionClient(*run.address) as reader:
        reader.report(0, offered=1 << 62, dropped=1 << 62, ended=True)
        assert reader.wait_closed(10)
        assert reader.window_end < 1 << 32


def number(out: str, why: str) -> int:
    found = re.search(rf"turned (\d+) away who {why}", out)
    return int(found[1]) if found else 0


def test_the_source_of_an_attacked_receiver_ends_with_all_its_frames(tmp_path: Path, port: int) -> None:
    options = write_plan(tmp_path, port)
    with receiving(tmp_path, *options) as run:
        host, tcp = run.address
        assert run.session.n_slots == SLOTS
        key = LinkKey.load(tmp_path / "session.json")
        assert (tmp_path / "session.json").stat().st_mode & 0o777 == 0o600
        command = ["emulate", "--to", f"{host}:{tcp}", "--port", str(port)]
        with SessionClient(*run.address) as watch, flood(run.address, per_s=200) as attempts:
            with subprocess.Popen([*FRAMELANE, *command], stdout=subprocess.PIPE, text=True) as source:
                assert wait_until(lambda: watch.window_end > SLOTS)
                attack(run, key)
                assert not watch.closed
                after = watch.window_end
                assert wait_until(lambda: watch.window_end > after + 2 * SLOTS), "frames go on"
                for process in (run.process, source):
                    for file in ("cmdline", "environ"):
                        assert key.token.hex() not in Path(f"/proc/{process.pid}/{file}").read_text()
                source.send_signal(signal.SIGINT)
                said, _ = source.communicate(timeout=60)
            assert watch.wait_closed(20)
        status, out, err = run.end()
    assert source.returncode == 0, said
    assert (status, err) == (0, "")
    sent = int(re.findall(r"(\d+) offered, \1 sent, 0 dropped", said)[0])
    assert f"{sent} sent = {sent} complete + 0 incomplete" in out
    np.testing.assert_array_equal(run.dataset("frame_number"), range(sent))
    assert number(out, "sent no line of the link") == 4
    assert number(out, "showed a wrong token") == 2
    assert number(out, "came for a source that somebody else reports for") == 1
    assert number(out, "reported for a source that they had not named") == 1
    assert 0 < number(out, "went without a word") <= attempts[0]
    for file in (out, said, (tmp_path / "frames.h5").read_bytes().decode("latin-1")):
        assert key.token.hex() not in file
        assert key.token.decode("latin-1") not in file


def test_a_source_that_lies_gets_no_credit_beyond_what_can_have_been_offered(tmp_path: Path, port: int) -> None:
    options = [*write_plan(tmp_path, port), "--max-rate", 10, "--idle", 2]
    with receiving(tmp_path, *options) as run, SessionClient(*run.address) as watch:
        key = LinkKey.load(tmp_path / "session.json")
        for offered in (1 << 62, 10_000):
            with entered(run.address, key, 0) as liar:
                liar.sendall(b'{"source": 0, "offered": %d, "dropped": %d}\n' % (offered, offered))
                heard(liar)
        assert watch.window_end == SLOTS
        status, out, _ = run.end()
    assert status == 1, "no frame came"
    assert number(out, "reported what cannot be") == 2
    assert "source 0 says it has offered 4611686018427387904 frames: more than" in out
    assert "0 sent = 0 complete" in out
