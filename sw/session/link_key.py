"""The key of a session's link: the token that its sources must have, and where it is found."""

import contextlib
import json
import os
import secrets
import socket
from collections.abc import Iterator
from dataclasses import dataclass, field
from ipaddress import ip_address
from pathlib import Path
from typing import Annotated, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from framelane.base.documents import open_regular
from framelane.base.errors import InputError, TransportError
from framelane.base.part_file import PartFile
from framelane.base.validation import spelled

TOKEN_BYTES = 32
VARIABLE = "FRAMELANE_TOKEN_FILE"
"""Environment variable: the file of a token that was brought here from the receiver's machine."""
_MOST_BYTES = 1 << 20


class _Document(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)
    token: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
    certificate: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")] | None = None
    port: object = None
    """The link's, in a session: `publishing.published_port` reads it."""


@dataclass(frozen=True, slots=True)
class LinkKey:
    """`token`, 256 random bits, and the SHA-256 of the receiver's `certificate` where the link is of TLS.

    It is in files of mode 0600 alone: a file of its own, or the session's document under `link`.
    """

    token: bytes = field(repr=False)
    certificate: str | None = None

    @classmethod
    def random(cls, certificate: str | None = None) -> Self:
        """A new one, which nobody can guess."""
        return cls(secrets.token_bytes(TOKEN_BYTES), certificate)

    def document(self) -> dict[str, str]:
        """The key as it is written into files."""
        return {"token": self.token.hex(), **({"certificate": self.certificate} if self.certificate else {})}

    @classmethod
    def of(cls, document: object) -> Self:
        """Invert `document`. ValueError for any other."""
        read = _Document.model_validate(document)
        return cls(bytes.fromhex(read.token), read.certificate)

    @classmethod
    def load(cls, path: Path) -> Self:
        """Read it from its own file, or from a session's. InputError where it is not there, or others may read it."""
        key = cls.within(path)
        if key is None:
            raise InputError(f"there is no token in {path}: give the session that the receiver has published")
        return key

    @classmethod
    def within(cls, path: Path) -> Self | None:
        """The same; None where the file is readable and has no token, as the session of an older framelane."""
        try:
            with open_regular(path, "token") as file:
                mode, text = os.fstat(file.fileno()).st_mode, file.read(_MOST_BYTES)
            document = json.loads(text)
        except OSError as error:
            raise InputError(f"cannot read the token in {path}: {error.strerror}") from error
        except (ValueError, RecursionError) as error:
            raise InputError(f"the token in {path} is not usable: it is not JSON") from error
        if isinstance(document, dict) and "token" not in document:
            document = document.get("link")
        if document is None:
            return None
        if mode & 0o077:
            raise InputError(f"others on this machine may read the token in {path}: `chmod 600 {path}`")
        try:
            return cls.of(document)
        except ValidationError as error:
            wrong = ", ".join(spelled(each["loc"]) for each in error.errors()) or "it"  # what is in it is told nobody
            raise InputError(f"the token in {path} is not usable: {wrong}: bring the session again") from error


@contextlib.contextmanager
def kept(key: LinkKey, address: tuple[str, int]) -> Iterator[Path]:
    """Keep the key of the receiver that listens at `address` where its user's sources find it, as long as it does.

    InputError where that folder cannot be written.
    """
    path = _path(address)
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        _write(path, key)
    except (OSError, InputError) as error:
        why = error.strerror if isinstance(error, OSError) else "it cannot be written"
        raise TransportError(
            f"cannot keep the token of the session's link in {path.parent}: {why}: set XDG_STATE_HOME to a folder "
            "that you may write"
        ) from error
    try:
        yield path
    finally:
        with contextlib.suppress(OSError, InputError):
            if LinkKey.within(path) == key:  # it may be another receiver's by now, in a network of its own
                path.unlink()


def find_keys(address: tuple[str, int], given: Path | None = None, beside: Path | None = None) -> list[LinkKey]:
    """What can be the key of the receiver at `address`, the likeliest first.

    That of the file `given`, or of the one which `VARIABLE` of the environment names, alone. Else the one that this
    user's receiver keeps, which may be left of one that was killed; then that in the session's document `beside`.
    InputError where there is none.
    """
    if given is None and (named := os.environ.get(VARIABLE)):
        given = Path(named)
    if given is not None:
        return [LinkKey.load(given)]
    keys = [LinkKey.load(_path(address))] if _path(address).exists() else []
    try:
        key = LinkKey.within(beside) if beside else None
    except InputError:
        if not keys:
            raise
        key = None
    if key is not None and key not in keys:
        keys.append(key)
    if not keys:
        raise InputError(
            f"the token of the receiver at {address[0]}:{address[1]} is not here, as that is another machine's, or "
            f"another user's: bring the session that it publishes (`recv --publish`), and name its file in {VARIABLE}"
        )
    return keys


def state_folder() -> Path:
    """The folder in which this user's receivers keep their private files."""
    folder = os.environ.get("XDG_STATE_HOME", "")  # basedir-spec 0.8: to be ignored where it is relative
    state = Path(folder) if Path(folder).is_absolute() else Path.home() / ".local" / "state"
    return state / "framelane"


def _write(path: Path, key: LinkKey) -> None:
    with PartFile(path, 0o600, force=True) as part:
        part.path.write_text(json.dumps(key.document()) + "\n", encoding="ascii")


def _path(address: tuple[str, int]) -> Path:
    """A home may be that of several machines: each of them, and each network of one, has loopback addresses."""
    host, port = address
    where = ""
    if ip_address(host).is_loopback:
        where = f"@{socket.gethostname()}-{Path('/proc/self/ns/net').stat().st_ino}"
    return state_folder() / "links" / f"{host}:{port}{where}.json"
