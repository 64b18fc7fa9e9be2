"""What a receiver and its sources say to each other beside the data: lines of JSON (docs/reference/session_link.md).

The receiver asks who is there; who is there proves that it has the session's token, which itself is never said. Then
the receiver proves the same, tells its session, then its credit whenever that has grown. A source says what it has
offered. Either may close the connection. The link carries no pixels: whoever loses it keeps the credit that was last
said. A machine that is away without having closed it, as it lost its power, is noticed after `NOTICED_S`.

    receiver: {"link": "framelane-link-2", "note": "update framelane ...", "nonce": "6f..."}
    source:   {"role": "source", "source": 0, "name": "", "nonce": "c4...", "proof": "1b..."}
    receiver: {"proof": "90...", "session": {"format": "framelane-session-1", ...}}
    receiver: {"window_end": 12}
    source:   {"source": 0, "offered": 10, "dropped": 0, "ended": false}
"""

import socket
from typing import Annotated, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from framelane.base.errors import InputError
from framelane.base.validation import first_said
from framelane.session.session import Session
from framelane.session.session_plan import U8, U64

PORT = 4790
"""TCP port of the link where nothing else is said: the one below RoCEv2's UDP port. Not registered with IANA."""

MAX_LINE = 1 << 16
"""Bytes of a line at most."""

MAX_HELLO = 1 << 10
"""Bytes that somebody may say, all in all, who has not shown the token."""

WRONG_TOKEN = "the token is not of this session: bring the session that is published now"
"""The refusal behind which a source may have another token to show."""

NOTE = "update framelane here: this receiver asks for its session's token"
"""What the user of an older framelane reads, which cannot read the rest."""

_MOST_QUOTED = 16
"""Bytes of a bad line that are shown: enough to see what spoke, and never the whole of a token."""

NOTICED_S = 5.0
"""Seconds of silence after which the machine at the other end counts as gone: longer than a switch needs to find
another way, by RSTP. A program that stands still is not noticed, since its machine answers, until megabytes lie there
unread: a full window counts as silence."""

WATCHED = (
    (socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1),
    (socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, 1),
    (socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, 1),
    (socket.IPPROTO_TCP, socket.TCP_KEEPCNT, int(NOTICED_S)),
    (socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, int(NOTICED_S * 1000)),
)
"""Options of both ends' sockets (tcp(7)): the kernel asks a silent machine every second, and ends the connection after
`NOTICED_S` without an answer, be it to a question or to data."""


class Line(BaseModel):
    """One line. `pack` ends it, `unpack` raises InputError where it is none of this kind."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    def pack(self) -> bytes:
        """The message as bytes on the wire."""
        return self.model_dump_json().encode() + b"\n"

    @classmethod
    def unpack(cls, line: bytes) -> Self:
        """Invert `pack`."""
        try:
            return cls.model_validate_json(line)
        except ValidationError as error:
            said = first_said(error, cls)
            raise InputError(f"not a line of a session's link: {said}: {line[:_MOST_QUOTED]!r}") from error


Hex256 = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
Role = Literal["source", "relay", "reader"]
"""A source itself; a relay between a source and the receiver, which has a name; or who reports nothing."""


class Challenge(Line):
    """The receiver's first line: a number that is used once."""

    link: Literal["framelane-link-2"] = "framelane-link-2"
    note: str = NOTE
    nonce: Hex256


class Hello(Line):
    """Who is there: for `source` as a source or a relay called `name`, else as a reader. `proof` as of `handshake`."""

    role: Role
    source: U8 | None = None
    name: Annotated[str, Field(max_length=64, pattern=r"^[ -~]*$")] = ""
    nonce: Hex256
    proof: Annotated[str, Field(pattern=r"^([0-9a-f]{64})?$")] = ""

    @model_validator(mode="after")
    def _check(self) -> Self:
        if (self.role == "reader") != (self.source is None) or (self.role == "relay") != bool(self.name):
            raise ValueError("a source and a relay have a number, a relay has a name")
        return self

    @property
    def who(self) -> str:
        """Who it is, in words."""
        number = "" if self.source is None else f" {self.source}"
        return self.role + number + (f" ({self.name})" if self.name else "")


class Welcome(Line):
    """The receiver's answer to a good proof: its own one, and the session."""

    proof: Hex256
    session: Session


class Refusal(Line):
    """The receiver's answer to anything else, before it closes: why, in a sentence."""

    refused: Annotated[str, Field(max_length=400)]


class Credit(Line):
    """The receiver's credit: a source may send frame n only if n < `window_end`. Only ever grows."""

    window_end: U64


class Report(Line):
    """What source number `source` has done since frame 0: frames `offered`, and those `dropped` for want of credit.

    `ended`: it will offer no more.
    """

    source: U8
    offered: Annotated[int, Field(ge=0, lt=1 << 63)]
    dropped: Annotated[int, Field(ge=0, lt=1 << 63)]
    ended: bool = False
