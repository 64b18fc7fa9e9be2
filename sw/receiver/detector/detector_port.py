"""Packets of a detector from UDP sockets, one for each stream: each interface of each module."""

import errno
import select
import socket
from typing import Self

from framelane.base.errors import ConfigError, TransportError
from framelane.receiver.detector.packet_batch import BATCH, PacketBatch
from framelane.receiver.transport import sockets

_ADVICE = {
    errno.EACCES: "give a port from 1024 on, or run as root",
    errno.EADDRINUSE: "stop the process that holds the port (`ss -lunp` lists them), or give another one",
    errno.EADDRNOTAVAIL: "no interface of this machine has that address (see `ip -br addr`)",
}


class DetectorPort:
    """Listens on UDP `host`, the port of each stream in the order of modules, of each its interfaces.

    TransportError where a port cannot be had. `add` is for one thread.
    """

    ended = False

    def __init__(self, host: str, ports: list[int]) -> None:
        self._sockets: list[socket.socket] = []
        self._poll = select.poll()
        self._streams: dict[int, int] = {}
        try:
            for stream, port in enumerate(ports):
                self._listen(host, port, stream)
        except BaseException:
            self.close()
            raise

    @property
    def queue_bytes(self) -> int:
        """The shortest of the kernel's queues, as the kernel counts: a packet takes about 12,000 bytes in it."""
        return min(sock.getsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF) for sock in self._sockets)

    @property
    def queue_drops(self) -> int:
        """Packets that the kernel dropped because a queue was full."""
        return sum(map(sockets.queue_drops, self._sockets))

    @property
    def addresses(self) -> list[tuple[str, int]]:
        """IP address and port of each stream."""
        return [sock.getsockname() for sock in self._sockets]

    @property
    def sockets(self) -> tuple[socket.socket, ...]:
        """The non-blocking socket of each stream."""
        return tuple(self._sockets)

    def fill(self, batch: PacketBatch, timeout_s: float) -> None:
        """Replace what is in the batch by what is queued, waiting at most `timeout_s` for the first packet."""
        batch.n = 0
        ready = self._poll.poll(timeout_s * 1000)
        share = BATCH // max(len(ready), 1)
        for descriptor, _ in ready:
            stream = self._streams[descriptor]
            receive = self._sockets[stream].recv_into
            first = batch.n
            try:
                while batch.n < first + share:
                    batch.sizes[batch.n] = receive(batch.rows[batch.n])
                    batch.n += 1
            except BlockingIOError:
                pass
            batch.streams[first : batch.n] = stream

    def close(self) -> None:
        """Free the ports."""
        for sock in self._sockets:
            sock.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def _listen(self, host: str, port: int, stream: int) -> None:
        sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._sockets.append(sock)
        try:
            sockets.lengthen_queue(sock)
            sock.setblocking(False)
            sock.bind((host, port))
        except OverflowError as error:
            raise ConfigError(f"{port} is not a UDP port: give 0 to 65535") from error
        except OSError as error:
            advice = _ADVICE.get(error.errno or 0, "see socket(7)")
            raise TransportError(f"cannot listen on UDP {host}:{port}: {error.strerror}: {advice}") from error
        self._streams[sock.fileno()] = stream
        self._poll.register(sock, select.POLLIN)
