"""Who may ask a service, and what is refused before anything of it is looked at."""

import contextlib
import http.client
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from framelane.base.errors import ConfigError, InputError, TransportError
from framelane.serve import Client, ServiceError
from framelane.serve.access import token_of
from framelane.serve.service import Service
from framelane.serve.serving import Serving
from served import Served, configuration, served

TOKEN = "a token of this test"[::-1].replace(" ", "-")
KIND = {"Content-Type": "application/json"}


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with served(tmp_path_factory.mktemp("guarded"), TOKEN) as service:
        yield service


@pytest.fixture(scope="module")
def local(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with served(tmp_path_factory.mktemp("local")) as service:
        yield service


def ask(
    here: Served, method: str, path: str, headers: dict[str, str] | None = None, body: bytes | None = None
) -> tuple[int, str]:
    with connected(here) as connection:
        connection.request(method, path, body, headers or {})
        answer = connection.getresponse()
        return answer.status, answer.read().decode("latin-1")


def connected(here: Served) -> contextlib.closing[http.client.HTTPConnection]:
    return contextlib.closing(http.client.HTTPConnection("127.0.0.1", here.serving.port, timeout=20))


@pytest.mark.parametrize("path", ["/api/status", "/api/image", "/api/picture", "/metrics", "/api/nothing"])
@pytest.mark.parametrize(
    "shown", [None, "Bearer", "Bearer ", "Bearer wrong", f"Basic {TOKEN}", f"Bearer {TOKEN}x", f"Bearer {TOKEN[:-1]}"]
)
def test_nothing_is_told_without_the_token(guarded: Served, path: str, shown: str | None) -> None:
    headers = {} if shown is None else {"Authorization": shown}
    status, said = ask(guarded, "GET", path, headers)
    assert (status, said) == (401, '{"detail": "show the token: Authorization: Bearer TOKEN"}')


def test_with_the_token_it_is_told_and_the_page_needs_none(guarded: Served) -> None:
    with Client(guarded.url, token=TOKEN) as client:
        assert client.status()["state"] == "idle"
    for path in ("/", "/live.js", "/live.css", "/openapi.json"):
        assert ask(guarded, "GET", path)[0] == 200
    with Client(guarded.url) as client, pytest.raises(ServiceError, match="show the token") as refused:
        client.arm()
    assert refused.value.status == 401


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 200),
        ({"Host": "localhost:99"}, 200),
        ({"Host": "[::1]:99"}, 200),
        ({"Host": "evil.example"}, 403),
        ({"Host": "127.0.0.1.evil.example:80"}, 403),
        ({"Host": "localhost", "Origin": "http://localhost"}, 200),
        ({"Origin": "http://evil.example"}, 403),
        ({"Origin": "null"}, 403),
    ],
)
def test_without_a_token_no_page_of_somebody_else_may_ask(local: Served, headers: dict[str, str], status: int) -> None:
    assert ask(local, "GET", "/api/status", headers)[0] == status


def test_a_body_that_is_too_large_is_refused_with_and_without_its_length(local: Served) -> None:
    long = b" " * ((1 << 20) + 1)
    status, said = ask(local, "POST", "/api/configure", KIND, long)
    assert (status, said) == (413, '{"detail": "the body is too large: at most 1048576 bytes"}')
    with connected(local) as connection, contextlib.suppress(http.client.HTTPException, ConnectionError):
        connection.request("POST", "/api/configure", iter([long, b"{}"]), KIND, encode_chunked=True)
        assert connection.getresponse().status in (400, 413, 422)
    assert ask(local, "GET", "/api/status")[0] == 200


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b"null", b"\xff", b'{"source": 1e999}', b"[" * 10_000, b"9" * 5000])
def test_a_body_that_is_no_configuration_is_a_sentence(local: Served, body: bytes) -> None:
    status, said = ask(local, "POST", "/api/configure", KIND, body)
    assert status in (400, 422)
    assert set(json.loads(said)) == {"detail"}


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.7", "somewhere.example"])
def test_others_than_this_machine_need_a_token(tmp_path: Path, host: str) -> None:
    service = Service(tmp_path)
    with pytest.raises(ConfigError, match="without a token the service listens on this machine only"):
        Serving(service, host, 0)
    service.close()


def test_where_somebody_else_listens_is_said(tmp_path: Path, local: Served) -> None:
    service = Service(tmp_path)
    with pytest.raises(TransportError, match=r"cannot listen on 127\.0\.0\.1:\d+: .*in use"):
        Serving(service, "127.0.0.1", local.serving.port)
    service.close()


def test_a_token_is_made_once_for_its_owner_alone(tmp_path: Path) -> None:
    path = tmp_path / "token"
    token = token_of(path)
    assert len(token) >= 40
    assert path.stat().st_mode & 0o777 == 0o600
    assert token_of(path) == token
    path.chmod(0o640)
    with pytest.raises(InputError, match="others may read the token"):
        token_of(path)
    for text in ("", "short", "with a blank in it, and long enough", "\x00" * 40, "ü" * 40):
        path.write_text(text)
        path.chmod(0o600)
        with pytest.raises(InputError, match="has no token"):
            token_of(path)


def test_the_document_of_the_interface_is_valid_and_names_all_of_it(local: Served) -> None:
    from openapi_spec_validator import validate

    document = json.loads(ask(local, "GET", "/openapi.json")[1])
    validate(document)
    commands = {f"/api/{name}" for name in ("configure", "arm", "start", "stop", "abort")}
    questions = {
        "status",
        "statistics",
        "frames",
        "history",
        "image",
        "picture",
        "verdicts",
        "thresholds",
        "configuration",
    }
    assert set(document["paths"]) == commands | {f"/api/{name}" for name in questions} | {"/metrics"}
    assert all("description" in call for path in document["paths"].values() for call in path.values())
    assert configuration()["source"].keys() <= document["components"]["schemas"]["SourceSetting"]["properties"].keys()
