"""Serves one board on a local socket to clients that come and go, whatever they say (`socket_lines`)."""

import contextlib
import selectors
import socket
from dataclasses import dataclass, field
from time import monotonic
from typing import Protocol

from framelane.base.errors import FramelaneError
from framelane.driver.registers.socket_lines import (
    DONE,
    GREETING,
    MAX_LINE,
    REFUSED,
    Interrupt,
    Read,
    Write,
    request,
)

_CHUNK = 1 << 12
"""Received at a time: then it is another client's turn."""
MOST_CLIENTS = 16
_NEXT_S = 0.0005
"""So soon a client that works says the next line."""


class Served(Protocol):
    """A board with its memory. FramelaneError where an access cannot be."""

    def read(self, offset: int) -> int: ...

    def write(self, offset: int, value: int) -> None: ...

    def write_memory(self, address: int, data: bytes) -> None: ...

    def interrupt(self) -> bool: ...


@dataclass(slots=True, eq=False)
class _Client:
    connection: socket.socket
    left: bytes = b""
    heard: float = field(default_factory=monotonic)


class BoardServer:
    """Answers the clients of `listener` for `board` within `attend`, and nothing between. Close it.

    A client that sends something other than a request is told so. One that sends endless lines, or takes no answers, is
    disconnected. Beyond `MOST_CLIENTS`, the one that has been silent for the longest is disconnected.
    """

    def __init__(self, listener: socket.socket, board: Served) -> None:
        self._listener, self._board = listener, board
        self._clients: set[_Client] = set()
        self._selector = selectors.DefaultSelector()
        self._selector.register(listener, selectors.EVENT_READ)
        self.heard = 0.0
        """When a client last said something (`time.monotonic`)."""

    def attend(self, wait_s: float, at_most_s: float) -> None:
        """Wait so long for something to come, then serve as long as more comes at once, at most so long."""
        events = self._selector.select(wait_s)
        end = monotonic() + at_most_s
        while events:
            for key, _ in events:
                if key.data is None:
                    self._accept()
                elif key.data in self._clients:
                    self._hear(key.data)
            if monotonic() >= end:
                break
            events = self._selector.select(_NEXT_S)

    def close(self) -> None:
        """Leave everybody."""
        for client in tuple(self._clients):
            self._leave(client)
        self._selector.close()

    def _accept(self) -> None:
        try:
            connection, _ = self._listener.accept()
        except OSError:
            return  # it has gone already, or there are too many files
        connection.setblocking(False)
        if len(self._clients) >= MOST_CLIENTS:
            self._leave(min(self._clients, key=lambda client: client.heard))
        client = _Client(connection)
        self._clients.add(client)
        self._selector.register(connection, selectors.EVENT_READ, client)
        self._say(client, GREETING)

    def _hear(self, client: _Client) -> None:
        try:
            data = client.connection.recv(_CHUNK)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            self._leave(client)
            return
        client.heard = self.heard = monotonic()
        *lines, client.left = (client.left + data).split(b"\n")
        if lines:
            self._say(client, "\n".join(map(self._answer, lines)))
        if len(client.left) > MAX_LINE:
            self._say(client, f"{REFUSED}a line has {MAX_LINE} bytes at most")
            self._leave(client)

    def _answer(self, line: bytes) -> str:
        try:
            match request(line.decode("ascii", "backslashreplace")):
                case Read(offset):
                    return f"{self._board.read(offset):#010x}"
                case Write(offset, value):
                    self._board.write(offset, value)
                case Interrupt():
                    return f"{self._board.interrupt():#010x}"
                case asked:
                    self._board.write_memory(asked.address, asked.data)
        except (FramelaneError, ValueError) as error:
            return REFUSED + " ".join(str(error).split())
        except Exception as error:  # whatever it is, the others are served
            return f"{REFUSED}a fault of framelane's own: {error!r}"
        return DONE

    def _say(self, client: _Client, text: str) -> None:
        """Say it, or leave a client that does not take it at once: some answers fit every socket."""
        said = text.encode("ascii", "backslashreplace") + b"\n"
        with contextlib.suppress(OSError):
            if client.connection.send(said) == len(said):
                return
        self._leave(client)

    def _leave(self, client: _Client) -> None:
        if client in self._clients:
            self._clients.discard(client)
            self._selector.unregister(client.connection)
            client.connection.close()
