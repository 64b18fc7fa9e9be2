"""The receiver's end of the session link: it says its session and its credit, and hears what sources have offered."""

import contextlib
import errno
import os
import selectors
import socket
import ssl
import threading
import time
from dataclasses import dataclass
from typing import Self

from framelane.base.errors import InputError, TransportError
from framelane.session.attempts import Attempts, Reason, Refused
from framelane.session.channel import Channel
from framelane.session.handshake import client_proof, receiver_proof, same
from framelane.session.link_key import LinkKey, kept
from framelane.session.report_book import MAX_RATE, ReportBook
from framelane.session.session import Session
from framelane.session.session_link import (
    PORT,
    WATCHED,
    WRONG_TOKEN,
    Challenge,
    Credit,
    Hello,
    Refusal,
    Report,
    Welcome,
)
from framelane.session.waiting_room import Waiting, WaitingRoom

_BACKLOG = 64
_NAP_S = 0.2
_MOST_READERS = 44
"""Who report nothing; of sources there is one connection each."""


@dataclass(slots=True, eq=False)
class _Client:
    """Somebody who has shown the token."""

    channel: Channel
    host: str
    hello: Hello


class SessionServer:
    """Listens on TCP `port` of `host` (port 0: any free one, see `address`) for the sources of `session`.

    Who has not the token of `key` hears nothing, and is counted in `attempts`. Where this user's sources find that
    token: `link_key`. With `tls` the link is encrypted. `max_rate`: frames/s that a source can offer at most.

    TransportError where it cannot listen, or keep the token. `publish` is called by the receiver's thread; one
    thread of the server's own serves all.
    """

    def __init__(
        self,
        session: Session,
        host: str,
        port: int = PORT,
        *,
        key: LinkKey | None = None,
        tls: ssl.SSLContext | None = None,
        max_rate: float = MAX_RATE,
    ) -> None:
        self._session = session
        self.key = key or LinkKey.random()
        self._tls = tls
        self._window_end = session.window_end
        self._lock = threading.Lock()
        self._book = ReportBook(session, max_rate)
        self._clients: set[_Client] = set()
        self._owners: dict[int, _Client] = {}
        """Who speaks for a source."""
        self._gone: set[int] = set()
        self._closed = False
        self.attempts = Attempts()
        """Who was turned away."""
        self._room = WaitingRoom()
        try:
            self._socket = socket.create_server((host, port), backlog=_BACKLOG)
        except OSError as error:
            raise TransportError(f"cannot serve the session on TCP {host}:{port}: {_advice(error, port)}") from error
        self._socket.setblocking(False)
        self._held = contextlib.ExitStack()
        with contextlib.ExitStack() as opened:
            opened.callback(self._socket.close)
            opened.enter_context(kept(self.key, self.address))
            self._selector = opened.enter_context(selectors.DefaultSelector())
            self._waker, self._woken = socket.socketpair()
            opened.callback(self._waker.close)
            opened.callback(self._woken.close)
            self._held = opened.pop_all()
        self._selector.register(self._woken, selectors.EVENT_READ)
        self._thread = threading.Thread(target=self._serve, name="session server", daemon=True)
        self._thread.start()

    @property
    def address(self) -> tuple[str, int]:
        """The IP address and the port on which it listens."""
        host, port = self._socket.getsockname()
        return str(host), int(port)

    @property
    def reports(self) -> dict[int, Report]:
        """The newest report of each source that has made one."""
        with self._lock:
            return dict(self._book.reports)

    @property
    def gone(self) -> list[int]:
        """The sources whose connection has ended, not by `close`, when they had told something, but not their end."""
        with self._lock:
            return sorted(self._gone)

    @property
    def window_end(self) -> int:
        """The credit that was published last."""
        return self._window_end

    @property
    def spent_s(self) -> float:
        """Seconds of processor time that its thread has taken."""
        return time.clock_gettime(time.pthread_getcpuclockid(self._thread.ident or 0))

    def publish(self, window_end: int) -> None:
        """Say the credit to all who have the token, if it has grown."""
        with self._lock:
            if window_end <= self._window_end:
                return
            self._window_end = window_end
            line = Credit(window_end=window_end).pack()
            for client in tuple(self._clients):
                if not client.channel.send(line):
                    # It has gone, or its kernel takes no more: the receiver does not wait for it.
                    if not client.channel.broken:
                        self.attempts.note(Reason.DEAF, client.host, client.hello.who)
                    self._clients.discard(client)
                    client.channel.shut()  # of which the server's thread hears

    def close(self) -> None:
        """Cut off everybody, and listen no more. May be called twice."""
        self._closed = True
        with contextlib.suppress(OSError):
            self._waker.send(b".")
        self._thread.join()
        self._held.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def _serve(self) -> None:
        """Serve until it is closed; whatever unauthenticated clients send, this thread goes on."""
        listens = False
        while not self._closed:
            pause_s = self._room.opens_in_s
            if listens != (not pause_s):
                listens = not listens
                self._listen(listens)
            for key, _ in self._selector.select(pause_s or _NAP_S):
                self._attend(key.data if isinstance(key.data, Waiting | _Client) else None, key.fileobj is self._socket)
            for one in self._room.late():
                self._turn_away(one, Reason.SILENT)
        for key in tuple(self._selector.get_map().values()):
            if isinstance(key.data, Waiting | _Client):
                self._close(key.data.channel)

    def _attend(self, one: Waiting | _Client | None, new: bool) -> None:
        """Whatever happens to one of them, the others are served."""
        if one is not None and one.channel.closed:
            return  # for another one of the same batch
        try:
            if new:
                self._accept()
            elif isinstance(one, Waiting):
                self._hear_waiting(one)
            elif one is not None:
                self._hear(one)
        except Exception as error:
            if one is None:
                self.attempts.note(Reason.FAULT, "somebody new", repr(error))
                return
            self.attempts.note(Reason.FAULT, one.host, repr(error))
            if isinstance(one, Waiting):
                self._room.leave(one)
                let_in = next((client for client in tuple(self._clients) if client.channel is one.channel), None)
            else:
                let_in = one
            if let_in:
                self._cut(let_in)
            self._close(one.channel)

    def _listen(self, listens: bool) -> None:
        if listens:
            self._selector.register(self._socket, selectors.EVENT_READ)
        else:
            self._selector.unregister(self._socket)

    def _accept(self) -> None:
        try:
            connection, (host, _) = self._socket.accept()
        except BlockingIOError:
            return
        except OSError as error:  # too many files
            self.attempts.note(Reason.NO_ROOM, "the kernel", os.strerror(error.errno or 0))
            self._room.rest(_NAP_S)
            return
        try:
            if self._tls is not None:
                connection = self._tls.wrap_socket(connection, server_side=True, do_handshake_on_connect=False)
        except (OSError, ValueError):  # it has gone already
            self.attempts.note(Reason.LEFT, host)
            connection.close()
            return
        new, oldest = self._room.admit(Channel(connection), host)
        if oldest is not None:
            self._turn_away(oldest, Reason.TOO_MANY)
        self._selector.register(connection, selectors.EVENT_READ, new)
        self._hear_waiting(new)

    def _hear_waiting(self, one: Waiting) -> None:
        """Hear somebody who has not shown the token, and let him in where he does."""
        try:
            if not one.greeted:
                if not one.channel.secured():
                    return
                one.greeted = one.channel.send(Challenge(nonce=one.asked).pack())
            lines = one.channel.receive()
            if lines:
                self._welcome(one, lines)
        except EOFError:
            self._turn_away(one, Reason.LEFT)
        except ssl.SSLError as error:
            self._turn_away(one, Reason.NO_TLS, error.reason or "")
        except OSError:
            self._turn_away(one, Reason.LEFT)
        except InputError as error:
            self._turn_away(one, Reason.NO_LINE, str(error))
        except Refused as refused:
            self._turn_away(one, refused.reason, str(refused), Refusal(refused=str(refused)).pack())

    def _turn_away(self, one: Waiting, reason: Reason, detail: str = "", answer: bytes = b"") -> None:
        self.attempts.note(reason, one.host, detail)
        self._room.leave(one)
        if answer:
            one.channel.send(answer)
        self._close(one.channel)

    def _welcome(self, one: Waiting, lines: list[bytes]) -> None:
        hello = Hello.unpack(lines[0])
        client = _Client(one.channel, one.host, hello)
        answer = self._answer(one.asked, hello)
        for option in WATCHED:
            one.channel.socket.setsockopt(*option)
        with self._lock:
            self._take_place(client)
            self._room.leave(one, welcome=True)
            one.channel.allowance = None
            self._clients.add(client)
            one.channel.send(answer + Credit(window_end=self._window_end).pack())
        self._selector.modify(one.channel.socket, selectors.EVENT_READ, client)
        self._take(client, lines[1:])

    def _answer(self, asked: str, hello: Hello) -> bytes:
        """The session, for somebody who has the token."""
        token = self.key.token
        if not hello.proof:
            raise Refused(Reason.NO_TOKEN, "the session's token was not shown")
        if not same(hello.proof, client_proof(token, asked, hello)):
            raise Refused(Reason.WRONG_TOKEN, WRONG_TOKEN)
        return Welcome(proof=receiver_proof(token, asked, hello, self._session), session=self._session).pack()

    def _take_place(self, client: _Client) -> None:
        """Within the lock: nobody else speaks for a source while it is connected."""
        source = client.hello.source
        if source is None:
            if len(self._clients) - len(self._owners) >= _MOST_READERS:
                raise Refused(Reason.TOO_MANY, "too many read this session: close some of them")
            return
        if source >= self._session.sources:
            raise Refused(Reason.NO_SOURCE, f"there is no source {source} in a session of {self._session.sources}")
        if source in self._owners:
            there = self._owners[source]
            raise Refused(
                Reason.TAKEN,
                f"somebody else reports for source {source}, {there.hello.who} from {there.host}: is it started twice?",
            )
        self._owners[source] = client

    def _hear(self, client: _Client) -> None:
        """Take the reports of somebody who has shown the token."""
        try:
            self._take(client, client.channel.receive())
        except (EOFError, OSError):
            self._cut(client)
        except InputError as error:
            self.attempts.note(Reason.NO_LINE, client.host, str(error))
            self._cut(client)

    def _take(self, client: _Client, lines: list[bytes]) -> None:
        try:
            for line in lines:
                self._note(Report.unpack(line), client)
        except InputError as error:
            self.attempts.note(Reason.NO_LINE, client.host, str(error))
            self._cut(client)
        except Refused as refused:
            self.attempts.note(refused.reason, client.host, str(refused))
            self._cut(client)

    def _note(self, report: Report, client: _Client) -> None:
        """Keep a report that can be: Refused for any other."""
        if report.source != client.hello.source:
            raise Refused(Reason.NOT_ITS_OWN, f"{client.hello.who} has reported for source {report.source}")
        with self._lock:
            self._book.note(report, self._window_end, client.hello.role == "relay")
            self._gone.discard(report.source)

    def _cut(self, client: _Client) -> None:
        """End a connection; its source's place is free again."""
        with self._lock:
            self._clients.discard(client)
            source = client.hello.source
            if source is not None and self._owners.get(source) is client:
                del self._owners[source]
                told = self._book.reports.get(source)
                if told and not told.ended and not self._closed:
                    self._gone.add(source)
        self._close(client.channel)

    def _close(self, channel: Channel) -> None:
        with contextlib.suppress(KeyError, ValueError):
            self._selector.unregister(channel.socket)
        channel.close()


def _advice(error: OSError, port: int) -> str:
    if error.errno == errno.EADDRINUSE:
        return f"the port is in use: another receiver holds it (`ss -ltnp sport = :{port}`), or give another port"
    if error.errno == errno.EADDRNOTAVAIL:
        return "no interface of this machine has that address (see `ip -br addr`): correct the plan's receiver.ip"
    return os.strerror(error.errno or 0)
