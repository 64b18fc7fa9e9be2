"""The receiver's end of the session link: it says its session and its credit, and hears what sources have offered."""

import contextlib
import errno
import os
import socket
import threading
import time
from typing import Self

from framelane.base.errors import InputError, TransportError
from framelane.session.session import Session
from framelane.session.session_link import MAX_LINE, PORT, WATCHED, Credit, Greeting, Report

_MOST_CLIENTS = 300
"""More than there can be sources; the rest would be other clients."""
_NAP_S = 0.2


class SessionServer:
    """Listens on TCP `port` of `host` (port 0: any free one, see `address`) for the sources of `session`.

    TransportError where it cannot listen. `publish` is called by the receiver's thread; a thread of the server's own
    serves every source.
    """

    def __init__(self, session: Session, host: str, port: int = PORT) -> None:
        self._greeting = Greeting(session=session).pack()
        self._sources = session.sources
        self._window_end = session.window_end
        self._lock = threading.Lock()
        self._clients: set[socket.socket] = set()
        self._reports: dict[int, Report] = {}
        self._owners: dict[int, socket.socket] = {}
        """Which connection speaks for a source."""
        self._gone: set[int] = set()
        self._closed = False
        self.faults: list[str] = []
        """What was wrong with sources that were cut off."""
        try:
            self._socket = socket.create_server((host, port))
        except OSError as error:
            raise TransportError(f"cannot serve the session on TCP {host}:{port}: {_advice(error, port)}") from error
        threading.Thread(target=self._accept, name="session server", daemon=True).start()

    @property
    def address(self) -> tuple[str, int]:
        """The IP address and the port on which it listens."""
        host, port = self._socket.getsockname()
        return str(host), int(port)

    @property
    def reports(self) -> dict[int, Report]:
        """The newest report of each source that has made one."""
        with self._lock:
            return dict(self._reports)

    @property
    def gone(self) -> list[int]:
        """The sources whose connection has ended, not by `close`, when they had told something, but not their end."""
        with self._lock:
            return sorted(self._gone)

    def publish(self, window_end: int) -> None:
        """Say the credit to all sources, if it has grown."""
        with self._lock:
            if window_end <= self._window_end:
                return
            self._window_end = window_end
            for client in tuple(self._clients):
                self._send(client, Credit(window_end=window_end).pack())

    def close(self) -> None:
        """Cut off all sources, and listen no more. May be called twice."""
        self._closed = True
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()
        with self._lock:
            for client in tuple(self._clients):
                self._cut(client)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def _accept(self) -> None:
        while not self._closed:
            try:
                client, _ = self._socket.accept()
                for option in WATCHED:
                    client.setsockopt(*option)
                threading.Thread(target=self._listen, args=(client,), name="source", daemon=True).start()
            except (OSError, RuntimeError) as error:  # closed; or too many files or threads for now
                if not self._closed:
                    self._complain(f"no source can connect for now: {error}")
                    time.sleep(_NAP_S)

    def _complain(self, fault: str) -> None:
        if fault not in self.faults[-1:]:
            self.faults.append(fault)

    def _send(self, client: socket.socket, line: bytes) -> None:
        """Send within the lock. A source that takes no more lines is cut off: the receiver does not wait for it."""
        try:
            sent = client.send(line, socket.MSG_DONTWAIT)
        except OSError:
            sent = 0
        if sent < len(line):
            self._cut(client)

    def _cut(self, client: socket.socket) -> None:
        """Close a connection, within the lock."""
        self._clients.discard(client)
        left = [source for source, owner in self._owners.items() if owner is client]
        for source in left:
            del self._owners[source]
        if not self._closed:
            self._gone.update(source for source in left if source in self._reports and not self._reports[source].ended)
        with contextlib.suppress(OSError):
            client.shutdown(socket.SHUT_RDWR)
        client.close()

    def _listen(self, client: socket.socket) -> None:
        """Greet a source, and take its reports until it goes."""
        with self._lock:
            if len(self._clients) >= _MOST_CLIENTS:
                self._cut(client)
                return
            self._clients.add(client)
            self._send(client, self._greeting + Credit(window_end=self._window_end).pack())
        left = b""
        try:
            while data := client.recv(MAX_LINE):
                *lines, left = (left + data).split(b"\n")
                if len(left) >= MAX_LINE:
                    raise InputError(f"a line of the session's link is longer than {MAX_LINE} bytes")
                for line in lines:
                    self._note(Report.unpack(line), client)
        except InputError as error:
            self._complain(str(error))
        except OSError:
            pass
        with self._lock:
            self._cut(client)

    def _note(self, report: Report, client: socket.socket) -> None:
        """Keep a report that can be: InputError for any other."""
        if report.source >= self._sources:
            raise InputError(f"there is no source {report.source} in a session of {self._sources}")
        with self._lock:
            if self._owners.setdefault(report.source, client) is not client:
                raise InputError(f"somebody else reports for source {report.source}: is it started twice?")
            known = self._reports.get(report.source)
            if report.dropped > report.offered or report.offered - report.dropped > self._window_end:
                raise InputError(
                    f"source {report.source} says it has sent {report.offered - report.dropped} frames of "
                    f"{report.offered}, with credit for {self._window_end}"
                )
            if known and (report.offered < known.offered or report.dropped < known.dropped):
                raise InputError(f"source {report.source} has begun anew: start the receiver anew, too")
            self._reports[report.source] = report
            self._gone.discard(report.source)


def _advice(error: OSError, port: int) -> str:
    if error.errno == errno.EADDRINUSE:
        return f"the port is in use: another receiver holds it (`ss -ltnp sport = :{port}`), or give another port"
    if error.errno == errno.EADDRNOTAVAIL:
        return "no interface of this machine has that address (see `ip -br addr`): correct the plan's receiver.ip"
    return os.strerror(error.errno or 0)
