"""The socket of a stream, and whether anybody is there."""

import errno
import time
from typing import Any

from framelane.base.errors import ConfigError, TransportError
from framelane.receiver.streams.stream_options import StreamOptions

LINGER_S = 2.0
"""So long after the last message that somebody took, one may be late to take the next when all is to end."""
_BIND_S = 2.0
"""So long the socket of a run before may take to let go of the address."""
_STEP_S = 0.05
_IN_ZMQ = 4
"""Messages that ZeroMQ keeps for one of several consumers that share them, beside those that wait here."""


class Line:
    """A socket that listens at the address of `options`; for one thread at a time.

    ConfigError without ZeroMQ, TransportError where nobody can listen there.
    """

    def __init__(self, options: StreamOptions) -> None:
        try:
            import zmq
        except ModuleNotFoundError as error:
            raise ConfigError('pyzmq is not installed: pip install "framelane[stream]"') from error
        self._zmq: Any = zmq
        self._all = options.socket == "pub"
        self._listeners, self.new = 0, not self._all
        """`new`: somebody has come who does not know how the series began."""
        self.taken_at = time.monotonic()
        """When the last message was taken; at first, when it could be."""
        self._context = zmq.Context()
        self._socket: Any = self._context.socket(zmq.XPUB if self._all else zmq.PUSH)
        self._socket.set(zmq.SNDHWM, options.queue + 2 if self._all else _IN_ZMQ)
        self._socket.set(zmq.LINGER, 0)
        if self._all:
            self._socket.set(zmq.XPUB_VERBOSER, 1)
        try:
            self.address = self._bind(options.address)
        except BaseException:
            self.close()
            raise

    def there(self, wait_s: float) -> bool:
        """Whether somebody is there who would take a message, in so many seconds at most."""
        zmq, wait_ms = self._zmq, int(wait_s * 1e3)
        if not self._all:
            return bool(self._socket.poll(wait_ms, zmq.POLLOUT))
        if self._listeners:
            wait_ms = 0
        while self._socket.poll(wait_ms, zmq.POLLIN):
            wait_ms = 0
            joins = self._socket.recv()[:1] == b"\x01"  # RFC 29 of ZeroMQ: 1 subscribes, 0 ends it
            self._listeners += 1 if joins else -1
            self.new = self.new or joins
        return self._listeners > 0

    @property
    def may_come(self) -> bool:
        """Whether somebody who is not there may still come in time, now that all is to end."""
        return not self._all and time.monotonic() < self.taken_at + LINGER_S

    def send(self, message: bytes) -> bool:
        """Hand it to ZeroMQ; whether it could be, at once."""
        try:
            self._socket.send(message, self._zmq.NOBLOCK, copy=False)
        except self._zmq.Again:
            return False
        self.new, self.taken_at = False, time.monotonic()
        return True

    def close(self) -> None:
        """Let go of the address. What is on its way goes on where the consumer is not too late."""
        late = time.monotonic() > self.taken_at + LINGER_S
        self._socket.close(linger=0 if late else int(LINGER_S * 1e3))
        self._context.term()

    def _bind(self, address: str) -> str:
        zmq, end = self._zmq, time.monotonic() + _BIND_S
        wanted = address.replace("//localhost:", "//127.0.0.1:")
        if wanted.endswith(":0"):
            wanted = f"{wanted[:-1]}*"
        self._socket.set(zmq.IPV6, "[" in wanted)
        while True:
            try:
                self._socket.bind(wanted)
            except zmq.ZMQError as error:
                if error.errno == errno.EADDRINUSE and time.monotonic() < end:
                    time.sleep(_STEP_S)
                    continue
                raise TransportError(
                    f"a stream cannot listen at {address}: {error.strerror}: give another port, or an address of "
                    "this machine"
                ) from error
            found: bytes = self._socket.last_endpoint
            return found.decode()
