"""What a receiver and its sources say to each other beside the data: lines of JSON over TCP.

The receiver begins with its session, then says its credit whenever that has grown. A source says what it has offered.
Either may close the connection. The link carries no pixels: whoever loses it keeps the credit that was last said. A
machine that is away without having closed it, as it lost its power, is noticed after `NOTICED_S`.

    receiver: {"session": {"format": "framelane-session-1", ...}}
    receiver: {"window_end": 12}
    source:   {"source": 0, "offered": 10, "dropped": 0, "ended": false}
"""

import socket
from typing import Annotated, Any, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from framelane.base.errors import InputError
from framelane.session.session import Session
from framelane.session.session_plan import U8, U64

PORT = 4790
"""TCP port of the link where nothing else is said: the one below RoCEv2's UDP port. Not registered with IANA."""

MAX_LINE = 1 << 16
"""Bytes of a line at most."""


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
        """As it is sent."""
        return self.model_dump_json().encode() + b"\n"

    @classmethod
    def unpack(cls, line: bytes) -> Self:
        """Invert `pack`."""
        try:
            return cls.model_validate_json(line)
        except ValidationError as error:
            wrong: Any = error.errors()[0]
            where = ".".join(map(str, wrong["loc"])) or "line"
            raise InputError(f"not a line of a session's link, {where}: {wrong['msg']}: {line[:80]!r}") from error


class Greeting(Line):
    """The receiver's first line."""

    session: Session


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
