"""One end of a connection that carries lines, plain or by TLS, and of which nobody ever waits for the other end."""

import contextlib
import select
import socket
import ssl
import threading

from framelane.base.errors import InputError
from framelane.session.session_link import MAX_LINE

_CHUNK = 1 << 14
_CHUNKS = 4
"""Received at a time: then it is another connection's turn."""
_WAITS = ssl.SSLWantReadError, ssl.SSLWantWriteError, BlockingIOError


class Channel:
    """Lines over `connection`, which it closes. Of several threads: one may send while another receives."""

    def __init__(self, connection: socket.socket) -> None:
        connection.setblocking(False)
        self.socket = connection
        self.allowance: int | None = None
        """Bytes that the other end may still say, all in all; None: any number, in lines of `MAX_LINE`."""
        self.broken = False
        """Whether something could not be sent since the other end has gone."""
        self._left = b""
        self._lock = threading.Lock()  # an SSLSocket of Python 3.11 and 3.12 is not for two threads at a time

    @property
    def closed(self) -> bool:
        """Whether `close` was called."""
        return self.socket.fileno() < 0

    def secured(self) -> bool:
        """Whether lines can be sent: at once, or, by TLS, when its handshake is done. OSError where it fails."""
        if isinstance(self.socket, ssl.SSLSocket):
            try:
                self.socket.do_handshake()
            except _WAITS:
                return False
        return True

    def receive(self) -> list[bytes]:
        """Lines that are here, without their ends; none where there is none yet. There may be more: wait and ask again.

        EOFError at the end of the connection, InputError for a line that is too long, or for more than `allowance`,
        OSError where it fails.
        """
        lines: list[bytes] = []
        for _ in range(_CHUNKS if self.allowance is None else 1):
            try:
                with self._lock:  # a record of TLS as a whole, since poll does not see what is left of one
                    data = self.socket.recv(_CHUNK if self.allowance is None else self.allowance + 1)
            except _WAITS:
                break
            if not data:
                if not lines:
                    raise EOFError
                break
            *whole, self._left = (self._left + data).split(b"\n")
            lines += whole
            if self.allowance is not None:
                self.allowance -= len(data)
                if self.allowance < (0 if whole else 1):
                    raise InputError("the first line of the session's link is too long")
            if max(map(len, (*whole, self._left))) >= MAX_LINE:
                raise InputError(f"a line of the session's link is longer than {MAX_LINE} bytes")
        return lines

    def send(self, data: bytes) -> bool:
        """Send what the other end takes at once; whether it took all. What is left is lost.

        Where the other end has gone, `broken` is set as well.
        """
        try:
            with self._lock:
                return self.socket.send(data) == len(data)
        except _WAITS:
            return False
        except OSError:
            self.broken = True
            return False

    def send_whole(self, data: bytes) -> None:
        """Send all of it. OSError where that fails; a machine at the other end that has gone is one."""
        while data:
            try:
                with self._lock:
                    data = data[self.socket.send(data) :]
            except _WAITS:
                self.wait(None, writable=True)

    def wait(self, timeout_s: float | None, writable: bool = False) -> bool:
        """Wait at most so long until something has come, or can be sent; whether that is so."""
        poll = select.poll()
        poll.register(self.socket, select.POLLOUT if writable else select.POLLIN)
        return bool(poll.poll(None if timeout_s is None else max(0.0, timeout_s) * 1000))

    def shut(self) -> None:
        """End the connection, which another thread may be using; it is still to be closed."""
        with contextlib.suppress(OSError):
            self.socket.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """End the connection."""
        self.shut()
        self.socket.close()
