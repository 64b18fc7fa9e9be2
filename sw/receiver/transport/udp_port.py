"""RoCEv2 packets from a UDP socket: a soft NIC for everyone, without privileges."""

import contextlib
import errno
import socket

import numpy as np

from framelane.base.errors import TransportError
from framelane.models.roce_tx import wire
from framelane.models.roce_tx.packet_batch import EMPTY, Batch
from framelane.receiver.transport import sockets
from framelane.receiver.transport._recvmmsg import Datagrams
from framelane.receiver.transport._udp_headers import HEADERS, put_headers
from framelane.session.session import Session

_IP_MTU_DISCOVER, _IP_PMTUDISC_DO = 10, 2
"""linux/in.h: what is sent has DF and, on this socket, IP ID 0, which the ICRC covers."""
_MESSAGES = 128
"""Messages of one call: with a path MTU of 4096 they stay in the L2 cache until they are placed."""
_DATAGRAM_BYTES = 1 << 16
_STRIDE = _DATAGRAM_BYTES + (8 << 10)
"""From datagram to datagram; no power of two, so that their beginnings do not share the lines of a cache."""


class UdpPort:
    """A socket on the session's receiver address and UDP `port` (0: any free one, see `address`).

    The kernel takes Ethernet, IP and UDP away. They are put back as the ICRC needs them: IP ID 0 with DF, which is what
    our transmitters send, and the destination port of RoCEv2, whichever port the socket listens on.
    """

    ended = False

    def __init__(self, session: Session, port: int = wire.ROCE_PORT) -> None:
        host, self._source = str(session.receiver.ip), str(session.source.ip)
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        try:
            sockets.lengthen_queue(self._socket)
            self._socket.setsockopt(socket.IPPROTO_IP, _IP_MTU_DISCOVER, _IP_PMTUDISC_DO)
            self._socket.bind((host, port))
        except OSError as error:
            self._socket.close()
            raise TransportError(f"cannot listen on UDP {host}:{port}: {_advice(error, port)}") from error
        headers = wire.Headers(session.source.endpoint(), session.receiver.endpoint(), 0, 0, 0, 0, 0)
        self._template = np.frombuffer(bytearray(wire.pack(headers)[:HEADERS]), np.uint8)
        self._memory = np.zeros(_MESSAGES * _STRIDE, np.uint8)
        self._starts = np.arange(_MESSAGES) * _STRIDE
        self._datagrams = Datagrams(self._memory, self._starts + HEADERS, _DATAGRAM_BYTES)
        self._put(0)  # compiled now, and not while packets come

    @property
    def address(self) -> tuple[str, int]:
        """The IP address and the port on which the socket listens."""
        host, port = self._socket.getsockname()
        return str(host), int(port)

    @property
    def queue_drops(self) -> int:
        """See `Port`."""
        return sockets.queue_drops(self._socket)

    def batch(self, timeout_s: float) -> Batch:
        """See `Port`."""
        count = self._fetch()
        if not count and timeout_s > 0 and sockets.wait(self._socket, timeout_s):
            count = self._fetch()
        return self._put(count) if count else EMPTY

    def answer(self, datagram: bytes) -> None:
        """Send the payload of a UDP packet to the session's source, at the port that this one has itself.

        What cannot be sent is lost, as on any network, and the source asks again: a link may be down for a while.
        """
        host, port = self._source, self.address[1]
        with contextlib.suppress(OSError):
            self._socket.sendto(datagram, socket.MSG_DONTWAIT, (host, port))

    def close(self) -> None:
        """See `Port`."""
        self._socket.close()

    def _fetch(self) -> int:
        """How many datagrams are in `_memory` now; nothing is waited for."""
        try:
            return self._datagrams.receive(self._socket)
        except OSError as error:
            raise TransportError(f"cannot receive by UDP: {error.strerror}") from error

    def _put(self, count: int) -> Batch:
        """Put the headers in front of the first datagrams."""
        starts, sizes = self._starts[:count], HEADERS + self._datagrams.sizes[:count]
        put_headers(self._template, self._datagrams.peers, self._memory, starts, sizes)
        return Batch(self._memory, starts, sizes)


def _advice(error: OSError, port: int) -> str:
    if error.errno == errno.EADDRINUSE:
        return f"the port is in use: stop the process that holds it (`ss -lunp sport = :{port}`), or give another port"
    if error.errno == errno.EADDRNOTAVAIL:
        return "no interface of this machine has that address (see `ip -br addr`): correct the session's receiver.ip"
    return f"{error.strerror}"
