"""Who may ask: by a token, or from this machine alone; and how much."""

import hmac
import json
import secrets
import stat
from collections.abc import Awaitable, Callable, MutableMapping
from ipaddress import ip_address
from pathlib import Path
from typing import Any

from framelane.base.documents import read_text
from framelane.base.errors import InputError, OptionError
from framelane.base.part_file import PartFile

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

MOST_BYTES = 1 << 20
"""The most that a request's body may have."""
_SHORTEST = 16
_LOCAL = {"localhost", "127.0.0.1", "[::1]"}
_PUBLIC = {"/", "/live.js", "/live.css", "/charts.js", "/colours.js", "/openapi.json"}
"""What is the same for everybody, and says nothing of a run."""


def is_loopback(host: str) -> bool:
    """Whether nobody but this machine reaches an address; a name other than localhost may be any."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def check_bind(host: str, token: str | None) -> None:
    """ConfigError where everybody could command the service."""
    if token is None and not is_loopback(host):
        raise OptionError(
            "without a token the service listens on this machine only, not on {0}: give {token_file}, a file that is "
            "made where it is not there, or {host} 127.0.0.1",
            host,
        )


def token_of(path: Path) -> str:
    """The token in a file of mode 0600, which is made with a new one where there is none. InputError."""
    if not path.exists():
        with PartFile(path, 0o600) as part:
            part.path.write_text(secrets.token_urlsafe(32) + "\n")
    token = read_text(path, "token", 4096).strip()
    if path.stat().st_mode & (stat.S_IRWXG | stat.S_IRWXO):
        raise InputError(f"others may read the token in {path}: `chmod 600 {path}`, or remove it for a new one")
    if len(token) < _SHORTEST or not token.isascii() or not token.isprintable() or " " in token:
        raise InputError(f"{path} has no token: give {_SHORTEST} characters or more, or remove it for a new one")
    return token


class Guard:
    """Lets requests to `app` that show the `token`; without one those that this machine's own pages and programs make.

    A page of somebody else in a browser of this machine could ask as well: without a token a request has to name this
    machine as its host (against DNS rebinding), and its origin, where a browser says one, has to be the service itself.
    """

    def __init__(self, app: App, token: str | None) -> None:
        self._app = app
        self._token = token.encode() if token is not None else None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """See ASGI 3."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = dict(scope["headers"])
        refusal = self._refusal(scope["path"], headers)
        length = headers.get(b"content-length", b"0")
        if refusal is None and (not length.isdigit() or int(length[:20]) > MOST_BYTES):
            refusal = 413, f"the body is too large: at most {MOST_BYTES} bytes"
        if refusal is not None:
            await _refuse(send, *refusal)
            return
        await self._app(scope, _Limited(receive), send)

    def _refusal(self, path: str, headers: dict[bytes, bytes]) -> tuple[int, str] | None:
        if self._token is not None:
            kind, _, shown = headers.get(b"authorization", b"").partition(b" ")
            right = hmac.compare_digest(shown.strip(), self._token) and kind.lower() == b"bearer"
            return None if right or path in _PUBLIC else (401, "show the token: Authorization: Bearer TOKEN")
        host = headers.get(b"host", b"").decode("latin-1").lower()
        if host.rpartition(":")[0] not in _LOCAL and host not in _LOCAL:
            return 403, f"the service is not called {host}: without a token it is asked as localhost"
        origin = headers.get(b"origin")
        if origin is not None and origin.decode("latin-1").lower().partition("://")[2] != host:
            return 403, "a page of another origin may not ask without a token"
        return None


class _Limited:
    """A body without a length is counted as it comes."""

    def __init__(self, receive: Receive) -> None:
        self._receive, self._bytes = receive, 0

    async def __call__(self) -> Message:
        message = await self._receive()
        self._bytes += len(message.get("body", b""))
        if self._bytes > MOST_BYTES:
            return {"type": "http.disconnect"}
        return message


async def _refuse(send: Send, status: int, sentence: str) -> None:
    body = json.dumps({"detail": sentence}).encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    if status == 401:
        headers.append((b"www-authenticate", b"Bearer"))
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
