"""The token of a session's link: in files of its user alone, where his sources find it, and nowhere else."""

import json
import os
import ssl
import threading
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509

from framelane.base.errors import InputError, TransportError
from framelane.session import link_key, session_client, waiting_room
from framelane.session.link_key import VARIABLE, LinkKey, find_keys
from framelane.session.link_tls import server_context
from framelane.session.session import Session
from framelane.session.session_client import SessionClient
from framelane.session.session_server import SessionServer

MakeSession = Callable[..., Session]
KEY = LinkKey(b"\x5a" * 32)


@pytest.fixture(autouse=True)
def links(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the receivers of this user keep their tokens."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return tmp_path / "state" / "framelane" / "links"


def test_a_receivers_token_is_its_users_alone_and_goes_with_it(make_session: MakeSession, links: Path) -> None:
    umask = os.umask(0)
    try:
        with SessionServer(make_session(), "127.0.0.1", 0) as server:
            (path,) = links.iterdir()
            assert path.name.startswith(f"127.0.0.1:{server.address[1]}@")
            assert path.stat().st_mode & 0o777 == 0o600
            assert links.stat().st_mode & 0o777 == 0o700
            assert LinkKey.load(path) == server.key
    finally:
        os.umask(umask)
    assert not list(links.iterdir())
    assert len({server.key.token, LinkKey.random().token, LinkKey.random().token}) == 3
    assert len(server.key.token) * 8 >= 128


def test_a_source_that_connects_before_the_token_is_kept_finds_it(
    make_session: MakeSession, links: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write, looked = link_key._write, threading.Event()
    sources: list[threading.Thread] = []
    let_in: list[SessionClient] = []

    def looking(*given: Any) -> list[LinkKey]:
        try:
            return find_keys(*given)
        finally:
            looked.set()

    def late(path: Path, key: LinkKey) -> None:
        """A slow disk: the port listens already, and a source looks for the token."""
        host, port = path.name.partition("@")[0].rsplit(":", 1)
        sources.append(threading.Thread(target=lambda: let_in.append(SessionClient(host, int(port)))))
        sources[0].start()
        assert looked.wait(10)
        write(path, key)

    monkeypatch.setattr(session_client, "find_keys", looking)
    monkeypatch.setattr(link_key, "_write", late)
    with SessionServer(make_session(), "127.0.0.1", 0):
        sources[0].join(20)
        (client,) = let_in
        client.close()


def test_where_no_token_is_the_source_says_how_to_bring_it(
    make_session: MakeSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    published = tmp_path / "session.json"
    with SessionServer(make_session(), "127.0.0.1", 0) as server:
        make_session().save(published, server.key.document())
        monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "another user"))
        with pytest.raises(InputError, match=r"token of the receiver at 127.0.0.1:\d+ is not here.*recv --publish"):
            SessionClient(*server.address)
        SessionClient(*server.address, token_file=published).close()
        SessionClient(*server.address, beside=published).close()
        monkeypatch.setenv(VARIABLE, str(published))
        SessionClient(*server.address).close()
        published.write_text(json.dumps(LinkKey.random().document()))
        with pytest.raises(TransportError, match="refuses: the token is not of this session: bring the session that"):
            SessionClient(*server.address)


def test_a_folder_that_cannot_be_written_is_one_sentence(make_session: MakeSession, links: Path) -> None:
    links.parents[1].write_text("a file")
    with pytest.raises(TransportError, match=r"cannot keep the token .*: Not a directory: set XDG_STATE_HOME"):
        SessionServer(make_session(), "127.0.0.1", 0)


def test_the_token_of_another_receiver_is_left_alone(make_session: MakeSession, links: Path) -> None:
    with SessionServer(make_session(), "127.0.0.1", 0):
        (path,) = links.iterdir()
        path.write_text(json.dumps(KEY.document()))
    assert LinkKey.load(path) == KEY


@pytest.mark.parametrize(
    ("text", "mode", "sentence"),
    [
        (json.dumps(KEY.document()), 0o640, "others on this machine may read the token in .*: `chmod 600 "),
        (json.dumps({"link": KEY.document()}), 0o604, "others on this machine may read the token"),
        ("{", 0o600, "is not usable: it is not JSON"),
        ("[" * 100_000, 0o600, "is not usable: it is not JSON"),
        ("\xff", 0o600, "is not usable: it is not JSON"),
        ('{"token": "5a"}', 0o600, "is not usable: token: "),
        ('{"link": []}', 0o600, "is not usable"),
        ("{}", 0o600, "there is no token in .*: give the session that the receiver has published"),
        ("[]", 0o600, "is not usable"),
        (None, 0o600, "cannot read the token in .*: No such file"),
    ],
)
def test_a_file_without_a_token_that_can_be_used_is_one_sentence(
    tmp_path: Path, text: str | None, mode: int, sentence: str
) -> None:
    path = tmp_path / "token.json"
    if text is not None:
        path.write_text(text, encoding="latin-1")
        path.chmod(mode)
    with pytest.raises(InputError, match=sentence) as raised:
        LinkKey.load(path)
    assert KEY.token.hex() not in str(raised.value)


def test_a_session_with_its_token_is_read_as_the_session_alone(make_session: MakeSession, tmp_path: Path) -> None:
    path = tmp_path / "session.json"
    make_session().save(path, KEY.document())
    assert Session.load(path) == make_session()
    assert LinkKey.load(path) == KEY
    assert "token" not in repr(Session.load(path))


def test_by_tls_nothing_is_readable_and_the_certificate_is_the_receivers(
    make_session: MakeSession, tmp_path: Path
) -> None:
    tls, certificate = server_context()
    key = LinkKey.random(certificate)
    with SessionServer(make_session(), "127.0.0.1", 0, key=key, tls=tls) as server:
        with SessionClient(*server.address, 0) as source:
            assert source.session == make_session()
            for frame in range(1, 50):
                server.publish(4 + frame)
                source.report(0, frame, 0)
            assert source.wait_closed(0.2) is False
            assert (source.window_end, server.reports[0].offered) == (53, 49)
        shown = x509.load_pem_x509_certificate(ssl.get_server_certificate(server.address, timeout=10).encode())
        assert shown.not_valid_before_utc < datetime.now(UTC) < shown.not_valid_after_utc
        other = tmp_path / "other.json"
        other.touch(0o600)
        _, wrong = server_context()
        other.write_text(json.dumps(LinkKey(key.token, wrong).document()))
        with pytest.raises(TransportError, match="is not the receiver whose token is here: its certificate is another"):
            SessionClient(*server.address, token_file=other)


@pytest.mark.parametrize("stale", ["token", "certificate", "no certificate"])
def test_the_token_that_a_killed_receiver_has_left_does_not_hide_the_right_one(
    make_session: MakeSession, tmp_path: Path, links: Path, stale: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(waiting_room, "DEADLINE_S", 0.3)
    tls, certificate = server_context() if stale == "no certificate" else (None, None)
    key, beside = LinkKey.random(certificate), tmp_path / "session.json"
    make_session().save(beside, key.document())
    with SessionServer(make_session(), "127.0.0.1", 0, key=key, tls=tls) as server:
        (left,) = links.iterdir()
        left.write_text(json.dumps(LinkKey.random("ab" * 32 if stale == "certificate" else None).document()))
        with SessionClient(*server.address, 0, beside=beside) as source:
            assert source.session == make_session()
        with pytest.raises(TransportError):
            SessionClient(*server.address, 0)
        left.write_text(json.dumps(key.document()))
        beside.write_text("{")
        SessionClient(*server.address, 0, beside=beside).close()
