"""A session in a file: nobody else keeps a receiver from publishing it, and what is served again can be reached."""

import contextlib
import fcntl
import json
import os
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from framelane.base.errors import TransportError
from framelane.receiver.live.live_wire import served
from framelane.receiver.live.packet_source import Live
from framelane.session import alone
from framelane.session.link_key import LinkKey, state_folder
from framelane.session.link_tls import server_context
from framelane.session.publishing import published, published_port
from framelane.session.session import Session
from framelane.session.session_client import SessionClient

MakeSession = Callable[..., Session]


@pytest.fixture(autouse=True)
def _state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


@contextlib.contextmanager
def locked(path: Path) -> Iterator[None]:
    file = os.open(path, os.O_RDONLY)
    fcntl.flock(file, fcntl.LOCK_EX)
    try:
        yield
    finally:
        os.close(file)


def test_who_may_read_the_folder_cannot_keep_a_receiver_from_publishing(
    make_session: MakeSession, tmp_path: Path
) -> None:
    done = threading.Event()

    def publish() -> None:
        with published(make_session(), tmp_path / "session.json", LinkKey.random()):
            done.set()

    with locked(tmp_path):
        threading.Thread(target=publish, daemon=True).start()
        assert done.wait(3)
    assert (state_folder() / "publishing.lock").stat().st_mode & 0o777 == 0o600


def test_a_receiver_that_stands_still_while_it_publishes_is_said(
    make_session: MakeSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(alone, "PATIENCE_S", 0.1)
    state_folder().mkdir(parents=True)
    (state_folder() / "publishing.lock").touch()
    with (
        locked(state_folder() / "publishing.lock"),
        pytest.raises(TransportError, match=r"another receiver has been publishing .*publishing.lock with `lslocks`"),
        published(make_session(), tmp_path / "session.json", LinkKey.random()),
    ):
        pass
    assert not (tmp_path / "session.json").exists()


@pytest.mark.parametrize("asked", [False, True], ids=["as before", "new"])
def test_a_session_of_tls_is_served_again_with_the_same_token(
    make_session: MakeSession, tmp_path: Path, asked: bool
) -> None:
    path, key = tmp_path / "session.json", LinkKey.random(None if asked else server_context()[1])
    make_session().save(path, key.document())
    before = path.read_bytes()
    for _ in range(2):
        with served(make_session(), Live(transport="udp", session=path, link_port=0, link_tls=asked)) as server:
            now = LinkKey.load(path)
            assert now.token == key.token
            assert now.certificate not in (None, key.certificate)
            for file in (path, None):
                with SessionClient(*server.address, 0, token_file=file) as source:
                    assert source.session == make_session() == Session.load(path)
        key = now
    assert path.read_bytes() != before
    assert path.stat().st_mode & 0o777 == 0o600


def test_a_session_names_the_port_of_its_link_also_when_it_is_served_on_another_one(
    make_session: MakeSession, tmp_path: Path
) -> None:
    path, key = tmp_path / "session.json", LinkKey.random()
    with published(make_session(), path, key, 50_000):
        assert published_port(path) == 50_000
    with served(make_session(), Live(transport="udp", session=path, link_port=0)) as server:
        assert published_port(path) == server.address[1]
        assert LinkKey.load(path).token == key.token
        assert Session.load(path) == make_session()


def test_a_session_without_tls_stays_as_it_is(make_session: MakeSession, tmp_path: Path) -> None:
    path = tmp_path / "session.json"
    make_session().save(path, LinkKey.random().document())
    before = path.stat().st_ino, json.loads(path.read_bytes())
    with (
        served(make_session(), Live(transport="udp", session=path, link_port=0)) as server,
        SessionClient(*server.address, 0, token_file=path),
    ):
        pass
    assert (path.stat().st_ino, json.loads(path.read_bytes())) == before
